"""What two actions at once share of the host tells neither of the other."""

from __future__ import annotations

import errno
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.jobs import Jobs

# The files of the host that both use, in one order, and time for both to be there.
PRELUDE = """\
import fcntl, os, stat, sys, time
names = sorted(n for n in os.listdir("/usr/bin") if os.path.isfile("/usr/bin/" + n))
files = [open("/usr/bin/" + n, "rb") for n in names[:72]]
def meet():
    print("here", flush=True)
    time.sleep(1.5)
"""


def both(jobs: Jobs, first: str, second: str) -> tuple[bytes, bytes]:
    """What each printed, when they ran at the same time."""
    started = [jobs.submit(PRELUDE + dedent(code)) for code in (first, second)]
    for job in started:
        jobs.wait_started(job)
    assert not any(jobs.has(job) for job in started)
    done = [jobs.wait(job) for job in started]
    assert [d.stderr for d in done] == [b"", b""]
    return done[0].stdout, done[1].stdout


def test_claim_10_no_word_passes_by_locks_of_shared_files(jobs: Jobs) -> None:
    send = """
        for i, file in enumerate(files):
            if b"neighbour"[i // 8] >> i % 8 & 1:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    print("LEAK locked")
                except OSError:
                    pass
        meet()
        """
    receive = """
        time.sleep(0.7)
        bits = 0
        for i, file in enumerate(files):
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                bits |= 1 << i
        print(bits.to_bytes(9, "little"))
        meet()
        """
    sent, received = both(jobs, send, receive)
    assert sent == b"here\n"
    assert received == f"{bytes(9)!r}\nhere\n".encode()


def test_claim_10_nobody_hears_what_another_opens(jobs: Jobs) -> None:
    listen = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_NONBLOCK)
        libc.inotify_add_watch(watch, b"/usr/bin", 0xfff)
        meet()
        try:
            print("LEAK", len(os.read(watch, 4096)))
        except OSError as error:
            print("deaf", watch)
        """
    use = """
        time.sleep(0.5)
        for name in names[:72]:
            open("/usr/bin/" + name, "rb").read(1)
        meet()
        """
    heard, _ = both(jobs, listen, use)
    assert heard == b"here\ndeaf -1\n"


def test_claim_10_no_mark_stays_on_what_a_later_action_sees(jobs: Jobs) -> None:
    places = ["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/usr/bin/env"]
    look = f"import os; print([os.stat(p).st_mtime_ns for p in {places}])"
    before = [Path(place).stat().st_mtime_ns for place in places]
    assert jobs.run(look).stdout.decode().strip() == str(before)
    mark = f"""
        import os
        for place in {places}:
            try:
                os.utime(place)
            except OSError as error:
                print(error.errno)
        """
    refused = f"{errno.EROFS}\n".encode()
    assert jobs.run(dedent(mark)).stdout == refused * len(places)
    assert jobs.run(look).stdout.decode().strip() == str(before)


SQLITE = """\
import multiprocessing, sqlite3
def add(n):
    base = sqlite3.connect("/work/x.db", timeout=20)
    with base:
        base.execute("insert into t values (?)", (n,))
    base.close()
if __name__ == "__main__":
    base = sqlite3.connect("/work/x.db")
    print(base.execute("pragma journal_mode=MODE").fetchone()[0])
    base.execute("create table t (n)")
    base.commit()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=add, args=(n,)) for n in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    print(base.execute("select sum(n) from t").fetchone()[0])
"""


@pytest.mark.parametrize("mode", ["delete", "wal", "truncate"])
def test_record_locks_work_in_an_actions_own_files(mode: str, jobs: Jobs) -> None:
    done = jobs.run(SQLITE.replace("MODE", mode), wall_ms=30_000)
    assert (done.stdout, done.stderr) == (f"{mode}\n6\n".encode(), b"")


USES = """\
import tempfile, subprocess, multiprocessing, mmap, threading, asyncio, selectors
import concurrent.futures, dbm.dumb, shelve, logging.handlers, mailbox, zipfile
with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
    file.write(b"x")
    shelve.open(folder + "/s")["a"] = 1
    box = mailbox.mbox(folder + "/m"); box.lock(); box.add("x"); box.unlock()
assert subprocess.check_output(["/bin/sh", "-c", "echo x"]) == b"x\\n"
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ThreadPoolExecutor(2) as threads:
    assert list(threads.map(abs, [-1])) == [1]
queue = multiprocessing.get_context("fork").Queue()
queue.put(1)
assert queue.get() == 1
async def main():
    process = await asyncio.create_subprocess_exec("/bin/true")
    await process.wait()
asyncio.run(main())
import numpy, sympy
assert numpy.ones(3).sum() == 3 and sympy.sqrt(4) == 2
numpy.save("/work/a.npy", numpy.ones(9))
assert numpy.load("/work/a.npy", mmap_mode="r").sum() == 9
print("all work")
"""


def test_what_the_library_uses_needs_none_of_it(jobs: Jobs) -> None:
    done = jobs.run(USES, wall_ms=60_000, cpu_ms=60_000)
    assert (done.stdout, done.stderr) == (b"all work\n", b"")
