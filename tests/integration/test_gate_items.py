"""A mistake of one item is that item's alone, and on record as its own."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from warded.v1 import GetObservationReply, Item, Limits, Reason

from tests.support.calls import OBSERVE, reason, results, rows
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """What is wrong with an item, and what is said of it."""

    name: str
    item: bytes  # encoded
    field: str  # that is wrong; "": it runs
    reason: str = "FIELD_INVALID"
    words: str = ""


def good(**fields: object) -> bytes:
    said: dict[str, object] = {"trajectory_id": "x", "tool": "python_code"}
    return bytes(Item(**(said | {"action": "a"} | fields)).SerializeToString())


def field(number: int, data: bytes) -> bytes:
    """A field of bytes, whatever its type says."""
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


TRAJECTORY, ACTION, TOOL, ARGUMENTS, FETCH, EXTRA = 1, 2, 3, 4, 7, 11
NO_TEXT = [
    ("nul", b"a\0b", "has a NUL inside"),
    ("nul_alone", b"\0", "has a NUL inside"),
    ("no_utf8", b"a\xffb", "is not UTF-8: byte 1 of 3"),
    ("half_a_character", b"ab\xc3", "is not UTF-8: byte 2 of 3"),
    ("surrogate", b"\xed\xa0\x80", "is not UTF-8: byte 0 of 3"),
]
CASES = [
    *(
        Case(f"action_{name}", good() + field(ACTION, text), "action", words=words)
        for name, text, words in NO_TEXT
    ),
    *(
        Case(f"{name}_nul", good() + field(number, b"\0"), name, words="NUL inside")
        for name, number in [
            ("trajectory_id", TRAJECTORY),
            ("tool", TOOL),
            ("arguments", ARGUMENTS),
            ("extra", EXTRA),
            ("fetch", FETCH),
        ]
    ),
    Case("file_path", good() + field(6, field(1, b"\xff")), "files", words="UTF-8"),
    Case("replaced", field(ACTION, b"\xff") + good(), "action", words="UTF-8"),
    Case("no_trajectory", good(trajectory_id=""), "trajectory_id"),
    Case("trajectory_255", good(trajectory_id="y" * 255), ""),
    Case("trajectory_256", good(trajectory_id="y" * 256), "trajectory_id"),
    Case("trajectory_control", good(trajectory_id="a\nb"), "trajectory_id"),
    Case("unknown_tool", good(tool="no_such"), "tool", "TOOL_UNKNOWN"),
    Case("no_tool_no_tag", good(tool=""), "action", "TOOL_UNKNOWN"),
    Case("empty_action_no_tool", good(tool="", action=""), "action", "TOOL_UNKNOWN"),
    Case("empty_action", good(action=""), ""),
    Case("action_at_limit", good(action="a" * MIB), ""),
    Case("action_over", good(action="a" * (MIB + 1)), "action"),
    Case("stdin_at_limit", good(stdin=b"\xff\0" * (MIB // 2)), ""),
    Case("stdin_over", good(stdin=b"x" * (MIB + 1)), "stdin"),
    Case("arguments_no_json", good(arguments="{"), "arguments"),
    Case("arguments_no_object", good(arguments="[1]"), "arguments"),
    Case("extra_twice", good(extra='{"a":1,"a":2}'), "extra"),
    Case("extra_over", good(extra=f'{{"a":"{"x" * 65536}"}}'), "extra"),
    Case("files", good(files=[{"path": "a"}]), "files", "NOT_BUILT"),
    Case("limits", good(limits=Limits(wall_ms=10**9)), "limits"),
]


def encoded(items: list[bytes]) -> bytes:
    """A GetObservationRequest of such items."""
    out = b""
    for item in items:
        size, length = len(item), b""
        while size >= 128:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        out += b"\x0a" + length + bytes([size]) + item
    return out


def told(row: str) -> tuple[int, str, str, int, str, str]:
    cells = json.loads(row)
    result = json.loads(cells.get("detail") or "{}").get("result", "")
    return (
        cells["item"],
        cells["event"],
        cells.get("outcome") or "",
        cells.get("code") or 0,
        cells.get("reason") or "",
        result,
    )


def test_claim_11_each_mistake_of_an_item_is_its_own_alone(
    stub: StubGate, caller: RawClient
) -> None:
    """One batch of all mistakes, a good item before and after each."""
    items = [good(trajectory_id="first")]
    for i, case in enumerate(CASES):
        items += [case.item, good(trajectory_id=f"after {i}")]
    reply = caller.call(OBSERVE, encoded(items))
    got = GetObservationReply.FromString(reply.payload).results
    assert len(got) == len(items), reply.message
    assert {type(r).Status.Name(r.status) for r in got[::2]} == {"OK"}
    for case, result in zip(CASES, got[1::2], strict=True):
        if not case.field:
            assert result.status == type(result).OK, case.name
            continue
        assert result.status == type(result).INVALID_ACTION, (case.name, result)
        assert Reason.Name(result.reason) == case.reason, case.name
        assert result.metadata["field"] == case.field, case.name
        assert case.words in result.message, (case.name, result.message)
        assert result.message, case.name
        assert not result.content, case.name
    ran = sum(not case.field for case in CASES) + len(CASES) + 1
    assert stub.count().jobs == ran


def test_claim_08_each_mistake_of_an_item_has_its_own_rows(
    stub: StubGate, caller: RawClient
) -> None:
    caller.call(OBSERVE, encoded([good(), *(case.item for case in CASES)]))
    found = [told(row) for row in rows(stub.home, "--method", OBSERVE)]
    assert found[: len(found) // 2] == [
        (i, "call.begin", "", 0, "", "") for i in range(len(CASES) + 1)
    ]
    ends = found[len(found) // 2 :]
    assert ends[0] == (0, "call.end", "ok", 0, "", "OK")
    for i, case in enumerate(CASES, 1):
        if not case.field:
            assert ends[i] == (i, "call.end", "ok", 0, "", "OK"), case.name
            continue
        item, event, outcome, code, why, result = ends[i]
        assert (item, event, outcome) == (i, "call.end", "refused"), case.name
        assert (why, result) == (case.reason, "INVALID_ACTION"), case.name
        assert code in (3, 5, 12), case.name


def test_claim_08_an_action_that_is_no_text_has_the_digest_of_its_bytes(
    stub: StubGate, caller: RawClient
) -> None:
    texts = [b"a\0b", b"a\0c", b"a\xffb", b"???", b"a", b"a\0b"]
    caller.call(OBSERVE, encoded([good() + field(ACTION, text) for text in texts]))
    begun = rows(stub.home, "--event", "call.begin", "--method", OBSERVE)
    digests = [json.loads(row)["digest"] for row in begun]
    assert digests[0] == digests[5]
    assert len(set(digests[:5])) == 5


@pytest.mark.parametrize(
    ("name", "payload", "want"),
    [
        ("no_protobuf", encoded([good(), b"\xff"]), "MALFORMED"),
        ("cut_item", encoded([good()]) + b"\x0a\x05\x0a", "MALFORMED"),
        ("text_as_number", encoded([good(), b"\x10\x01"]), "MALFORMED"),
        ("no_items", b"", "FIELD_INVALID"),
        ("too_many", encoded([b""] * 1025), "FIELD_INVALID"),
    ],
)
def test_claim_11_what_is_no_list_of_items_fails_the_call(
    stub: StubGate, caller: RawClient, name: str, payload: bytes, want: str
) -> None:
    assert reason(caller.call(OBSERVE, payload)) == want, name
    assert stub.count().jobs == 0
    assert rows(stub.home, "--event", "call.begin", "--method", OBSERVE) == []


@pytest.mark.parametrize("count", [1, 1024])
def test_claim_11_only_faulty_items_are_an_answer_too(
    stub: StubGate, caller: RawClient, count: int
) -> None:
    items = [good() + field(ACTION, b"\xff")] * count
    assert results(caller.call(OBSERVE, encoded(items))) == ["INVALID_ACTION"] * len(
        items
    )
    assert stub.count().jobs == 0


def test_what_is_kept_of_a_request_with_no_text_is_valid(
    stub: StubGate, caller: RawClient
) -> None:
    """At audit.level request the bytes that are none stand as question marks."""
    stub.stop()
    stub.close()
    config = stub.home.config
    config.write_text(f"{config.read_text()}\naudit:\n  level: request\n")
    stub.start()
    with RawClient(stub.home.path / "profile/trainer") as raw:
        raw.call(OBSERVE, encoded([good() + field(ACTION, b"a\xff\0b")]))
    (begun,) = rows(stub.home, "--event", "call.begin", "--method", OBSERVE)
    asked = json.loads(json.loads(begun)["detail"])["request"]
    assert asked["action"] == "????"
