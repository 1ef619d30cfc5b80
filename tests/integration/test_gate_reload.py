"""A reload takes all or nothing, and the record says which."""

from __future__ import annotations

import json
import select
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from warded.v1 import GetObservationReply, Reason

from tests.conftest import NewGate, NewHome
from tests.support.calls import OBSERVE, WHO, batch, reason, rows
from tests.support.gate import READY_S, Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import LOOK_S, StubGate


@pytest.fixture
def home(new_home: NewHome) -> Home:
    """Two clients, and limits to change."""
    made = new_home()
    made.profile("trainer", "observe:python_code")
    made.profile("other", "observe:python_code")
    write_limits(made, "in_flight: 8")
    return made


@pytest.fixture
def stub(home: Home) -> Iterator[StubGate]:
    """A gate over a stub executor."""
    with StubGate(home, grace_ms=300) as gate:
        yield gate


def write_limits(home: Home, *lines: str) -> None:
    """The section `limits`, and nothing else of importance."""
    limits = "".join(f"  {line}\n" for line in lines)
    home.config.write_text(
        f"user: warded\nlisten:\n  url: tls+tcp://127.0.0.1:0\nlimits:\n{limits}"
    )


def row(home: Home, count: int = 1) -> dict[str, Any]:
    """The last config.reload row, once there are as many."""
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        found = rows(home, "--event", "config.reload")
        if len(found) >= count:
            assert len(found) == count
            made: dict[str, Any] = json.loads(found[-1])
            return made
        select.select([], [], [], LOOK_S)
    pytest.fail(f"no {count} config.reload rows")


def test_a_reload_takes_limits_and_is_on_record(stub: StubGate) -> None:
    home = stub.home
    write_limits(home, "in_flight: 4", "connections_per_principal: 1")
    stub.do("reload")
    told = row(home)
    assert (told["outcome"], told["code"]) == ("ok", 0)
    assert "in_flight 4, connections_per_principal 1, queue 65536" in str(
        told["detail"]
    )
    with RawClient(home.path / "profile/trainer") as raw:
        with RawClient(home.path / "profile/other") as other:
            assert other.call(WHO).code == 0
        with pytest.raises(OSError, match=r".*"):
            RawClient(home.path / "profile/trainer").call(WHO)
        for _ in range(4):
            raw.send(raw.request(OBSERVE, batch("hold")).SerializeToString())
        stub.wait_for(running=4)
        full = raw.call(OBSERVE, batch("a"))
        assert reason(full) == "QUEUE_FULL"
        assert "limits.in_flight is 4" in full.message


def test_a_reload_takes_the_length_of_the_queue(stub: StubGate) -> None:
    write_limits(stub.home, "in_flight: 8", "queue: 1")
    stub.do("reload")
    assert "queue 1" in str(row(stub.home)["detail"])
    with RawClient(stub.home.path / "profile/trainer") as raw:
        reply = raw.call(OBSERVE, batch("queue", "a"), timeout_ms=500)
    answers = GetObservationReply.FromString(reply.payload).results
    names = [Reason.Name(r.reason) for r in answers]
    assert names == ["QUEUE_TIMEOUT", "QUEUE_FULL"]


def no_yaml(home: Home) -> None:
    """A file that is none."""
    home.config.write_text("limits: [\n")


def unknown_key(home: Home) -> None:
    """A key that there is not."""
    write_limits(home, "connections: 3")


def too_high(home: Home) -> None:
    """More calls than there are contexts."""
    write_limits(home, "in_flight: 9", "connections_per_principal: 1")


def no_certificate(home: Home) -> None:
    """It is away."""
    (home.path / "state/gate/cert.pem").unlink()


def bad_deny_list(home: Home) -> None:
    """A line that is neither a serial nor a prefix."""
    (home.path / "state/gate/deny").write_text("what?\n")


def another_gate(home: Home) -> None:
    """The credentials of a gate with another name."""
    path = home.path.parent / "another"
    other = Home.make(path, "--gate-id", "another")
    for name in ("ca.pem", "cert.pem", "key.pem"):
        shutil.copyfile(
            other.path / "state/gate" / name, home.path / "state/gate" / name
        )


BROKEN = [
    (no_yaml, "warded.yaml:"),
    (unknown_key, "warded.yaml:5: limits.connections: unknown key"),
    (too_high, "was started with 8"),
    (no_certificate, "cert.pem"),
    (bad_deny_list, "deny"),
    (another_gate, "/gate/another"),
]


@pytest.mark.parametrize(("spoil", "says"), BROKEN)
def test_a_reload_that_is_refused_changes_nothing_and_is_on_record(
    stub: StubGate, spoil: Callable[[Home], None], says: str
) -> None:
    home = stub.home
    spoil(home)
    stub.do("reload")
    told = row(home)
    assert told["outcome"] == "failed"
    assert told["code"] != 0
    assert says in str(told["detail"])
    assert "gate.reload_failed" in stub.log
    profile = home.path / "profile/trainer"
    with RawClient(profile) as one, RawClient(profile) as two:
        assert (one.call(WHO).code, two.call(WHO).code) == (0, 0)


def test_two_reloads_are_two_rows(stub: StubGate) -> None:
    stub.do("reload")
    stub.do("reload")
    assert row(stub.home, 2)["outcome"] == "ok"


def test_sighup_to_serve_reaches_the_record(home: Home, new_gate: NewGate) -> None:
    gate = new_gate(home)
    write_limits(home, "in_flight: 7")
    gate.hang_up()
    assert "in_flight 7" in str(row(home)["detail"])
