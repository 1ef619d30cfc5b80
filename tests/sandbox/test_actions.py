"""What an action is to Python: exits, signals, tracebacks, what models write."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

import pytest

from tests.support.jobs import ENDED, NONE, Jobs


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
    "main_module": Ending(
        "import sys; print(__name__, sys.argv)", out=b"__main__ ['<action>']\n"
    ),
    "main_guard": Ending("if __name__ == '__main__': print('main')", out=b"main\n"),
    "work_folder": Ending(
        "import os; print(os.getcwd(), os.listdir())", out=b"/work []\n"
    ),
    "own_module": Ending(
        "open('helper.py', 'w').write('x = 5')\nimport helper\nprint(helper.x)",
        out=b"5\n",
    ),
    "windows_lines": Ending("a = 1\r\nif a:\r\n    print(a)\r\n", out=b"1\n"),
    "encoding_cookie": Ending("# -*- coding: utf-8 -*-\nprint('é')", out=b"\xc3\xa9\n"),
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
    "eval": (
        'eval("1/0")\n',
        """\
        Traceback (most recent call last):
          File "<action>", line 1, in <module>
            eval("1/0")
            ~~~~^^^^^^^
          File "<string>", line 1, in <module>
        ZeroDivisionError: division by zero
        """,
    ),
    "exec": (
        'exec("\\n" * 41 + "1/0")\n',
        """\
        Traceback (most recent call last):
          File "<action>", line 1, in <module>
            exec("\\n" * 41 + "1/0")
            ~~~~^^^^^^^^^^^^^^^^^^^
          File "<string>", line 42, in <module>
        ZeroDivisionError: division by zero
        """,
    ),
    "no_hook": (
        """\
        import sys
        sys.excepthook = None
        1/0
        """,
        """\
        Error in sys.excepthook:
        TypeError: 'NoneType' object is not callable

        Original exception was:
        Traceback (most recent call last):
          File "<action>", line 3, in <module>
            1/0
            ~^~
        ZeroDivisionError: division by zero
        """,
    ),
    "failing_hook": (
        """\
        import sys
        def hook(*error):
            {}["k"]
        sys.excepthook = hook
        1/0
        """,
        """\
        Error in sys.excepthook:
        Traceback (most recent call last):
          File "<action>", line 3, in hook
            {}["k"]
            ~~^^^^^
        KeyError: 'k'

        Original exception was:
        Traceback (most recent call last):
          File "<action>", line 5, in <module>
            1/0
            ~^~
        ZeroDivisionError: division by zero
        """,
    ),
}


@pytest.mark.parametrize("name", TRACEBACKS)
def test_claim_11_tracebacks_show_lines_of_the_action_only(
    name: str, jobs: Jobs
) -> None:
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
        "import tempfile as t\nwith t.NamedTemporaryFile() as f: print(f.name[:5])",
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
