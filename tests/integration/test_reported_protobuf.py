"""What was reported of protobuf decoders elsewhere, before a gate and to both stubs.

The table "Failures that were reported elsewhere" of docs/testing.md names each.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator

import pytest
from warded.v1 import GetObservationReply, Reply, Result

from tests.integration.test_hostile_bytes import SEED, expect_typed
from tests.support import mangle, schema
from tests.support.calls import HEALTH, OBSERVE, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.schema import UNKNOWN_CALL, UNKNOWN_ID, varint
from tests.support.stub_gate import StubGate

LONG = bool(os.environ.get("WARDED_LONG"))
SOME = 1 if LONG else 8  # one of so many, chosen by a seed
WINDOW = 200
PARTS = 100_000
SCOPES = ("token:**", "audit:**", "observe:**", "health:**")

Named = tuple[str, bytes]


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    """One gate for the file, and who may ask it for anything."""
    module_home.profile("boss", *SCOPES)
    with StubGate(module_home) as gate:
        yield gate


@pytest.fixture
def boss(stub: StubGate) -> Iterator[RawClient]:
    with RawClient(stub.home.path / "profile/boss") as raw:
        yield raw


REQUESTS = {str(m): m for m in schema.methods() if m.built}
ITEMS = [{"trajectory_id": f"t{n}", "finish": True, "extra": '{"a":1}'} for n in "12"]
FILTER = {"since_ms": 1, "event": "gate.*", "codes": [0, 3], "pool": "cpu"}
VALID: list[tuple[str, dict[str, object]]] = [
    ("Health/Check", {}),
    ("Health/Check", {"brief": True}),
    ("Health/Check", {"padding": b"\0\xff" * 9}),
    ("Observation/GetObservation", {"items": ITEMS[:1]}),
    ("Observation/GetObservation", {"items": ITEMS}),
    ("Token/WhoAmI", {}),
    ("Token/Show", {"id": UNKNOWN_ID}),
    ("Token/Show", {"tree": True}),
    ("Token/Check", {"method": OBSERVE, "object": "python_code"}),
    ("Token/List", {"filter": "kind=admin", "sort": "-created", "limit": 3}),
    ("Token/List", {"count": True}),
    ("Token/Revoke", {"ids": [UNKNOWN_ID], "reason": "é", "dry_run": True}),
    ("Audit/Query", {}),
    ("Audit/Query", {"from_seq": 1, "limit": 2, "order": 1, "filter": FILTER}),
    ("Audit/Show", {"seq": 1}),
    ("Audit/Show", {"call_id": UNKNOWN_CALL}),
    ("Audit/Stats", {"since_ms": 1}),
    ("Audit/Verify", {"from_seq": 1, "to_seq": 1}),
    ("Audit/Export", {"format": 1, "filter": FILTER}),
    ("Audit/Checkpoint", {"at_seq": 2**62}),
]


def payload(name: str, fields: dict[str, object]) -> bytes:
    return schema.payload_of(REQUESTS[name].request, **fields)


def asked(raw: RawClient, envelopes: Iterable[Named]) -> Iterator[tuple[str, Reply]]:
    """Many at a time, for their order is the gate's."""
    for some in itertools.batched(envelopes, WINDOW):
        names = {raw.send(data): name for name, data in some}
        for _ in some:
            number, reply = raw.receive()
            yield names[number], reply


def sample(of: Iterable[Named], rng: random.Random) -> Iterator[Named]:
    return (one for one in of if rng.randrange(SOME) == 0)


# --- protobuf-c/protobuf-c#375 -------------------------------------------------------


def mangled(raw: RawClient, broken: bool) -> Iterator[Named]:
    """Of twenty valid frames: what is no message, or what hardly is what it was."""
    rng = random.Random(SEED)
    for name, fields in VALID:
        method, data = REQUESTS[name].path, payload(name, fields)
        frame = raw.request(method, data).SerializeToString()
        if broken:
            yield from sample(mangle.broken(frame), rng)
            inside = mangle.broken(data)
        else:
            yield from sample(
                itertools.chain(mangle.cuts(frame), mangle.flips(frame)), rng
            )
            inside = itertools.chain(mangle.cuts(data), mangle.flips(data))
        for what, other in sample(inside, rng):
            request = raw.request(method, other)
            yield f"{name}, {what}", request.SerializeToString()


def test_twenty_frames_are_valid(boss: RawClient) -> None:
    assert len(VALID) == 20
    for name, fields in VALID:
        reply = boss.call(REQUESTS[name].path, payload(name, fields))
        assert expect_typed(reply) not in ("MALFORMED", "METHOD_UNKNOWN"), name


@pytest.mark.limit(1800 if LONG else 180)
def test_what_is_no_message_is_malformed_and_what_is_another_is_typed(
    stub: StubGate, boss: RawClient
) -> None:
    """And nobody else's connection hears of it; a sanitizer watches the gate."""
    with RawClient(stub.home.path / "profile/boss") as other:
        for what, reply in asked(boss, mangled(boss, broken=True)):
            assert expect_typed(reply) == "MALFORMED", (what, reply)
        assert other.call(HEALTH).code == 0
        for _, reply in asked(boss, mangled(boss, broken=False)):
            expect_typed(reply)
        assert other.call(HEALTH).code == 0
    assert boss.call(HEALTH).code == 0


MANY = {
    "items": (OBSERVE, b"\x0a\x00"),
    "codes, each by itself": ("/warded.v1.Audit/Query", b"\x6a\x02\x28\x01"),
    "one text again and again": ("/warded.v1.Token/Show", b"\x0a\x01x"),
    "a list of texts": ("/warded.v1.Token/Revoke", b"\x0a\x01x"),
}


@pytest.mark.parametrize("what", MANY)
def test_a_field_in_a_hundred_thousand_parts_is_refused(
    boss: RawClient, what: str
) -> None:
    path, part = MANY[what]
    reply = boss.call(path, part * PARTS)
    assert expect_typed(reply) in ("TOO_LARGE", "FIELD_INVALID"), reply


def test_metadata_in_a_million_parts_is_refused(boss: RawClient) -> None:
    envelope = boss.request(HEALTH).SerializeToString()
    reply = boss.ask(envelope + b"\x42\x03\x0a\x01k" * 1_000_000)
    assert expect_typed(reply) in ("TOO_LARGE", "FIELD_INVALID"), reply


# --- protobuf-c/protobuf-c#726 -------------------------------------------------------

MARK = b"not stored "
NO_TEXT = {
    "overlong": b"\xc0\xaf",
    "surrogate": b"\xed\xa0\x80",
    "out of range": b"\xf5\x80\x80\x80",
    "cut off": b"\xe2\x82",
}
STRING, BYTES, ENUM = 9, 12, 14  # FieldDescriptor.TYPE_...


def in_field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def expect_no_text(reply: Reply, what: str) -> None:
    """The call is refused; or the item, whose fault it is alone."""
    if reply.code != 0:
        assert expect_typed(reply) == "MALFORMED", (what, reply)
        return
    (result,) = GetObservationReply.FromString(reply.payload).results
    assert result.status == Result.INVALID_ACTION, (what, result)


@pytest.mark.parametrize("kind", NO_TEXT)
def test_text_that_is_not_utf_8_is_refused_in_every_field_and_not_stored(
    stub: StubGate, boss: RawClient, kind: str
) -> None:
    text, tried = MARK + NO_TEXT[kind], 0
    for method in REQUESTS.values():
        for name, number, put in schema.leaves(method.request, STRING):
            reply = boss.call(method.path, put(in_field(number, text)))
            expect_no_text(reply, f"{method}, {name}")
            tried += 1
    for number in (4, 6):  # method and token of the envelope
        reply = boss.ask(
            boss.request(HEALTH).SerializeToString() + in_field(number, text)
        )
        assert expect_typed(reply) == "MALFORMED"
    for entry in (in_field(1, text), in_field(1, b"k") + in_field(2, text)):
        reply = boss.ask(boss.request(HEALTH).SerializeToString() + in_field(8, entry))
        assert expect_typed(reply) in ("MALFORMED", "FIELD_INVALID")
    assert tried > 50
    kept = "\n".join(rows(stub.home))
    assert MARK.decode() not in kept
    assert all(
        MARK not in path.read_bytes() for path in stub.home.store.glob("store.db*")
    )
    assert boss.call(HEALTH, padding(text)).code == 0


def padding(data: bytes) -> bytes:
    """A field of bytes takes any."""
    return payload("Health/Check", {"padding": data})


# --- protobuf-c/protobuf-c#199 -------------------------------------------------------

MINUS_1 = {5: b"\xff\xff\xff\xff\x0f", 10: b"\xff" * 9 + b"\x01"}
NO_NAMES = {
    "99": varint(99),
    "-1 in 5 bytes": MINUS_1[5],
    "-1 in 10 bytes": MINUS_1[10],
    "2^31": varint(1 << 31),
    "2^32, whose lower half is 0": varint(1 << 32),
}


def test_an_enum_without_a_name_is_refused_and_never_taken_for_the_first(
    boss: RawClient,
) -> None:
    said = []
    for method in REQUESTS.values():
        for name, number, put in schema.leaves(method.request, ENUM):
            for kind, value in NO_NAMES.items():
                reply = boss.call(method.path, put(varint(number << 3) + value))
                want = "MALFORMED" if "2^32" in kind else "FIELD_INVALID"
                assert expect_typed(reply) == want, (name, kind, reply)
                said.append(name)
    assert {"QueryRequest.order", "ExportRequest.format"} <= set(said)


@pytest.mark.parametrize("kind", NO_NAMES)
def test_a_kind_of_request_without_a_name_is_refused(
    boss: RawClient, kind: str
) -> None:
    envelope = boss.request(HEALTH).SerializeToString()
    reply = boss.ask(envelope + varint(7 << 3) + NO_NAMES[kind])
    assert expect_typed(reply) == "FIELD_INVALID", reply


# --- protocolbuffers/protobuf#29512 --------------------------------------------------


def entry(*pieces: bytes) -> bytes:
    return in_field(8, b"".join(pieces))


LIMIT = in_field(1, b"limit")
TWICE = entry(LIMIT, in_field(2, b"1")) + entry(LIMIT, in_field(2, b"999"))
METADATA = {
    "a key twice": (TWICE, "FIELD_INVALID"),
    "no key": (entry(in_field(2, b"1")), "FIELD_INVALID"),
    "no value": (entry(LIMIT), "REASON_UNSPECIFIED"),
    "nothing": (entry(), "FIELD_INVALID"),
    "a value twice in an entry": (
        entry(LIMIT, in_field(2, b"1"), in_field(2, b"999")),
        "REASON_UNSPECIFIED",
    ),
}


@pytest.mark.parametrize("what", METADATA)
def test_a_map_has_one_meaning(boss: RawClient, what: str) -> None:
    more, want = METADATA[what]
    reply = boss.ask(boss.request(HEALTH).SerializeToString() + more)
    assert expect_typed(reply) == want, reply


@pytest.mark.parametrize("field", ["arguments", "extra"])
def test_json_with_a_name_twice_runs_nothing(
    stub: StubGate, boss: RawClient, field: str
) -> None:
    before = stub.count().jobs
    item = {"trajectory_id": "t", "tool": "python_code", "action": "x"}
    twice = '{"cmd": "ls", "cmd": "rm"}'
    reply = boss.call(
        OBSERVE,
        payload("Observation/GetObservation", {"items": [item | {field: twice}]}),
    )
    (result,) = GetObservationReply.FromString(reply.payload).results
    assert (result.status, result.metadata["field"]) == (Result.INVALID_ACTION, field)
    assert stub.count().jobs == before
