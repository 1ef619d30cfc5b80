"""Failures that users of servers like this one have reported, played through as told.

The table "Failures that were reported elsewhere" of docs/testing.md names each, and the
tests here; those that python_code can have.
"""

from __future__ import annotations

import collections
import contextlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import warded
from warded import v1
from warded.v1 import observation_wd as pb
from warded.v1 import rpc_wd

from tests.client.c_caller import calling, parse
from tests.conftest import NewGate, NewHome
from tests.integration.items import item, run, send, status, text
from tests.support.calls import OBSERVE, rows, wait_for_rows
from tests.support.gate import BUILD, ROOT, Gate, Home
from tests.support.gate import run as run_program
from tests.support.ports import free_port

CASES = {
    "TIGER-AI-Lab/verl-tool#136": "waiting_is_no_timeout",
    "NVIDIA-NeMo/Skills#712": "output_that_looks_like_a_record",
    "GAIR-NLP/ToRL#27": "six_outcomes_by_two_stubs",
    "verl-project/verl#6978": "a_gate_that_is_gone_during_a_rollout",
}
SLOTS = 4
SESSIONS = 64
TURNS = 64
CUT_AT = 20  # the turn in which the gate is killed
BUSY = ("BUSY", "QUEUE_TIMEOUT")
SLEEPS = "import time; time.sleep(120)"
Told = tuple[str, str]  # how a call or an action ended: status or reason, phase


def small_gate(home: Home, new_gate: NewGate, slots: int) -> Gate:
    """A gate with so many slots, and the profile `trainer`."""
    home.profile("trainer", "observe:python_code")
    with home.config.open("a") as config:
        config.write(f"\nsandbox:\n  slots: {slots}\n")
    return new_gate(home)


def test_claim_11_each_reported_case_is_in_the_table_and_has_its_test() -> None:
    table = (ROOT / "docs/testing.md").read_text()
    told = dict(
        re.findall(r"^\| ([\w./-]+#\d+) \|.*`test_claim_11_(\w+)`", table, re.M)
    )
    assert told == CASES
    for name in CASES.values():
        assert callable(globals()[f"test_claim_11_{name}"])


def ask(stub: Any, action: str) -> Any:
    """One turn of a rollout: it may wait for a gate that starts."""
    return stub.GetObservation.future(
        pb.GetObservationRequest(
            items=[item(action, trajectory_id="rollout", wall_ms=120_000)]
        ),
        timeout=150,
        wait_for_ready=True,
    )


# --- TIGER-AI-Lab/verl-tool#136 ------------------------------------------------------


def test_claim_11_waiting_is_no_timeout(new_home: NewHome, new_gate: NewGate) -> None:
    """64 sessions at once, four slots, one second each, a limit of three."""
    gate = small_gate(new_home(), new_gate, SLOTS)
    stub = pb.ObservationStub(warded.connect(gate.home.path / "profile/trainer"))
    action = "import time; time.sleep(1); print(1)"
    calls = [
        stub.GetObservation.future(
            pb.GetObservationRequest(
                items=[item(action, trajectory_id=f"session-{n}", wall_ms=3000)]
            ),
            timeout=150,
        )
        for n in range(SESSIONS)
    ]
    results = [call.result().results[0] for call in calls]
    assert [(status(r), text(r)) for r in results] == [("OK", "1\n")] * SESSIONS
    assert all(1_000_000 <= r.timings.run_us < 3_000_000 for r in results)
    assert max(r.timings.queue_us for r in results) > 3_000_000


# --- NVIDIA-NeMo/Skills#712 ----------------------------------------------------------


def test_claim_11_output_that_looks_like_a_record(trainer: Path) -> None:
    """Our own record, as text and as bytes, on stdout and on descriptors 3 to 9."""
    fake = pb.Result(status="OK", exit=pb.Exit(code=0), reward=1.0)
    record = fake.SerializeToString()
    marks = ["<|im_end|>", "In [2]: ", '{"msg_type": "execute_reply", "status": "ok"}']
    action = (
        "import os, sys\n"
        f"record = {record!r}\n"
        f"print({str(fake)!r})\n"
        f"print({marks!r}, sep='\\n')\n"
        "sys.stdout.flush()\n"
        "os.write(1, record)\n"
        "for fd in range(3, 10):\n"
        "    try:\n"
        "        os.write(fd, record)\n"
        "        print('open:', fd)\n"
        "    except OSError:\n"
        "        pass\n"
        "sys.exit(7)"
    )
    result = run(trainer, action)
    shown = record.decode("utf-8", "replace").replace("\0", "\ufffd")
    assert text(result) == f"{fake}\n{marks!r}\n{shown}"
    assert (status(result), result.exit.code) == ("TOOL_ERROR", 7)
    assert not result.HasField("reward")
    assert not result.done


# --- GAIR-NLP/ToRL#27 ----------------------------------------------------------------


def by_python(profile: Path, action: str, wall_ms: int, timeout_ms: int) -> Told:
    """How the Python stub tells it."""
    try:
        (result,) = send(
            profile, item(action, wall_ms=wall_ms), timeout=timeout_ms / 1000
        )
    except warded.RpcError as error:
        assert error.reason is not None
        return error.reason.name, error.phase.value
    return status(result), rpc_wd.Reason.Name(result.reason)


def by_c(profile: Path, action: str, wall_ms: int, timeout_ms: int) -> Told:
    """How the C stub tells it."""
    with calling(profile) as caller:
        line = caller.do(f"observe {timeout_ms} {wall_ms} {action.encode().hex()}")
    if line.startswith("result "):
        _, state, why = line.split()
        return pb.Result.Status.Name(int(state)), rpc_wd.Reason.Name(int(why))
    failed = parse(line)
    return failed.reason, failed.phase


STUBS: dict[str, Callable[[Path, str, int, int], Told]] = {
    "python": by_python,
    "c": by_c,
}


def like(trainer: Path, name: str, **files: str) -> Path:
    """A profile that differs from the trainer's by these files."""
    made = trainer.parent / name
    made.mkdir(mode=0o700)
    for path in trainer.iterdir():
        (made / path.name).write_text(files.get(path.name, path.read_text()))
        (made / path.name).chmod(0o600)
    return made


@contextlib.contextmanager
def taken_slot(trainer: Path) -> Iterator[None]:
    """The only slot is another action's."""
    channel = warded.connect(trainer)
    request = pb.GetObservationRequest(items=[item(SLEEPS, wall_ms=120_000)])
    call = pb.ObservationStub(channel).GetObservation.future(request, timeout=150)
    health = v1.HealthStub(channel)
    while health.Check(v1.HealthCheckRequest()).running < 1:
        assert not call.done()
    yield
    call.cancel()
    assert call.exception() is not None


def test_claim_11_six_outcomes_by_two_stubs(
    new_home: NewHome, new_gate: NewGate
) -> None:
    """Five by each stub, the same, and on record; the sixth starts no gate at all."""
    gate = small_gate(new_home(), new_gate, 1)
    trainer = gate.home.path / "profile/trainer"
    admins = (gate.home.admin / "token").read_text()
    nowhere = like(trainer, "nowhere", server="127.0.0.1:1\n")
    wrong = like(trainer, "wrong", token=admins)
    told = {}
    for name, stub in STUBS.items():
        told[name] = {
            "connect": stub(nowhere, "print(1)", 3000, 10_000),
            "auth": stub(wrong, "print(1)", 3000, 10_000),
            "user error": stub(trainer, "1/0", 3000, 10_000),
            "timeout": stub(trainer, "while True: pass", 300, 10_000),
        }
        with taken_slot(trainer):
            told[name]["busy"] = stub(trainer, "print(1)", 3000, 1000)
    assert told["python"] == told["c"]
    assert told["c"] == {
        "connect": ("UNREACHABLE", "connect"),
        "auth": ("TOKEN_NOT_YOURS", "remote"),
        "user error": ("TOOL_ERROR", "REASON_UNSPECIFIED"),
        "timeout": ("TIMEOUT", "RUN_TIMEOUT"),
        "busy": BUSY,
    }
    record = [json.loads(row) for row in rows(gate.home, "--method", OBSERVE)]
    ends = [
        (json.loads(row["detail"])["result"], row["reason"])
        for row in record
        if row["event"] == "call.end"
    ]
    refused = [row["reason"] for row in record if row["event"] == "auth"]
    assert refused == ["TOKEN_NOT_YOURS"] * len(STUBS)
    for one in (("TOOL_ERROR", ""), ("TIMEOUT", "RUN_TIMEOUT"), BUSY):
        assert ends.count(one) == len(STUBS), ends


def test_claim_11_a_renamed_sandbox_program_starts_no_gate(
    new_home: NewHome, tmp_path: Path
) -> None:
    """Never a success with its complaint as text: nothing listens."""
    home = new_home()
    home.take_uids()
    for name in ("warded", "warded-execd", "warded-slot"):
        shutil.copy(BUILD / "bin" / name, tmp_path)
    (tmp_path / "warded-slot").rename(tmp_path / "warded-slot.away")
    done = run_program(tmp_path / "warded", "--home", home.path, "serve", check=False)
    assert done.returncode == 78
    assert "warded-slot" in done.stderr
    assert not (home.path / "run/address").exists()


# --- verl-project/verl#6978 ----------------------------------------------------------


def test_claim_11_a_gate_that_is_gone_during_a_rollout(
    new_home: NewHome, new_gate: NewGate
) -> None:
    """What it did is observed, retried because it never started, or marked."""
    home = new_home("--listen", f"tls+tcp://127.0.0.1:{free_port()}")
    gate = small_gate(home, new_gate, 1)
    stub = pb.ObservationStub(warded.connect(home.path / "profile/trainer"))
    observed, marked, retried = {}, [], 0
    for turn in range(TURNS):
        text_of = SLEEPS if turn == CUT_AT else f"print({turn} * 7)"
        call = ask(stub, text_of)
        if turn == CUT_AT:
            wait_for_rows(home, "call.begin", turn + 1)
            gate.kill()
            again = threading.Thread(target=gate.start)
            again.start()
        try:
            outcome = warded.read_outcome(call.result().results[0])
        except warded.OutcomeUnknown as error:
            assert error.may_have_run
            marked.append(turn)
            continue
        except warded.Unreachable as error:
            assert not error.may_have_run
            retried += 1
            outcome = warded.read_outcome(ask(stub, text_of).result().results[0])
        observed[turn] = outcome.observation
    again.join()
    assert marked == [CUT_AT]
    assert observed == {turn: f"{turn * 7}" for turn in range(TURNS) if turn != CUT_AT}
    ended = [json.loads(row) for row in rows(home, "--event", "call.end")]
    counts = collections.Counter(row["reason"] for row in ended)
    assert counts == {"": TURNS - 1, "OUTCOME_UNKNOWN": len(marked)}
    assert retried <= 1
