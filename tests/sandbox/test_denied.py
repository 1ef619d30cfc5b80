"""A filter around the executor denies one call: which layer says so, and its cure.

What a kernel lacks is taken away in test_layers.py; here a profile is stricter than the
sandbox needs, as those of containers are.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox import layers, test_layers
from tests.sandbox.test_layers import deny
from tests.support.execd_client import BUILD, Execd, write_home

PERMISSION = "Operation not permitted"


@dataclass(frozen=True, slots=True)
class Case:
    """The layer that needs the call, the rule, the call as the cure has it."""

    layer: str
    rule: str
    call: str
    said: str  # what could not be done
    error: str = f": {PERMISSION}"


CASES = [
    # fork of the C library is clone without a namespace, neither fork(2) nor vfork(2)
    Case("process-tree", "56 0&0x01000000", "clone (fork)", "fork"),
    Case("process-tree", "62", "kill", "kill"),
    Case("process-tree", "112", "setsid", "setsid"),
    Case("process-tree", "141", "setpriority", "setpriority"),
    Case("process-tree", "289", "signalfd4", "signalfd"),
    Case("process-tree", "434", "pidfd_open", "pidfd_open"),
    Case("process-tree", "157 0=1", "PR_SET_PDEATHSIG", "PR_SET_PDEATHSIG"),
    Case(
        "process-tree", "157 0=36", "PR_SET_CHILD_SUBREAPER", "PR_SET_CHILD_SUBREAPER"
    ),
    # told by an exit status, which has no room for errno
    Case("capabilities", "116", "setgroups", "take ids 0 inside", ""),
    Case("capabilities", "117", "setresuid", "take ids 0 inside", ""),
    Case("capabilities", "119", "setresgid", "take ids 0 inside", ""),
    Case("capabilities", "157 0=23", "PR_CAPBSET_READ", "PR_CAPBSET_READ"),
    Case("capabilities", "157 0=47", "PR_CAP_AMBIENT", "PR_CAP_AMBIENT"),
    Case("uts-namespace", "170", "sethostname", "sethostname"),
    Case("mounts", "166", "umount2", "umount /box"),
    Case("mounts", "428", "open_tree", "open_tree /usr"),
    Case("mounts", "429", "move_mount", "move_mount /usr"),
    Case("mounts", "437", "openat2", "open_tree /usr"),
    Case("landlock", "445", "landlock_*", "add_rule /usr"),
    Case("descriptors", "72 1=0", "fcntl", "place descriptors"),
    Case("descriptors", "33", "dup2", "place descriptors"),
    Case("descriptors", "293", "pipe2", "pipe2"),
    Case("canary", "50", "on loopback", "listen on loopback"),
]


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{c.layer}-{c.rule.replace(' ', '_')}" for c in CASES]
)
def test_claim_10_a_denied_call_is_told_by_its_layer_with_the_cure_that_names_it(
    case: Case, tmp_path: Path
) -> None:
    cure = layers.cures()[case.layer]
    with Execd(write_home(tmp_path / "home", slots=1), wrap=deny(case.rule)) as execd:
        text = execd.wait_refused()
    assert text == f"{case.layer}: {case.said}{case.error}; {cure}"
    assert case.call in cure


@pytest.mark.parametrize("rule", ["57", "58"], ids=["fork", "vfork"])
def test_claim_10_a_call_that_no_cure_names_may_be_denied(
    rule: str, tmp_path: Path
) -> None:
    with Execd(write_home(tmp_path / "home", slots=1), wrap=deny(rule)) as execd:
        execd.wait_ready()
        jobs = execd.connect()
        jobs.wait_ready()
        done = jobs.run("import os\nif os.fork(): os.wait()\nelse: print('child')")
    assert (done.stdout, done.code) == (b"child\n", 0)


def test_claim_10_an_executor_without_its_slot_program_says_where_it_belongs(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(BUILD / "bin" / "warded-execd", folder / "warded-execd")
    with Execd(write_home(tmp_path / "home", slots=1), programs=folder) as execd:
        text = execd.wait_refused()
    assert text.startswith(f"descriptors: {folder}/warded-slot: No such file")
    assert text.endswith(f"; {layers.cures()['descriptors']}")
    assert "beside warded-execd" in text


def test_claim_10_each_mandatory_layer_is_taken_away_by_a_test() -> None:
    taken = {case.layer for case in CASES} | {case.layer for case in test_layers.CASES}
    assert layers.mandatory() - taken == {"interpreter"}  # which test_layers.py removes


def test_claim_10_each_layer_of_the_table_is_told_by_the_executor(
    tmp_path: Path,
) -> None:
    with Execd(write_home(tmp_path / "home", slots=1)) as execd:
        execd.wait_ready()
        told = [layer.name for layer in execd.connect().wait_ready().layers]
    assert told == [name for name, _, _ in layers.rows()]
    assert len(layers.rows()) > 20
