"""What an action reads and writes: standard input whole, output by head and tail."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.support.jobs import NONE, Jobs

KIB, MIB = 1 << 10, 1 << 20


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
