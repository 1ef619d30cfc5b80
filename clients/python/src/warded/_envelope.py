"""Request and Reply of rpc.proto: the envelope around every call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from warded._quote import quote
from warded.errors import Failure, RpcError, make_error
from warded.status import Phase, Reason, StatusCode
from warded.v1 import rpc_wd as _rpc

VERSION = 1
_METADATA_BYTES = 8 << 10
_METADATA_ENTRIES = 64
_METADATA_KEY = re.compile(r"[a-z0-9._-]{1,64}")

Metadata = Mapping[str, str] | Iterable[tuple[str, str]] | None


class EnvelopeError(Exception):
    """Bytes that are no reply envelope."""


class Reply(NamedTuple):
    """One answer of the gate, taken apart."""

    call_id: bytes
    code: StatusCode
    reason: Reason
    message: str
    retry_after_ms: int
    metadata: dict[str, str]
    head_seq: int
    head_hash: bytes
    payload: bytes
    now_ms: int

    def error(self, call_id: str) -> RpcError:
        """The exception that this reply stands for."""
        return make_error(
            Failure(
                self.code,
                self.reason,
                self.message,
                Phase.REMOTE,
                retry_after_ms=self.retry_after_ms,
                call_id=call_id,
            )
        )


@dataclass(slots=True)  # not frozen, which costs a microsecond a call
class Request:
    """One call as it leaves."""

    call_id: bytes
    attempt: int
    method: str
    timeout_ms: int
    metadata: dict[str, str]
    payload: bytes

    def encode(self, token: str) -> bytes:
        """The envelope of a CALL."""
        message: Any = _rpc.Request(
            version=VERSION,
            call_id=self.call_id,
            attempt=self.attempt,
            method=self.method,
            timeout_ms=self.timeout_ms,
            token=token,
            metadata=self.metadata,
            payload=self.payload,
        )
        return bytes(message.SerializeToString())


def encode_plain(
    call_id: bytes, method: str, timeout_ms: int, token: str, payload: bytes
) -> bytes:
    """A CALL without metadata and of attempt 0, as nearly all are: the bytes that
    protobuf would make, in a fraction of the time."""
    middle = _middle(method, timeout_ms, token)
    return b"".join((_PLAIN_HEAD, call_id, middle, _varint(len(payload)), payload))


_PLAIN_HEAD = b"\x08\x01\x12\x10"  # 1, version: 1; 2, call_id: 16 bytes
_ONE_BYTE = [bytes([value]) for value in range(0x80)]


@lru_cache(maxsize=64)
def _middle(method: str, timeout_ms: int, token: str) -> bytes:
    """What many calls have in common."""
    secret, path = token.encode(), method.encode()
    return b"".join(
        (
            b"\x22",  # 4, method
            _varint(len(path)),
            path,
            b"\x28",  # 5, timeout_ms
            _varint(timeout_ms),
            b"\x32",  # 6, token
            _varint(len(secret)),
            secret,
            b"\x4a",  # 9, payload
        )
    )


def _varint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    return bytes((value & 0x7F | 0x80,)) + _varint(value >> 7)


def encode_cancel(call_id: bytes, token: str) -> bytes:
    """The envelope that ends the call `call_id`."""
    message: Any = _rpc.Request(
        version=VERSION, call_id=call_id, token=token, kind=_rpc.Request.CANCEL
    )
    return bytes(message.SerializeToString())


def decode_reply(body: bytes) -> Reply:
    """Read a reply envelope. Raises EnvelopeError."""
    return decode_plain(body) or _decode_any(body)


def decode_plain(body: bytes) -> Reply | None:
    """A reply that ended well, without metadata, as a gate writes it: call id, head,
    payload, time. What protobuf reads, in half the time; None: it may be another."""
    if body[:2] != b"\x0a\x10" or body[18:19] != b"\x42" or len(body) < _PLAIN_BYTES:
        return None
    at = 20 + body[19]
    head = _read_head(body[20:at])
    payload = b""
    if body[at : at + 1] == b"\x4a":
        start, at = _read_length(body, at + 1)
        payload = body[start:at]
    now_ms = _read_time(body[at:])
    if head is None or now_ms is None:
        return None
    return Reply(
        body[2:18],
        StatusCode.OK,
        Reason.REASON_UNSPECIFIED,
        "",
        0,
        {},
        head[0],
        head[1],
        payload,
        now_ms,
    )


_PLAIN_BYTES = 18 + 2 + 36 + 2  # call id, a head, a time


@lru_cache(maxsize=16)
def _read_head(head: bytes) -> tuple[int, bytes] | None:
    """Sequence number and hash; None: not as a gate writes them."""
    number, rest = head[1:-34], head[-34:]
    if len(head) < 36 or head[0] != 0x08 or rest[:2] != b"\x12\x20":
        return None
    seq = _read_number(number)
    return None if seq is None else (seq, rest[2:])


@lru_cache(maxsize=16)  # a busy gate says the same thing many times a millisecond
def _read_time(tail: bytes) -> int | None:
    """The field that ends a reply, alone."""
    return _read_number(tail[1:]) if tail[:1] == b"\x50" else None


def _read_number(data: bytes) -> int | None:
    """All of `data` as one varint of at most 63 bits; None: it is not."""
    if not 1 <= len(data) <= 9 or data[-1] > 0x7F:
        return None
    value = 0
    for place, byte in enumerate(data):
        if byte < 0x80 and place < len(data) - 1:
            return None
        value |= (byte & 0x7F) << 7 * place
    return value


def _read_length(body: bytes, at: int) -> tuple[int, int]:
    """Where the bytes begin and end whose length stands at `at`; the end is beyond that
    of `body` when it does not."""
    size = shift = 0
    for place in range(at, min(at + 4, len(body))):
        byte = body[place]
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return place + 1, place + 1 + size
        shift += 7
    return at, len(body) + 1


def _decode_any(body: bytes) -> Reply:
    try:
        message: Any = _rpc.Reply.FromString(body)
    except (DecodeError, UnicodeDecodeError) as error:  # the latter: in pure Python
        raise EnvelopeError(f"not a Reply: {error}") from error
    if (message.code == 0) != (message.reason == 0):
        raise EnvelopeError(f"code {message.code} with reason {message.reason}")
    head, metadata = message.head, message.metadata
    return Reply(
        message.call_id,
        StatusCode(message.code) if message.code else StatusCode.OK,
        Reason(message.reason) if message.reason else Reason.REASON_UNSPECIFIED,
        message.message,
        message.retry_after_ms,
        dict(metadata) if metadata else {},
        head.seq,
        head.hash,
        message.payload,
        message.now_ms,
    )


def read_metadata(metadata: Metadata) -> dict[str, str]:
    """A caller's metadata, checked. Raises InvalidCall: shape, key, size or number."""
    if metadata is None:
        return {}
    pairs = _read_pairs(metadata)
    found: dict[str, str] = {}
    for key, value in pairs:
        if not isinstance(key, str) or not _METADATA_KEY.fullmatch(key):
            raise invalid(f"metadata key {key!r}: 1 to 64 of [a-z0-9._-]")
        if key in found:
            raise invalid(f"metadata key {key!r} comes twice")
        if not isinstance(value, str) or "\0" in value:
            raise invalid(f"metadata {key!r}: a value is text without NUL")
        found[key] = value
    try:
        size = sum(len(key) + len(value.encode()) for key, value in found.items())
    except UnicodeEncodeError as error:
        raise invalid(f"metadata: a value that is no UTF-8: {error}") from error
    if len(found) > _METADATA_ENTRIES or size > _METADATA_BYTES:
        raise invalid(
            f"metadata of {len(found)} entries and {size} bytes; at most "
            f"{_METADATA_ENTRIES} and {_METADATA_BYTES}"
        )
    return found


def _read_pairs(metadata: Any) -> list[tuple[Any, Any]]:
    """What typing promises and callers do not keep."""
    found = metadata.items() if isinstance(metadata, Mapping) else metadata
    pairs = list(found) if isinstance(found, Iterable) else [found]
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise invalid(
            f"metadata {quote(str(metadata))}: a mapping of texts, or an iterable of "
            "pairs (KEY, VALUE)"
        )
    return pairs


def invalid(message: str) -> RpcError:
    """An InvalidCall that the client itself refuses; nothing was sent."""
    return make_error(
        Failure(
            StatusCode.INVALID_ARGUMENT,
            Reason.FIELD_INVALID,
            f"{message}; not sent",
            Phase.SEND,
        )
    )
