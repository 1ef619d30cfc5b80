"""`warded serve`: what it runs, as whom, what it survives, what it refuses."""

from __future__ import annotations

import os
import pwd
import re
import select
from pathlib import Path

import pytest

from tests.conftest import NewGate, NewHome
from tests.support.facts import facts
from tests.support.gate import ROOT, Done, Gate, Home, program, run

PATIENCE_S = 60.0
LOOK_S = 0.1


@pytest.fixture
def home(new_home: NewHome) -> Path:
    """A home that was initialised."""
    made = new_home()
    made.take_uids()
    return made.path


def warded(home: Path, *words: str) -> Done:
    """A command that may fail."""
    return Home(home).warded(*words, check=False)


# As sudo leaves it, and as root of a container has it: no way to raise it.
NO_CORE = ("setpriv", "--bounding-set=-sys_resource", "prlimit", "--core=0:0")
PATTERN = Path("/proc/sys/kernel/core_pattern")
PIPED = """
echo '|/bin/true %p' >/run/pattern
mount --bind /run/pattern /proc/sys/kernel/core_pattern
rm /run/pattern
exec "$@"
"""


def without_core(home: Path, command: str, *, piped: bool = False) -> Done:
    """A command under a hard core limit of 0."""
    pipe = ("unshare", "--mount", "sh", "-ec", PIPED, "sh") if piped else ()
    return run(*pipe, *NO_CORE, program("warded"), "--home", home, command, check=False)


def test_a_hard_core_limit_of_0_where_a_helper_gets_dumps_is_refused_alike(
    home: Path,
) -> None:
    done = without_core(home, "serve", piped=True)
    assert done.returncode == 78, done.stderr
    said = done.stderr.splitlines()[-1].removeprefix("warded serve: execd: rlimits: ")
    assert said.startswith("the hard limit of core is 0 and kernel.core_pattern runs")
    table = facts(without_core(home, "check", piped=True))
    what, cure = table["sandbox: rlimits"].removeprefix("FAIL ").split("; cure: ")
    assert said.split("; ", 1)[0] == what
    assert said.endswith(cure[cure.index("give it a hard limit") :])
    assert "LimitCORE=1" in cure


def test_a_hard_core_limit_of_0_where_dumps_are_files_is_no_reason_to_refuse(
    home: Path, new_gate: NewGate
) -> None:
    verdict = facts(without_core(home, "check"))["sandbox: rlimits"]
    if PATTERN.read_text().startswith(("|", "@")):  # of this host: then it is
        assert verdict.startswith("FAIL ")
        return
    assert verdict.startswith("ok ")
    gate = new_gate(Home(home), wrap=NO_CORE)
    for pid in pids(gate).values():
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert re.search(r"^Max core file size +0 +0 ", limits, re.M)


def test_the_unit_of_systemd_sets_a_core_limit_that_is_accepted() -> None:
    unit = (ROOT / "deploy/systemd/warded.service").read_text()
    assert re.findall(r"^LimitCORE=(.*)$", unit, re.M) == ["1"]


def test_health_without_a_supervisor_is_6(home: Path) -> None:
    done = warded(home, "health")
    assert done.returncode == 6
    assert "does not run" in done.stderr


def pids(gate: Gate, *, check: bool = True) -> dict[str, int]:
    """The supervisor's children, by name, as `warded health` tells them."""
    text = gate.home.warded("health", check=check).stdout
    found = re.findall(r"^(execd|gate) +ready +pid (\d+) ", text, re.M)
    return {name: int(pid) for name, pid in found}


def test_serve_runs_the_gate_as_its_user_and_health_is_0(gate: Gate) -> None:
    status = Path(f"/proc/{pids(gate)['gate']}/status").read_text()
    uid = pwd.getpwnam("warded").pw_uid
    assert re.search(rf"^Uid:\t{uid}\t{uid}\t{uid}\t{uid}$", status, re.M)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.M)
    assert re.search(r"^CapEff:\t0+$", status, re.M)
    assert re.search(r"^Groups:\t\d+ $", status, re.M)


def test_the_supervisor_holds_no_key_and_no_network_socket(gate: Gate) -> None:
    fds = Path(f"/proc/{gate.pid}/fd")
    targets = [str(p.readlink()) for p in fds.iterdir()]
    assert not [t for t in targets if t.endswith((".pem", ".key", ".db"))]
    inodes = {t[8:-1] for t in targets if t.startswith("socket:[")}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        text = Path(f"/proc/{gate.pid}/net/{table}").read_text()
        assert not inodes & set(re.findall(r"\s(\d+)\s", text))


def test_profile_new_while_the_gate_runs_is_a_conflict(gate: Gate) -> None:
    done = warded(gate.home.path, "profile", "new", "late", "--scope", "observe:*")
    assert done.returncode == 5
    assert "stop 'warded serve'" in done.stderr
    assert "start it again" in done.stderr
    assert not (gate.home.path / "profile/late").exists()
    assert gate.home.warded("health").returncode == 0


def test_a_second_serve_is_a_conflict_and_harms_nothing(gate: Gate) -> None:
    address = (gate.home.path / "run/address").read_text()
    done = warded(gate.home.path, "serve")
    assert done.returncode == 5
    assert f"runs here already, as process {gate.pid};" in done.stderr
    assert (gate.home.path / "run/address").read_text() == address
    assert gate.home.warded("health").returncode == 0


def test_serve_on_a_store_that_another_gate_holds_is_a_conflict(
    gate: Gate, new_home: NewHome
) -> None:
    other = new_home()
    other.take_uids()
    text = other.config.read_text()
    other.config.write_text(f"{text}\nstore:\n  path: {gate.home.store}\n")
    done = warded(other.path, "serve")
    assert done.returncode == 5, done.stderr
    assert "in use by process" in done.stderr.splitlines()[-1]
    assert facts(warded(other.path, "check"))["store"].startswith("FAIL ")


def replaced(gate: Gate, name: str, old: int) -> int:
    """The pid of the child that took the place of `old`, once it is ready."""
    for _ in range(int(PATIENCE_S / LOOK_S)):
        now = pids(gate, check=False)
        if len(now) == 2 and now[name] != old:
            return now[name]
        select.select([], [], [], LOOK_S)
    pytest.fail(f"{name} did not come back")


@pytest.mark.parametrize("name", ["gate", "execd"])
def test_a_killed_child_is_replaced_and_the_other_goes_on(
    home: Path, new_gate: NewGate, name: str
) -> None:
    gate = new_gate(Home(home))
    before = pids(gate)
    os.kill(before[name], 9)
    assert replaced(gate, name, before[name])
    other = {"gate": "execd", "execd": "gate"}[name]
    assert pids(gate)[other] == before[other]


def test_a_killed_supervisor_leaves_no_gate_and_no_execd(
    home: Path, new_gate: NewGate
) -> None:
    gate = new_gate(Home(home))
    fds = [os.pidfd_open(pid) for pid in pids(gate).values()]
    assert len(fds) == 2
    os.kill(gate.pid, 9)
    for fd in fds:
        ready, _, _ = select.select([fd], [], [], PATIENCE_S)
        assert ready
        os.close(fd)
    gate.kill()
