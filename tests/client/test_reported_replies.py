"""What was reported of decoders elsewhere: a gate lies to both stubs.

The table "Failures that were reported elsewhere" of docs/testing.md names each.
"""

from __future__ import annotations

import collections
import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate
from tests.support import mangle
from tests.support.gate import program
from tests.support.schema import varint

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]

LONG = bool(os.environ.get("WARDED_LONG"))
SOME = 1 if LONG else 20  # one of so many
ACTION = b"print(1)".hex()
SCALE = [2**53 + 1, 2**63 - 1, 2**64 - 1]


def health(**fields: Any) -> bytes:
    """The payload of a reply to Health.Check."""
    data: bytes = v1.HealthCheckReply(**fields).SerializeToString()
    return data


def results(**fields: Any) -> bytes:
    """The payload of a reply with one result."""
    reply = v1.GetObservationReply(results=[v1.Result(**fields)])
    data: bytes = reply.SerializeToString()
    return data


# --- protobuf-c/protobuf-c#375 -------------------------------------------------------

LAYER = {"name": "seccomp", "state": 1, "detail": "é"}
OUT = {"name": "stdout", "text": "1\n", "truncation": {"original_bytes": 9}}
ANSWERS = {
    "check 5000": health(status=1, layers=[LAYER, LAYER], uptime_ms=2**40),
    f"observe 5000 1000 {ACTION}": results(
        status=1, content=[OUT, OUT], exit={"code": 3}, metadata={"k": "v"}, reward=0.5
    ),
}


def others(good: bytes, payload: bytes) -> Iterator[bytes]:
    """In place of a good reply: what is none, or another; outside and inside."""
    wrong = (mangle.broken, mangle.cuts, mangle.flips)
    yield from (data for make in wrong for _, data in make(good))
    front = good.removesuffix(varint(len(payload)) + payload)
    assert front != good  # it ends with its payload
    for _, data in itertools.chain(mangle.broken(payload), mangle.flips(payload)):
        yield front + varint(len(data)) + data


@pytest.mark.parametrize("command", ANSWERS)
def test_the_c_stub_survives_whatever_a_gate_answers(
    start: Start, profile_of: ProfileOf, command: str
) -> None:
    """A sanitizer watches it, also for what it has not freed."""
    payload, turns = ANSWERS[command], itertools.count(0, SOME)

    def answer(gate: FakeGate, request: Any) -> Any:
        head = v1.AuditHead(seq=1, hash=b"\7" * 32)
        envelope = v1.Reply(call_id=request.call_id, head=head).SerializeToString()
        good = envelope + b"\x4a" + varint(len(payload)) + payload
        left = itertools.islice(others(good, payload), next(turns), None)
        return next(left, gate.reply(request, code=9, reason=4711))

    with calling(profile_of(start(answer))) as caller:
        said = list(iter(lambda: caller.do(command).split(" ")[0], "REASON_4711"))
    print(collections.Counter(said))
    assert len(said) > 1000 // SOME
    assert said.count("BUG") > len(said) // 4


# --- protobuf-c/protobuf-c#199 -------------------------------------------------------


def newer(gate: FakeGate, request: Any) -> Any:
    """Statuses and reasons that there are not, in the name of an answer."""
    if request.method.endswith("/Check"):
        return gate.reply(request, payload=health(status=99))
    return gate.reply(request, payload=results(status=99, reason=4711))


def test_an_unknown_status_of_a_newer_gate_is_no_success(
    start: Start, profile_of: ProfileOf
) -> None:
    profile = profile_of(start(newer))
    with warded.connect(profile) as channel:
        (outcome,) = warded.run(["print(1)"], channel=channel)
        assert (outcome.status, outcome.result.status) == (warded.ItemStatus.INFRA, 99)
        assert outcome.reason == 4711
        with pytest.raises(warded.ServerFault):
            _ = outcome.observation
        assert v1.HealthStub(channel).Check(v1.HealthCheckRequest()).status == 99
    with calling(profile) as caller:
        assert caller.do(f"observe 5000 1000 {ACTION}") == "result 99 4711\n"
    assert tokctl(profile, "health", status=None).returncode != 0


# --- protocolbuffers/protobuf#2679 ---------------------------------------------------


def tokctl(profile: Path, *words: str, status: int | None = 0) -> Any:
    """Run it as the client of a profile."""
    done = subprocess.run(
        [program("tokctl"), *words, "--profile", profile],
        capture_output=True,
        text=True,
        check=False,
    )
    assert status is None or done.returncode == status, done.stderr
    return done


def shown(number: int) -> int | str:
    """The form of docs/audit.md, "Reads"."""
    return number if number < 2**63 else str(number)


@pytest.mark.parametrize("number", SCALE)
def test_a_number_of_64_bits_keeps_its_digits_by_each_reader(
    start: Start, profile_of: ProfileOf, number: int
) -> None:
    def answer(gate: FakeGate, request: Any) -> Any:
        return v1.Reply(
            call_id=request.call_id,
            now_ms=number,
            head=v1.AuditHead(seq=number, hash=b"\7" * 32),
            payload=health(status=1, uptime_ms=number),
        )

    profile = profile_of(start(answer))
    with warded.connect(profile) as channel:
        reply = v1.HealthStub(channel).Check(v1.HealthCheckRequest())
    assert reply.uptime_ms == number
    with calling(profile) as caller:
        assert caller.do("check 5000") == f"ok {number} {number}\n"
    for words in (("call", "Health/Check"), ("health", "-o", "json")):
        told = tokctl(profile, *words).stdout
        assert json.loads(told)["uptime_ms"] == shown(number), told


@pytest.mark.parametrize("number", SCALE)
def test_a_number_of_64_bits_is_sent_with_all_its_digits(
    start: Start, profile_of: ProfileOf, number: int
) -> None:
    gate = start(lambda gate, request: gate.reply(request))
    profile = profile_of(gate)
    for text in {str(number), json.dumps(shown(number)), json.dumps(str(number))}:
        data = f'{{"seq": {text}}}'
        words = ("call", "Audit/Show", "--data", data)
        if number >= 2**63 and not text.startswith('"'):
            assert "--data" in tokctl(profile, *words, status=2).stderr
            continue
        tokctl(profile, *words)
        asked = v1.AuditShowRequest.FromString(gate.seen.requests[-1].payload)
        assert asked.seq == number


# --- nanomsg/nng#857 -----------------------------------------------------------------

DAY_MS = 86_400_000


@pytest.mark.parametrize("timeout_ms", [DAY_MS + 1, 2**31, 2**63, 2**64 - 1])
def test_a_timeout_of_more_than_a_day_is_refused_by_c_and_not_sent(
    start: Start, profile_of: ProfileOf, timeout_ms: int
) -> None:
    """2^64 - 1 is what -1 becomes in C: neither at once nor for ever."""
    gate = start()
    with calling(profile_of(gate)) as caller:
        refused = caller.check(timeout_ms)
        assert (refused.reason, refused.phase) == ("FIELD_INVALID", "send")
        assert f"timeout_ms is {timeout_ms}, at most {DAY_MS}" in refused.message
        assert [caller.check(ms).reason for ms in (0, DAY_MS)] == ["ok", "ok"]
    assert [r.timeout_ms > 29_000 for r in gate.seen.requests] == [True, True]
