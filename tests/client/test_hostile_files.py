"""Files that others may have put where a client looks: it neither waits nor fills."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import v1
from warded._callid import GateClock, SystemClock
from warded._renew import Renewal, Span
from warded._witness import Witness

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]
Put = Callable[[Path], None]

READ_S = 60
GIB = 1 << 30

# What a process with a GiB of memory reads of PROFILE/expires.
READ = """
import resource, sys
from pathlib import Path
from warded._callid import GateClock, SystemClock
from warded._renew import Renewal
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
print(Renewal(Path(sys.argv[1]), GateClock(SystemClock()), lambda: 0)._read())
"""
# What it does with a head to note, where something stands in its file's place.
NOTE = """
import os, sys
from pathlib import Path
from warded._callid import SystemClock
from warded._witness import Witness
folder = Path(sys.argv[1]) / "warded/heads/chain"
folder.mkdir(parents=True)
os.mkfifo(folder / f"{os.getpid()}.heads")
Witness("chain", SystemClock()).note(1, bytes(32))
print(*[p.is_fifo() for p in folder.iterdir()])
"""


def zeros(path: Path) -> None:
    """A device that never ends."""
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    """Eight GiB, of which none is on the disk."""
    path.touch()
    os.truncate(path, 8 * GIB)


def told(program: str, folder: Path, **env: str) -> str:
    """What a Python of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=READ_S,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, zeros, huge])
def test_an_expires_that_is_no_small_file_is_as_none(tmp_path: Path, put: Put) -> None:
    put(tmp_path / "expires")
    assert told(READ, tmp_path) == "None"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("5 9\n", Span(5, 9)),
        ("9 5\n", None),
        ("5\n", None),
        ("", None),
        ("5 x\n", None),
        (f"5 9{' ' * 61}", Span(5, 9)),
        (f"5 9{' ' * 62}", None),
        ("\u0665 \u0669\n", None),
    ],
)
def test_expires_is_two_numbers_in_at_most_64_bytes(
    tmp_path: Path, text: str, span: Span | None
) -> None:
    (tmp_path / "expires").write_text(text)
    assert Renewal(tmp_path, GateClock(SystemClock()), lambda: 0)._read() == span


def test_an_expires_that_cannot_be_replaced_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    (tmp_path / "expires").mkdir()
    renewal = Renewal(tmp_path, GateClock(SystemClock()), lambda: 0)
    assert not renewal._write(Span(1, 2))
    assert [p.name for p in tmp_path.iterdir()] == ["expires"]


def test_a_pipe_in_place_of_a_witness_is_not_waited_for(tmp_path: Path) -> None:
    assert told(NOTE, tmp_path, XDG_STATE_HOME=str(tmp_path)) == "True"


def test_a_pipe_in_place_of_a_witness_is_not_waited_for_by_c(
    start: Start, profile_of: ProfileOf, state_home: Path
) -> None:
    profile = profile_of(start())
    with calling(profile) as caller:
        assert caller.check().reason == "ok"
    (chain,) = (state_home / "warded/heads").iterdir()
    with calling(profile) as caller:
        os.mkfifo(chain / f"{caller._process.pid}.heads")
        assert caller.check().reason == "ok"


@pytest.mark.parametrize("others", [62, 63, 64, 70])
def test_the_oldest_witnesses_beyond_64_make_room(
    state_home: Path, others: int
) -> None:
    chain = state_home / "warded/heads/chain"
    chain.mkdir(parents=True)
    for i in range(others):
        (chain / f"x{i}.heads").touch()
        os.utime(chain / f"x{i}.heads", (i, i))
    Witness("chain", SystemClock()).note(1, bytes(32))
    kept = {f"x{i}.heads" for i in range(max(0, others - 63), others)}
    assert {p.name for p in chain.iterdir()} == kept | {f"{os.getpid()}.heads"}


@pytest.mark.parametrize("lines", [4000, 40_000])
def test_a_witness_that_has_grown_keeps_its_first_and_newest_heads(
    state_home: Path, lines: int
) -> None:
    chain = state_home / "warded/heads/chain"
    chain.mkdir(parents=True)
    file = chain / f"{os.getpid()}.heads"
    file.write_text("".join(f"{i} {'07' * 32}\n" for i in range(1, lines + 1)))
    os.mkfifo(file.with_suffix(".tmp"))
    Witness("chain", SystemClock()).note(lines + 1, b"\7" * 32)
    kept = [line.split() for line in file.read_text().splitlines()]
    assert {digest for _, digest in kept} == {"07" * 32}
    assert kept[0][0] == "1"
    newest = [int(seq) for seq, _ in kept[1:]]
    assert newest == list(range(newest[0], lines + 2))
    assert 120 << 10 < file.stat().st_size < 140 << 10


def test_a_call_with_a_device_for_expires_is_answered(
    start: Start, profile_of: ProfileOf
) -> None:
    profile = profile_of(start())
    (profile / "expires").symlink_to("/dev/zero")
    with warded.connect(profile) as channel:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest())
