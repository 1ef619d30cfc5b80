"""The envelope by hand: as protobuf has it, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warded import _callid, v1
from warded._envelope import EnvelopeError, decode_plain, decode_reply, encode_plain

CALL_ID = bytes(range(16))
HEAD = v1.AuditHead(seq=300, hash=bytes(range(32)))
MOST = (1 << 63) - 1


def a_reply(payload: bytes = b"payload", now_ms: int = 1_700_000_000_000) -> v1.Reply:
    """One that ended well."""
    return v1.Reply(call_id=CALL_ID, head=HEAD, payload=payload, now_ms=now_ms)


def check_alike(body: bytes) -> bool:
    """Read by hand or not, it says what protobuf reads; whether by hand."""
    plain = decode_plain(body)
    if plain is None:
        return False
    read = v1.Reply.FromString(body)
    assert (plain.call_id, plain.payload) == (read.call_id, read.payload)
    assert (plain.code, plain.reason) == (read.code, read.reason) == (0, 0)
    assert (plain.message, plain.retry_after_ms) == (read.message, read.retry_after_ms)
    assert (plain.head_seq, plain.head_hash) == (read.head.seq, read.head.hash)
    assert (plain.metadata, plain.now_ms) == (dict(read.metadata), read.now_ms)
    return True


@given(
    method=st.text(max_size=300),
    timeout_ms=st.integers(1, 1 << 40),
    payload=st.binary(max_size=40_000),
    token=st.text(max_size=200),
)
def test_a_request_written_by_hand_is_protobufs_own(
    method: str, timeout_ms: int, payload: bytes, token: str
) -> None:
    call_id = _callid.make_call_id(1_700_000_000_000)
    plain = encode_plain(call_id, method, timeout_ms, token, payload)
    assert v1.Request.FromString(plain) == v1.Request(
        version=1,
        call_id=call_id,
        method=method,
        timeout_ms=timeout_ms,
        token=token,
        payload=payload,
    )


@given(
    call_id=st.binary(min_size=16, max_size=16),
    seq=st.integers(1, MOST),
    digest=st.binary(min_size=32, max_size=32),
    payload=st.binary(max_size=40_000),
    now_ms=st.integers(1, MOST),
)
def test_a_reply_as_gates_write_it_is_read_by_hand(
    call_id: bytes, seq: int, digest: bytes, payload: bytes, now_ms: int
) -> None:
    head = v1.AuditHead(seq=seq, hash=digest)
    reply = v1.Reply(call_id=call_id, head=head, payload=payload, now_ms=now_ms)
    assert check_alike(reply.SerializeToString())


def test_no_prefix_of_a_reply_is_read_by_hand() -> None:
    whole = a_reply().SerializeToString()
    for size in range(len(whole) - 5):  # the time may be cut to a shorter one
        assert decode_plain(whole[:size]) is None
    for size in range(len(whole)):
        check_alike(whole[:size])


def test_every_flipped_bit_is_read_as_protobuf_reads_it() -> None:
    for size in (0, 3, 130, 17_000):
        whole = a_reply(bytes(size)).SerializeToString()
        for place in (*range(70), *range(len(whole) - 12, len(whole))):
            for bit in range(8):
                bad = bytearray(whole)
                bad[place % len(bad)] ^= 1 << bit
                check_alike(bytes(bad))


@given(st.binary(max_size=100), st.integers(0, 100))
def test_bytes_of_any_kind_are_read_as_protobuf_reads_them(
    data: bytes, at: int
) -> None:
    whole = a_reply().SerializeToString()
    at %= len(whole)
    check_alike(data)
    check_alike(whole[:at] + data)
    check_alike(whole[:at] + data + whole[at + len(data) :])


BODY = a_reply().SerializeToString()
OTHERS = {
    "nothing": b"",
    "metadata": v1.Reply(metadata={"a": "b"}).SerializeToString() + BODY,
    "a refusal": BODY + v1.Reply(code=7, reason=1).SerializeToString(),
    "a message": BODY + v1.Reply(message="x").SerializeToString(),
    "no head": v1.Reply(call_id=CALL_ID, now_ms=1).SerializeToString() + bytes(40),
    "no time": BODY[:-7],
    "two times": BODY + BODY[-7:],
    "two payloads": BODY[:-7] + b"\x4a\x01x" + BODY[-7:],
    "a payload's length in more bytes": BODY.replace(b"\x4a\x07", b"\x4a\x87" + b"\0"),
    "a length in five bytes": BODY.replace(b"\x4a\x07", b"\x4a\x87\x80\x80\x80\x00"),
    "a length beyond the end": BODY.replace(b"\x4a\x07", b"\x4a\x7f"),
    "a time of ten bytes": BODY[:-6] + b"\xff" * 9 + b"\x01",
    "a sequence of nothing": BODY.replace(b"\x42\x25\x08\xac\x02", b"\x42\x23\x08"),
    "an unknown field": BODY + b"\xfa\x7f\x01x",
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_any_other_reply_is_left_to_protobuf(body: bytes) -> None:
    if check_alike(body):
        assert body == OTHERS["a payload's length in more bytes"]  # it may be so
        return
    assert decode_plain(body) is None


def test_a_reply_that_is_none_says_so() -> None:
    for bad in (b"\x0a", BODY + b"\x0b", BODY[:-1] + b"\xff"):
        with pytest.raises(EnvelopeError):
            decode_reply(bad)
