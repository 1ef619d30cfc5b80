"""What an action sees and what is told of it: exits, tracebacks, input, output, limits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from textwrap import dedent

import pytest

from tests.support.execd_client import (
    CPU,
    ENDED,
    FAILED,
    MEMORY,
    NONE,
    NOT_STARTED,
    PIDS,
    REFUSED,
    WALL,
    Jobs,
)

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class Ending:
    """Code, and how the kernel says that it ended."""

    code: str
    exit: int | None = 0
    signal: int = 0
    out: bytes = b""
    err: bytes = b""


ENDINGS = {
    "falls_off": Ending("pass"),
    "exit_0": Ending("import sys; sys.exit(0)"),
    "exit_none": Ending("import sys; sys.exit(None)"),
    "exit_3": Ending("import sys; sys.exit(3)", 3),
    "exit_256_is_0": Ending("import sys; sys.exit(256)", 0),
    "exit_minus_1_is_255": Ending("import sys; sys.exit(-1)", 255),
    "exit_text": Ending("import sys; sys.exit('why')", 1, err=b"why\n"),
    "raise_system_exit": Ending("raise SystemExit(4)", 4),
    "exit_137_is_no_kill": Ending("import os; os._exit(137)", 137),
    "exit_124_is_no_timeout": Ending("import os; os._exit(124)", 124),
    "kills_itself": Ending("import os; os.kill(os.getpid(), 9)", None, 9),
    "terminates_itself": Ending("import os; os.kill(os.getpid(), 15)", None, 15),
    "cpu_signal_of_its_own": Ending("import os; os.kill(os.getpid(), 24)", None, 24),
    "segfault": Ending("import ctypes; ctypes.string_at(0)", None, 11),
    "abort": Ending("import os; os.abort()", None, 6),
    "interrupt": Ending(
        "raise KeyboardInterrupt",
        None,
        2,
        err=b"Traceback (most recent call last):\n"
        b'  File "<action>", line 1, in <module>\n'
        b"    raise KeyboardInterrupt\nKeyboardInterrupt\n",
    ),
    "atexit_runs": Ending("import atexit; atexit.register(print, 'bye')", out=b"bye\n"),
    "threads_are_awaited": Ending(
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(.05), print('t'))).start()",
        out=b"t\n",
    ),
    "main_module": Ending("print(__name__, __import__('sys').argv)", out=b"__main__ ['<action>']\n"),
    "main_guard": Ending("if __name__ == '__main__': print('main')", out=b"main\n"),
    "work_folder": Ending("import os; print(os.getcwd(), os.listdir())", out=b"/work []\n"),
    "own_module": Ending(
        "open('helper.py', 'w').write('x = 5')\nimport helper\nprint(helper.x)",
        out=b"5\n",
    ),
    "windows_lines": Ending("a = 1\r\nif a:\r\n    print(a)\r\n", out=b"1\n"),
    "encoding_cookie": Ending("# -*- coding: utf-8 -*-\nprint('é')", out="é\n".encode()),
    "empty": Ending(""),
}  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS.keys())
def test_claim_11_exit_codes_and_signals_are_the_kernels(
    ending: Ending, jobs: Jobs
) -> None:
    done = jobs.run(ending.code)
    assert (done.outcome, done.cause) == (ENDED, NONE)
    assert (done.code, done.signal) == (ending.exit, ending.signal)
    assert (done.stdout, done.stderr) == (ending.out, ending.err)


TRACEBACKS = {
    "nested": (
        """\
        def f(x):
            return 1 / x

        f(0)
        """,
        """\
        Traceback (most recent call last):
          File "<action>", line 4, in <module>
            f(0)
            ~^^^
          File "<action>", line 2, in f
            return 1 / x
                   ~~^~~
        ZeroDivisionError: division by zero
        """,
    ),
    "syntax": (
        "print(1\n",
        """\
          File "<action>", line 1
            print(1
                 ^
        SyntaxError: '(' was never closed
        """,
    ),
    "chained": (
        """\
        try:
            {}["k"]
        except KeyError as error:
            raise ValueError("bad") from error
        """,
        """\
        Traceback (most recent call last):
          File "<action>", line 2, in <module>
            {}["k"]
            ~~^^^^^
        KeyError: 'k'

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "<action>", line 4, in <module>
            raise ValueError("bad") from error
        ValueError: bad
        """,
    ),
    "group": (
        'raise ExceptionGroup("g", [ValueError(1)])\n',
        """\
          + Exception Group Traceback (most recent call last):
          |   File "<action>", line 1, in <module>
          |     raise ExceptionGroup("g", [ValueError(1)])
          | ExceptionGroup: g (1 sub-exception)
          +-+---------------- 1 ----------------
            | ValueError: 1
            +------------------------------------
        """,
    ),
}


@pytest.mark.parametrize("name", TRACEBACKS)
def test_claim_11_tracebacks_show_lines_of_the_action_only(name: str, jobs: Jobs) -> None:
    code, expected = TRACEBACKS[name]
    code = dedent(code)
    margin = " " * 8 if expected.startswith(" " * 8) else ""
    expected = "".join(line.removeprefix(margin) for line in expected.splitlines(True))
    done = jobs.run(code)
    assert done.code == 1
    assert done.stderr.decode() == expected


def test_claim_11_a_null_byte_is_a_syntax_error_of_the_action(jobs: Jobs) -> None:
    done = jobs.run(b"print(1)\0")
    assert done.code == 1
    assert b"SyntaxError: source code" in done.stderr
    assert b"runner" not in done.stderr


def test_claim_11_an_excepthook_of_the_action_is_used(jobs: Jobs) -> None:
    done = jobs.run("import sys\nsys.excepthook = lambda *e: print(e[0])\n1/0\n")
    assert (done.stdout, done.stderr) == (b"<class 'ZeroDivisionError'>\n", b"")
    assert done.code == 1


# --- input -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, MIB])
def test_claim_11_stdin_is_given_and_then_ends(size: int, jobs: Jobs) -> None:
    data = bytes(i % 251 for i in range(size))
    code = (
        "import hashlib, sys\nd = sys.stdin.buffer.read()\n"
        "print(len(d), sum(d), sys.stdin.buffer.read())"
    )
    done = jobs.run(code, data)
    assert done.stdout == f"{size} {sum(data)} b''\n".encode()


def test_claim_11_input_of_an_absent_line_is_an_eof_error(jobs: Jobs) -> None:
    done = jobs.run("print(input() + input())\ninput()", b"a\nb\n")
    assert done.stdout == b"ab\n"
    assert done.stderr.endswith(b"EOFError: EOF when reading a line\n")


def test_claim_11_stdin_can_not_be_written_or_grown(jobs: Jobs) -> None:
    code = """
        import os
        for attempt in (lambda: os.write(0, b"x"), lambda: os.ftruncate(0, 100)):
            try:
                attempt()
                print("LEAK")
            except OSError:
                print("held")
        """
    done = jobs.run(dedent(code), b"12345")
    assert done.stdout == b"held\nheld\n"


# --- output ------------------------------------------------------------------------------


def pattern(size: int) -> bytes:
    return bytes(33 + i % 89 for i in range(size))


MAKE = "data = bytes(33 + i % 89 for i in range({size}))\nimport os\n"


@pytest.mark.parametrize("limit", [KIB, KIB + 1, 64 * KIB])
@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("stream", ["out", "err"])
def test_claim_11_output_is_whole_up_to_the_limit_then_head_and_tail(
    stream: str, over: int, limit: int, jobs: Jobs
) -> None:
    size = limit + over
    code = MAKE.format(size=size) + f"os.write({1 if stream == 'out' else 2}, data)"
    done = jobs.run(code, output_bytes=limit)
    output = done.out if stream == "out" else done.err
    assert output.original == size
    if over <= 0:
        assert (output.data, output.head, output.tail) == (pattern(size), size, 0)
        return
    head, tail = limit - limit // 2, limit // 2
    assert (output.head, output.tail) == (head, tail)
    assert output.data == pattern(size)[:head] + pattern(size)[-tail:]


def test_claim_11_a_megabyte_keeps_its_first_and_last_bytes(jobs: Jobs) -> None:
    size = MIB
    done = jobs.run(MAKE.format(size=size) + "os.write(1, data)")
    assert (done.out.original, len(done.stdout)) == (size, 64 * KIB)
    assert done.stdout == pattern(size)[: 32 * KIB] + pattern(size)[-32 * KIB :]
    assert done.cause == NONE


def test_claim_11_streams_are_kept_apart(jobs: Jobs) -> None:
    code = "import sys\nprint('o')\nprint('e', file=sys.stderr)\n"
    done = jobs.run(code)
    assert (done.stdout, done.stderr) == (b"o\n", b"e\n")


# --- limits ------------------------------------------------------------------------------


def test_claim_11_a_timeout_keeps_what_was_printed(jobs: Jobs) -> None:
    code = "import time\nprint('begun', flush=True)\ntime.sleep(60)\n"
    done = jobs.run(code, wall_ms=1500)
    assert (done.cause, done.signal, done.stdout) == (WALL, 9, b"begun\n")
    assert 1_500_000 <= done.run_us < 3_500_000


def test_claim_11_the_deadline_of_the_call_comes_before_a_longer_limit(
    jobs: Jobs,
) -> None:
    end = int(time.monotonic() * 1000) + 400
    done = jobs.run("while True: pass", end_by_ms=end)
    assert (done.cause, done.signal) == (WALL, 9)
    assert time.monotonic() * 1000 < end + 2000


def test_claim_11_processor_time_is_summed_over_processes(jobs: Jobs) -> None:
    code = "import os\nos.fork()\nos.fork()\nwhile True: pass\n"
    done = jobs.run(code, cpu_ms=600, wall_ms=30_000)
    assert (done.cause, done.signal) == (CPU, 9)
    assert done.leftovers == 3


def test_claim_11_memory_is_said_to_be_what_ended_it(jobs: Jobs) -> None:
    done = jobs.run("x = b'x' * (300 << 20)", memory_bytes=64 * MIB)
    assert (done.cause, done.signal) == (MEMORY, 9)


def test_claim_11_processes_are_said_to_be_what_failed_it(jobs: Jobs) -> None:
    code = "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)\n"
    done = jobs.run(code, pids=8)
    assert (done.cause, done.code) == (PIDS, 1)
    assert done.leftovers == 7
    assert b"BlockingIOError" in done.stderr


def test_claim_11_as_many_processes_as_allowed_can_run(jobs: Jobs) -> None:
    code = """
        import os
        ends = os.pipe()
        for _ in range(7):
            if os.fork() == 0:
                os.read(ends[0], 1)
                os._exit(0)
        os.write(ends[1], b"1234567")
        print(sum(os.wait()[1] == 0 for _ in range(7)))
        """
    done = jobs.run(dedent(code), pids=8)
    assert (done.stdout, done.cause, done.code) == (b"7\n", NONE, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wall_ms", 600_001),
        ("cpu_ms", 600_001),
        ("memory_bytes", 5 << 30),
        ("pids", 5000),
        ("files_bytes", 2 << 30),
        ("output_bytes", 9 * MIB),
    ],
)
def test_claim_11_a_limit_above_its_maximum_is_refused(
    name: str, value: int, jobs: Jobs
) -> None:
    done = jobs.run("print('ran')", **{name: value})
    assert (done.outcome, done.stdout) == (REFUSED, b"")
    assert f"limits.{name} is above sandbox.maxima.{name}" in done.message


def test_claim_11_an_unknown_tool_is_refused(jobs: Jobs) -> None:
    done = jobs.run("print('ran')", tool="fortran")
    assert (done.outcome, done.message) == (REFUSED, "no tool is called fortran")


def test_claim_11_too_little_memory_for_the_interpreter_is_memory_or_failure(
    jobs: Jobs,
) -> None:
    done = jobs.run("print('ran')", memory_bytes=2 * MIB)
    assert (done.outcome, done.cause) == (ENDED, MEMORY) or done.outcome == FAILED
    assert jobs.run("print(1)").stdout == b"1\n"


# --- order and time ------------------------------------------------------------------------


def test_claim_11_two_slots_run_two_actions_at_once(jobs: Jobs) -> None:
    both = [jobs.submit("import time; time.sleep(0.4)") for _ in range(2)]
    for job in both:
        jobs.wait_started(job)
    assert not any(jobs.has(job) for job in both)
    assert all(jobs.wait(job).code == 0 for job in both)


def test_claim_11_queue_and_run_time_are_told_apart(jobs: Jobs) -> None:
    busy = [jobs.submit("import time; time.sleep(0.4)") for _ in range(2)]
    last = jobs.submit("pass")
    done = jobs.wait(last)
    assert done.queue_us >= 350_000
    assert all(jobs.wait(job).queue_us < done.queue_us for job in busy)


def test_claim_11_what_did_not_start_in_time_does_not_start(jobs: Jobs) -> None:
    busy = [jobs.submit("import time; time.sleep(0.6)") for _ in range(2)]
    start_by = int(time.monotonic() * 1000) + 200
    late = jobs.wait(jobs.submit("print('ran')", start_by_ms=start_by))
    assert (late.outcome, late.stdout) == (NOT_STARTED, b"")
    assert not any(jobs.has(job) for job in busy)
    for job in busy:
        assert jobs.wait(job).code == 0


# --- what models use ---------------------------------------------------------------------


USES = {
    "numpy": ("import numpy as n\nprint(n.linalg.det(n.eye(3)))", b"1.0\n"),
    "sympy": (
        "import sympy as s\nx = s.symbols('x')\nprint(s.integrate(x**2, x))",
        b"x**3/3\n",
    ),
    "fractions": ("from fractions import *\nprint(Fraction(1, 3) * 3)", b"1\n"),
    "subprocess": (
        "import subprocess\nprint(subprocess.check_output(['echo', 'x'], text=True))",
        b"x\n\n",
    ),
    "shell": ("import os; os.system('echo $HOME $PATH')", b"/work /usr/bin:/bin\n"),
    "pool": (
        "from concurrent.futures import ProcessPoolExecutor as P\n"
        "import multiprocessing as m\n"
        "with P(2, m.get_context('fork')) as p: print(sum(p.map(abs, range(4))))",
        b"6\n",
    ),
    "asyncio": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 3\n"
        "print(asyncio.run(f()))",
        b"3\n",
    ),
    "tempfile": (
        "import tempfile\nwith tempfile.NamedTemporaryFile() as f:\n    print(f.name[:5])",
        b"/tmp/\n",
    ),
    "sqlite": (
        "import sqlite3\nprint(sqlite3.connect('a.db').execute('select 1').fetchone())",
        b"(1,)\n",
    ),
    "dataclass_pickle": (
        "import pickle, dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\n"
        "print(pickle.loads(pickle.dumps(A(1))))",
        b"A(x=1)\n",
    ),
    "source_of_a_function": (
        "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
        b"def f():\n    return 1\n\n",
    ),
    "unicode": ("print('∑ é 漢字')", "∑ é 漢字\n".encode()),
}


@pytest.mark.parametrize("name", USES)
def test_claim_11_everyday_code_works_within_the_default_limits(
    name: str, jobs: Jobs
) -> None:
    code, expected = USES[name]
    done = jobs.run(code)
    assert (done.stdout, done.stderr, done.code) == (expected, b"", 0)
