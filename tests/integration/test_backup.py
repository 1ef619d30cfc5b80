"""Backups of a store that is being written: each restores to a trail that verifies."""

from __future__ import annotations

import contextlib
import select
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.calls import OBSERVE, WHO, batch
from tests.support.gate import Home, program, run
from tests.support.raw_client import RawClient
from tests.support.store import Store, new_store
from tests.support.stub_gate import LOOK_S, StubGate

CLIENTS = 4
SEGMENT_BYTES = "400000"
ROWS = 12_000  # more pages than SQLite's backup copies in one step
Backup = Callable[[Path, Path], None]


def by_tokctl(store: Path, to: Path) -> None:
    """Our own."""
    run(program("tokctl"), "--db", store, "db", "backup", to)


def by_api(store: Path, to: Path) -> None:
    """SQLite's backup, by another process's SQLite; then what is sealed."""
    to.mkdir(mode=0o700)
    with (
        contextlib.closing(sqlite3.connect(store / "store.db")) as source,
        contextlib.closing(sqlite3.connect(to / "store.db")) as made,
    ):
        source.backup(made)
    copy_segments(store, to)


def by_vacuum(store: Path, to: Path) -> None:
    """VACUUM INTO; then what is sealed."""
    to.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(store / "store.db")) as source:
        source.execute("VACUUM INTO ?", (str(to / "store.db"),))
    with contextlib.closing(sqlite3.connect(to / "store.db")) as made:
        made.execute("PRAGMA journal_mode = WAL")
    copy_segments(store, to)


def copy_segments(store: Path, to: Path) -> None:
    """After the database: what is sealed meanwhile is in both."""
    (to / "store.db").chmod(0o600)
    if (store / "audit").is_dir():
        unmade = shutil.ignore_patterns("new.db*")
        shutil.copytree(store / "audit", to / "audit", ignore=unmade)
        (to / "audit").chmod(0o700)


WAYS: dict[str, Backup] = {"tokctl": by_tokctl, "api": by_api, "vacuum": by_vacuum}


def wait_until(what: Callable[[], bool]) -> None:
    """Look until it is so."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        select.select([], [], [], LOOK_S)


def lines(heads: Path) -> str:
    """Those that are whole: acknowledged rows."""
    return heads.read_text().rpartition("\n")[0] + "\n"


def wait_for_more(heads: Path, seen: Path) -> None:
    """The writer goes on."""
    wait_until(lambda: lines(heads) != seen.read_text())


def sound(copy: Path, heads: Path) -> None:
    """It verifies, with each head that was seen before it was begun."""
    told = Store(copy).json("audit", "verify", "--witness", str(heads))
    assert told["ok"]
    assert told["witnessed"] == len(heads.read_text().splitlines())


@contextlib.contextmanager
def writing(store: Store, heads: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Rows without end, sealed meanwhile; the heads that acknowledge them."""
    command = [str(program("store_rows")), str(store.path), "run", SEGMENT_BYTES]
    with heads.open("wb") as out, subprocess.Popen(command, stdout=out) as writer:
        try:
            yield writer
        finally:
            writer.kill()


def test_claim_09_a_backup_while_rows_are_written_and_sealed_verifies(
    tmp_path: Path,
) -> None:
    store, heads = new_store(tmp_path / "store"), tmp_path / "heads"
    with writing(store, heads) as writer:
        wait_until(lambda: lines(heads).count("\n") > ROWS)
        for name, backup in WAYS.items():
            seen = tmp_path / f"heads-{name}"
            seen.write_text(lines(heads))
            backup(store.path, tmp_path / name)
            wait_for_more(heads, seen)
            assert writer.poll() is None
    for name in WAYS:
        assert list((tmp_path / name / "audit").glob("*-*.db"))
        sound(tmp_path / name, tmp_path / f"heads-{name}")


class Load:
    """Clients that call without a pause, and keep the heads of their replies."""

    def __init__(self, profile: Path) -> None:
        self.heads: dict[int, str] = {}
        self._profile = profile
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call) for _ in range(CLIENTS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        with RawClient(self._profile) as raw:
            while not self._stop.is_set():
                reply = raw.call(OBSERVE, batch("a"))
                assert reply.code == 0
                self.heads[reply.head.seq] = reply.head.hash.hex()

    def wait_for(self, more: int) -> None:
        """So many replies more."""
        enough = len(self.heads) + more
        wait_until(lambda: len(self.heads) >= enough)

    def write(self, path: Path) -> None:
        """A witness's file."""
        seen = dict(self.heads)
        path.write_text("".join(f"{seq} {seen[seq]}\n" for seq in seen))


def serve(home: Home, copy: Path) -> None:
    """Restored: the gate runs on it, and the chain goes on."""
    shutil.rmtree(home.store)
    copy.rename(home.store)
    run("chown", "-R", "warded", home.store)
    with StubGate(home), RawClient(home.path / "profile/trainer") as raw:
        assert raw.call(WHO).code == 0
    home.tokctl("audit", "verify")


def test_claim_09_a_backup_of_a_gate_under_load_restores_and_serves(
    stub: StubGate, tmp_path: Path
) -> None:
    home = stub.home
    with Load(home.path / "profile/trainer") as load:
        for name, backup in WAYS.items():
            load.wait_for(50)
            load.write(tmp_path / f"heads-{name}")
            backup(home.store, tmp_path / name)
    stub.close()
    for name in WAYS:
        sound(tmp_path / name, tmp_path / f"heads-{name}")
        serve(home, tmp_path / name)
