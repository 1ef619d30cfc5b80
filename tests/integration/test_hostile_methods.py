"""Every method of the schema, asked with what it cannot want: each answer is typed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from warded.v1 import Reply

from tests.integration.test_hostile_bytes import SEED, expect_typed
from tests.support import schema
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.schema import UNKNOWN_CALL, UNKNOWN_ID, Method
from tests.support.stub_gate import StubGate

BOSSES = 8
HUGE_SEQ = 2**62
SCOPES = ("token:**", "audit:**", "observe:**", "env:**", "health:**")


class Bosses:
    """Callers who may do all; one whose own token is gone gives way to the next."""

    def __init__(self, home: Home) -> None:
        self._left = [home.path / "profile" / f"boss{n}" for n in range(BOSSES)]
        self._raw = RawClient(self._left.pop())

    def call(self, path: str, payload: bytes) -> Reply:
        reply = self._raw.call(path, payload)
        while expect_typed(reply).startswith("TOKEN_RE"):  # retired, revoked
            self._raw.close()
            self._raw = RawClient(self._left.pop())
            reply = self._raw.call(path, payload)
        return reply

    def close(self) -> None:
        self._raw.close()


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    """One gate for the file, and many who may ask it for anything."""
    for n in range(BOSSES):
        module_home.profile(f"boss{n}", *SCOPES)
    with StubGate(module_home) as gate:
        yield gate


@pytest.fixture
def bosses(stub: StubGate) -> Iterator[Bosses]:
    made = Bosses(stub.home)
    yield made
    made.close()


METHODS = schema.methods()


def test_claim_01_the_schema_has_methods_and_most_are_built() -> None:
    built = [m for m in METHODS if m.built]
    assert len(METHODS) > 25
    assert len(built) > 15


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_claim_01_whatever_a_method_is_asked_its_answer_is_typed(
    bosses: Bosses, method: Method
) -> None:
    rng = random.Random(SEED)
    payloads = [
        b"",
        *schema.noise(method.request, rng),
        *schema.odd_payloads(method.request),
    ]
    seen: Counter[str] = Counter()
    for payload in payloads:
        reply = bosses.call(method.path, payload)
        seen[expect_typed(reply)] += 1
    assert (seen.keys() == {"NOT_BUILT"}) == (not method.built), seen


@pytest.mark.parametrize("method", [m for m in METHODS if m.built], ids=str)
def test_claim_01_a_field_of_another_wire_type_is_malformed(
    bosses: Bosses, method: Method
) -> None:
    for payload in schema.wrong_types(method.request):
        reply = bosses.call(method.path, payload)
        assert expect_typed(reply) == "MALFORMED", (payload.hex(), reply)


def asked(method: str, **fields: object) -> tuple[str, bytes]:
    """A path, and a payload of that method with some fields."""
    found = next(m for m in METHODS if str(m) == method)
    return found.path, schema.payload_of(found.request, **fields)


@pytest.mark.parametrize(
    ("method", "fields", "want"),
    [
        ("Audit/Show", {"seq": HUGE_SEQ}, "NOT_ON_RECORD"),
        ("Audit/Show", {"seq": 2**63 - 1}, "NOT_ON_RECORD"),
        ("Audit/Show", {"seq": 2**63}, "FIELD_INVALID"),
        ("Audit/Show", {"call_id": UNKNOWN_CALL}, "NOT_ON_RECORD"),
        ("Audit/Show", {"call_id": "x"}, "FIELD_INVALID"),
        ("Audit/Checkpoint", {"at_seq": HUGE_SEQ}, "NOT_ON_RECORD"),
        ("Token/Show", {"id": UNKNOWN_ID}, "TOKEN_ID_UNKNOWN"),
        ("Token/Check", {"id": UNKNOWN_ID}, "TOKEN_ID_UNKNOWN"),
        ("Token/Renew", {"id": UNKNOWN_ID}, "TOKEN_ID_UNKNOWN"),
        ("Token/Rotate", {"id": UNKNOWN_ID}, "TOKEN_ID_UNKNOWN"),
        ("Token/Retire", {"id": UNKNOWN_ID}, "TOKEN_ID_UNKNOWN"),
    ],
)
def test_claim_01_what_is_not_there_is_told_as_such(
    bosses: Bosses, method: str, fields: dict[str, object], want: str
) -> None:
    assert expect_typed(bosses.call(*asked(method, **fields))) == want


@pytest.mark.parametrize(
    "method",
    ["Audit/Query", "Audit/Show", "Audit/Verify", "Audit/Stats", "Audit/Export"],
)
def test_claim_01_a_store_that_is_away_is_told_as_such(
    stub: StubGate, bosses: Bosses, method: str
) -> None:
    db = stub.home.store / "store.db"
    away = db.with_name("store.away")
    fields = {"seq": 1} if method == "Audit/Show" else {}
    assert bosses.call(*asked(method, **fields)).code == 0
    db.rename(away)
    try:
        reply = bosses.call(*asked(method, **fields))
    finally:
        away.rename(db)
    assert expect_typed(reply) == "STORE_UNAVAILABLE"
    assert bosses.call(*asked(method, **fields)).code == 0
