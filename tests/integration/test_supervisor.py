"""The supervisor over two puppets: what it starts, in which order, and what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gate import program
from tests.support.puppets import PATIENCE_S, Puppet, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A running supervisor."""
    made = Stage(tmp_path)
    yield made
    made.close()


def talk(one: Puppet, other: Puppet) -> None:
    """The two hold the ends of one job socket."""
    assert one.ask("write hello") == "written"
    assert other.ask("read") == "hello"


def test_execd_first_then_the_gate_then_the_link(stage: Stage) -> None:
    execd = stage.child("execd")
    stage.no_child(0.2)
    execd.ask("say R")
    gate = stage.child("gate")
    gate.ask("say R")
    assert (execd.ask("hear"), gate.ask("hear")) == ("X", "X")
    talk(execd, gate)
    talk(gate, execd)


def test_children_begin_with_four_descriptors_and_a_bare_environment(
    stage: Stage,
) -> None:
    execd = stage.child("execd")
    assert execd.ask("env").split() == ["LANG", "PATH"]
    strings = "4"  # the puppet's own
    assert execd.ask("fds").split() == ["0", "1", "2", "3", strings]


def test_an_execd_that_dies_is_replaced_and_the_gate_gets_a_fresh_socket(
    stage: Stage,
) -> None:
    execd, gate = stage.both()
    os.kill(execd.pid, signal.SIGKILL)
    assert gate.ask("read") == "end"
    again = stage.child("execd")
    again.ask("say R")
    assert (again.ask("hear"), gate.ask("hear")) == ("X", "X")
    talk(gate, again)
    assert stage.health()["gate.starts"] == "1"


def test_a_gate_that_dies_is_replaced_only_when_execd_has_confirmed(
    stage: Stage,
) -> None:
    execd, gate = stage.both()
    os.kill(gate.pid, signal.SIGKILL)
    assert execd.ask("read") == "end"
    stage.no_child(0.2)
    execd.ask("say K")
    again = stage.child("gate")
    assert (execd.ask("hear"), again.ask("hear")) == ("X", "X")
    talk(execd, again)


def test_an_execd_that_does_not_confirm_is_killed(stage: Stage) -> None:
    execd, gate = stage.both()
    os.kill(gate.pid, signal.SIGKILL)
    assert execd.gone()
    stage.child("execd").ask("say R")
    stage.child("gate")
    assert "execd.did_not_confirm" in stage.log()


def test_both_dead_at_once_come_back_in_order(stage: Stage) -> None:
    execd, gate = stage.both()
    os.kill(gate.pid, signal.SIGKILL)
    os.kill(execd.pid, signal.SIGKILL)
    again, new_gate = stage.both()
    talk(again, new_gate)


def test_a_confirmation_that_comes_before_the_end_is_seen_makes_one_gate(
    stage: Stage,
) -> None:
    execd, gate = stage.both()
    os.kill(stage.process.pid, signal.SIGSTOP)
    execd.ask("say K")
    assert gate.dead()
    os.kill(stage.process.pid, signal.SIGCONT)
    again = stage.child("gate")
    assert (execd.ask("hear"), again.ask("hear")) == ("X", "X")
    talk(execd, again)
    stage.no_child(0.2)


def test_a_job_socket_that_ended_while_the_gate_lives_is_replaced(
    stage: Stage,
) -> None:
    execd, gate = stage.both()
    execd.ask("say K")
    assert (execd.ask("hear"), gate.ask("hear")) == ("X", "X")
    talk(execd, gate)


def test_a_child_that_is_never_ready_is_started_with_back_off(stage: Stage) -> None:
    for _ in range(4):
        stage.child("execd").order("exit 1")
    stage.child("execd")
    waits = [line for line in stage.log().splitlines() if "child.backoff" in line]
    assert [line.split("wait_ms=")[1] for line in waits] == ["20", "40", "80", "80"]


def test_a_child_that_was_ready_is_started_at_once(stage: Stage) -> None:
    _, gate = stage.both()
    os.kill(gate.pid, signal.SIGKILL)
    assert "child.backoff" not in stage.log()


@pytest.mark.parametrize("name", ["execd", "gate"])
def test_a_refused_first_start_ends_serve_with_its_message(
    stage: Stage, name: str
) -> None:
    child = stage.child("execd")
    if name == "gate":
        child.ask("say R")
        child = stage.child("gate")
    child.ask("say F key.pem is readable by others: chmod 0640")
    child.order("exit 78")
    assert stage.wait() == 78
    want = f"supervise: {name}: key.pem is readable by others: chmod 0640"
    assert want in stage.log()


def test_a_refusal_after_a_good_start_is_told_and_tried_again(stage: Stage) -> None:
    execd, _ = stage.both()
    os.kill(execd.pid, signal.SIGKILL)
    again = stage.child("execd")
    again.ask("say F no cgroup: mount it")
    again.order("exit 78")
    stage.child("execd")
    health = stage.health()
    assert health["execd.reason"] == "no cgroup: mount it"
    assert health["gate.state"] == "ready"
    assert stage.process.poll() is None


def test_a_program_that_cannot_run_is_a_refusal(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    done = subprocess.run(
        [program("wd_supervise"), run_dir, "none", "/dev/null", "none", "500"],
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 78
    assert "execd: /dev/null: run: Permission denied" in done.stderr


def test_the_service_manager_is_told_when_both_are_ready_and_of_the_stop(
    stage: Stage,
) -> None:
    stage.both()
    assert stage.manager.recv(100) == b"READY=1"
    stage.process.send_signal(signal.SIGTERM)
    assert stage.manager.recv(100) == b"STOPPING=1"


def test_a_stop_drains_the_gate_then_stops_execd(stage: Stage) -> None:
    execd, gate = stage.both()
    stage.process.send_signal(signal.SIGTERM)
    assert gate.ask("hear") == "S"
    gate.order("exit 0")
    assert execd.ask("hear") == "S"
    execd.order("exit 0")
    assert stage.wait() == 0
    assert not (stage.run_dir / "ctl.sock").exists()


def test_who_does_not_stop_is_killed(stage: Stage) -> None:
    execd, gate = stage.both()
    stage.process.send_signal(signal.SIGINT)
    assert gate.gone()
    assert execd.gone()
    assert stage.wait() == 0


def test_a_second_signal_does_not_wait(stage: Stage) -> None:
    _, gate = stage.both()
    stage.process.send_signal(signal.SIGTERM)
    assert gate.ask("hear") == "S"
    stage.process.send_signal(signal.SIGTERM)
    assert stage.wait() == 0


def test_a_hangup_reloads_the_gate(stage: Stage) -> None:
    _, gate = stage.both()
    stage.process.send_signal(signal.SIGHUP)
    assert gate.ask("hear") == "H"


def test_a_supervisor_that_is_killed_leaves_nobody(stage: Stage) -> None:
    execd, gate = stage.both()
    stage.process.kill()
    assert execd.gone()
    assert gate.gone()


@pytest.mark.parametrize("words", ["say Q", "say X", "say S", "say H"])
def test_nonsense_from_a_child_is_logged_and_ignored(stage: Stage, words: str) -> None:
    _, gate = stage.both()
    gate.ask(words)
    gate.ask("say R")
    assert stage.health()["gate.state"] == "ready"
    assert "child.nonsense" in stage.log()


def test_a_gate_cannot_confirm_in_execds_name(stage: Stage) -> None:
    execd, gate = stage.both()
    gate.ask("say K")
    os.kill(gate.pid, signal.SIGKILL)
    stage.no_child(0.2)
    execd.ask("say K")
    stage.child("gate")


def test_a_second_supervisor_is_refused(stage: Stage) -> None:
    stage.child("execd")
    done = subprocess.run(
        [program("wd_supervise"), stage.run_dir, "none", sys.executable, "none", "500"],
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 5
    assert "runs here already" in done.stderr
    assert stage.process.poll() is None


def test_the_ctl_socket_is_ours_alone(stage: Stage) -> None:
    stage.both()
    assert (stage.run_dir / "ctl.sock").stat().st_mode & 0o777 == 0o600
    health = stage.health()
    assert health["supervisor.pid"] == str(stage.process.pid)
    assert health["linked"] == "1"
    assert (health["gate.state"], health["execd.state"]) == ("ready", "ready")
