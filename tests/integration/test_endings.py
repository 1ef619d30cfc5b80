"""How an action ended, as the gate says it and as a client reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded.v1 import observation_wd as pb
from warded.v1 import rpc_wd

from tests.integration.items import cause, item, run, send, status, text
from tests.support.endings import ENDINGS
from tests.support.gate import Gate, Home

REASON = rpc_wd.Reason
DENIED = "the token has no scope that covers observe:python_code"


def test_claim_11_files_that_are_not_built_are_the_caller_s_mistake(
    trainer: Path,
) -> None:
    result = run(trainer, "print(1)", fetch=["x"])
    assert (status(result), result.reason) == ("INVALID_ACTION", REASON.NOT_BUILT)
    with pytest.raises(warded.InvalidCall, match="not built"):
        _ = warded.read_outcome(result).observation


def test_claim_11_a_denied_action_is_no_observation(
    new_home: Callable[[], Home], new_gate: Callable[[Home], Gate]
) -> None:
    """Its scope is another tool's; what the caller is told names no token."""
    home = new_home()
    other = home.profile("other", "observe:other")
    new_gate(home)
    for tool, action in ("python_code", "print(1)"), ("", "<py>print(1)</py>"):
        result = run(other, action, tool=tool)
        assert (status(result), result.reason) == ("DENIED", REASON.SCOPE_MISSING)
        assert result.message == DENIED
        with pytest.raises(warded.PermissionDenied):
            _ = warded.read_outcome(result).observation


@pytest.mark.parametrize("name", ENDINGS)
def test_claim_11_an_ending_is_told_as_clients_read_it(
    trainer: Path, name: str
) -> None:
    ending = ENDINGS[name]
    result = run(trainer, ending.action, **ending.with_)
    for content in result.content:
        if content.text.startswith("Traceback"):
            content.text = content.text.splitlines(keepends=True)[-1]
    for field in ("timings", "valid", "tool"):
        result.ClearField(field)
    result.exit.SetInParent()  # what did not run has none
    assert result == ending.result


def test_claim_11_an_action_that_the_deadline_stopped_says_so(trainer: Path) -> None:
    action = item("print('on', flush=True)\nwhile True: pass", wall_ms=60_000)
    (result,) = send(trainer, action, timeout=3)
    assert (status(result), cause(result)) == ("TIMEOUT", "WALL")
    seen = warded.read_outcome(result).observation
    assert seen == "on\nstopped: the deadline of the call"


def test_claim_11_a_limit_of_the_tool_is_told_as_one_of_the_item(trainer: Path) -> None:
    (tool,) = (
        pb.ObservationStub(warded.connect(trainer))
        .ListTools(pb.ListToolsRequest())
        .tools
    )
    result = run(trainer, "while True: print('x' * 4096)")
    assert cause(result) == "OUTPUT"
    kept = tool.limits.output_bytes >> 10
    assert (
        result.message == f"stopped: wrote far more than the {kept} KiB that are kept"
    )
    assert " bytes cut ...]\n" in warded.read_outcome(result).observation


def test_claim_11_outputs_that_do_not_fit_one_reply_say_so(trainer: Path) -> None:
    loud = "import sys; sys.stdout.write('A' * 2**22 + 'Z' * 2**22)"
    items = [item(loud, trajectory_id=f"t{i}", output_bytes=1 << 20) for i in range(20)]
    quiet = item("print('A' * 100)", trajectory_id="q")
    *cut, whole = send(trainer, *items, quiet)
    assert sum(len(text(r)) for r in cut) < 16 << 20
    for result in cut:
        assert result.metadata == {"output_cut": "frame"}
        (content,) = result.content
        kept = content.truncation
        assert kept.original_bytes == 1 << 23
        assert kept.head_bytes + kept.tail_bytes == len(content.text) < 1 << 20
        mark = warded.CUT_MARK.format((1 << 23) - len(content.text))
        assert mark in warded.read_outcome(result).stdout
    assert (text(whole), whole.metadata) == ("A" * 100 + "\n", {})
    alone = run(trainer, loud, output_bytes=1 << 20)
    assert alone.content[0].HasField("truncation")
    assert alone.metadata == {}, "its own limit did it"


def test_claim_11_six_outcomes_can_be_told_apart(
    trainer: Path, gate: object, tmp_path: Path
) -> None:
    """Connect, auth, user error, timeout, busy, refusal (ToRL#27) are not one word."""
    del gate
    sleeps = "import time; time.sleep(60)"
    busy = send(trainer, item(sleeps, wall_ms=60_000), item("print(1)"), timeout=2)[1]
    kinds = [
        status(run(trainer, "1/0")),
        status(run(trainer, "while True: pass", wall_ms=300)),
        status(busy),
        status(run(trainer, "x", tool="other")),
    ]
    assert kinds == ["TOOL_ERROR", "TIMEOUT", "BUSY", "INVALID_ACTION"]
    assert busy.reason == REASON.QUEUE_TIMEOUT
    with pytest.raises(warded.Busy):
        _ = warded.read_outcome(busy).observation
    away = tmp_path / "away"
    away.mkdir(mode=0o700)
    for name in ("ca.pem", "cert.pem", "key.pem", "token", "policy"):
        (away / name).write_bytes((trainer / name).read_bytes())
        (away / name).chmod(0o600)
    (away / "server").write_text("127.0.0.1:1\n")
    with pytest.raises(warded.Unreachable):
        run(away, "print(1)")
    (away / "server").write_bytes((trainer / "server").read_bytes())
    (away / "token").write_text("wdt1_" + "0" * 59)
    with pytest.raises(warded.Unauthenticated) as caught:
        warded.run(["print(1)"], channel=warded.connect(away))
    assert "wdt1_" not in str(caught.value), "no secret in an error"
