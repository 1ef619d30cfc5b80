"""Batches of actions through the real client, gate, store and sandbox."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import warded
from warded.v1 import rpc_wd

from tests.integration.items import cause, item, run, send, status, text

REASON = rpc_wd.Reason

LEAVES_A_CHILD = """import os, time
if os.fork():
    os._exit(3)
time.sleep(30)
"""


def test_claim_11_order_and_length_are_the_requests(trainer: Path) -> None:
    actions = [
        f"import time; time.sleep({0.2 if i % 2 else 0}); print({i})" for i in range(9)
    ]
    items = [item(a, trajectory_id=f"t{i}") for i, a in enumerate(actions)]
    results = send(trainer, *items)
    assert [text(r) for r in results] == [f"{i}\n" for i in range(9)]


def test_claim_11_same_trajectory_runs_in_order_others_beside(trainer: Path) -> None:
    clock = (
        "import time; a = time.monotonic(); time.sleep({}); print(a, time.monotonic())"
    )
    items = [item(clock.format(0.5), trajectory_id=t) for t in ("a", "a", "a")]
    items.append(item(clock.format(1.5), trajectory_id="b"))
    spans = [tuple(map(float, text(r).split())) for r in send(trainer, *items)]
    one, two, three, other = spans
    assert one[1] <= two[0], (
        "the second of a trajectory starts after the first has ended"
    )
    assert two[1] <= three[0]
    beside = [a for a in (one, two, three) if other[0] < a[1] and a[0] < other[1]]
    assert beside, f"both ran at one moment: {spans}"


def test_claim_11_one_failing_item_fails_only_itself(trainer: Path) -> None:
    results = send(
        trainer,
        item("print('a')", trajectory_id="a"),
        item("1 / 0", trajectory_id="b"),
        item("print('c')", trajectory_id="c", tool="no_such_tool"),
        item("print('d')", trajectory_id="d", wall_ms=10**9),
        item("print('e')", trajectory_id="e"),
    )
    assert [status(r) for r in results] == [
        "OK", "TOOL_ERROR", "INVALID_ACTION", "INVALID_ACTION", "OK",
    ]  # fmt: skip
    assert results[2].reason == REASON.TOOL_UNKNOWN
    assert results[3].reason == REASON.FIELD_INVALID
    assert "wall_ms" in results[3].message
    assert [r.valid for r in results] == [True, True, False, False, True]
    outcomes = [warded.read_outcome(r) for r in results]
    for theirs, field in ((outcomes[2], "tool"), (outcomes[3], "limits")):
        assert theirs.result.metadata == {"field": field}
        with pytest.raises(warded.InvalidCall):
            _ = theirs.observation


def test_claim_11_a_named_tool_s_code_is_the_whole_action(trainer: Path) -> None:
    code = "s='<python>print(666)</python>'\nprint(s)"
    assert text(run(trainer, code)) == "<python>print(666)</python>\n"
    block = run(trainer, "<python>print(1)</python>")
    assert (status(block), text(block)) == ("TOOL_ERROR", "")
    assert "SyntaxError" in text(block, "stderr")


@pytest.mark.parametrize(
    ("action", "want_status", "code", "signal"),
    [
        ("import sys; sys.exit(0)", "OK", 0, 0),
        ("import sys; sys.exit(7)", "TOOL_ERROR", 7, 0),
        ("import sys; sys.exit(137)", "TOOL_ERROR", 137, 0),
        ("import sys; sys.exit(256)", "OK", 0, 0),
        ("import os; os._exit(3)", "TOOL_ERROR", 3, 0),
        ("import os; os.abort()", "TOOL_ERROR", 0, 6),
        ("import os; os.kill(os.getpid(), 11)", "TOOL_ERROR", 0, 11),
        ("import os; os.kill(os.getpid(), 9)", "TOOL_ERROR", 0, 9),
        ("raise SystemExit('bye')", "TOOL_ERROR", 1, 0),
        (LEAVES_A_CHILD, "TOOL_ERROR", 3, 0),
    ],
)  # fmt: skip
def test_claim_11_exit_codes_and_signals(
    trainer: Path, action: str, want_status: str, code: int, signal: int
) -> None:
    result = run(trainer, action)
    assert (status(result), result.exit.code, result.exit.signal) == (
        want_status,
        code,
        signal,
    )
    assert cause(result) == "NONE"


def test_claim_11_tracebacks_show_no_frame_of_ours(trainer: Path) -> None:
    """Those of the action and of the libraries that it calls, as Python does."""
    result = run(trainer, "def f(x):\n    return 1 / x\n\nf(0)")
    err = text(result, "stderr")
    assert "ZeroDivisionError" in err
    assert "return 1 / x" in err, "the source line is shown"
    assert "line 2, in f" in err
    assert err.count("File ") == 2, f"two frames of the action, none of ours:\n{err}"
    called = text(run(trainer, "import json\njson.loads('{')"), "stderr")
    files = re.findall(r'File "([^"]+)"', called)
    assert files[0] == "<action>"
    assert files[1:]
    assert all("/json/" in name for name in files[1:]), called


def test_claim_11_stdin_is_read_and_ends(trainer: Path) -> None:
    twice = run(trainer, "print(int(input()) * 2)", stdin=b"21\n")
    assert text(twice) == "42\n"
    empty = run(trainer, "import sys; print(repr(sys.stdin.read()))")
    assert text(empty) == "''\n"
    big = b"x" * (1 << 20)
    assert (
        text(run(trainer, "import sys; print(len(sys.stdin.read()))", stdin=big))
        == "1048576\n"
    )


@pytest.mark.parametrize(
    ("size", "cut"), [(4095, False), (4096, False), (4097, True), (10**6, True)]
)
def test_claim_11_output_is_kept_by_head_and_tail(
    trainer: Path, size: int, cut: bool
) -> None:
    body = "import sys; n = {n}; sys.stdout.write('A' * (n // 2) + 'Z' * (n - n // 2))"
    result = run(trainer, body.format(n=size), output_bytes=4096)
    content = next(c for c in result.content if c.name == "stdout")
    assert status(result) == "OK"
    assert content.HasField("truncation") is cut
    if not cut:
        assert len(content.text) == size
        return
    cutting = content.truncation
    assert cutting.original_bytes == size
    assert cutting.head_bytes > 0
    assert cutting.tail_bytes > 0
    assert len(content.text) == cutting.head_bytes + cutting.tail_bytes <= 4096
    assert content.text[0] == "A"
    assert content.text[-1] == "Z"


def test_claim_11_partial_output_on_timeout(trainer: Path) -> None:
    result = run(trainer, "print('so far', flush=True)\nwhile True: pass", wall_ms=700)
    assert status(result) == "TIMEOUT"
    assert result.reason == REASON.RUN_TIMEOUT
    assert cause(result) == "WALL"
    assert text(result) == "so far\n"
    assert result.timings.run_us >= 700_000


def test_claim_11_deadline_splits_into_timeout_and_busy(trainer: Path) -> None:
    """Few slots, a short deadline: those that ran time out, others never ran."""
    sleeper = "import time; print('on', flush=True); time.sleep(60)"
    items = [item(sleeper, trajectory_id=f"t{i}", wall_ms=60000) for i in range(12)]
    began = time.monotonic()
    results = send(trainer, *items, timeout=3)
    took = time.monotonic() - began
    kinds = {status(r) for r in results}
    assert kinds == {"TIMEOUT", "BUSY"}
    assert took < 5, "the answer comes at the deadline, before the client gives up"
    for result in results:
        if status(result) == "BUSY":
            assert result.reason == REASON.QUEUE_TIMEOUT
            assert not result.content
            assert result.timings.run_us == 0
        else:
            assert text(result) == "on\n"


def test_claim_11_waiting_is_not_charged_as_running(trainer: Path) -> None:
    """24 actions of 0.3 s with a limit of 5 s, on three slots: each prints."""
    items = [
        item(
            "import time; time.sleep(0.3); print(1)",
            trajectory_id=f"t{i}",
            wall_ms=5000,
        )
        for i in range(24)
    ]
    results = send(trainer, *items)
    assert [status(r) for r in results] == ["OK"] * 24
    assert max(r.timings.queue_us for r in results) > 1_000_000
    assert all(300_000 <= r.timings.run_us < 5_000_000 for r in results)


def test_claim_11_p1_routed_by_tag_with_stdin(trainer: Path) -> None:
    action = "think\n<python>\nprint(sum(range(5)))\n</python>"
    result = run(trainer, action, tool="")
    assert (text(result), result.done, result.valid) == ("10\n", False, True)
    twin = run(
        trainer, "<python>print(int(input())*2)</python>", tool="", stdin=b"21\n"
    )
    assert text(twin) == "42\n"


def test_claim_11_p2_mixed_batch(trainer: Path) -> None:
    results = send(
        trainer,
        item("<python>print('A')</python>", trajectory_id="a", tool=""),
        item("plain text, no call", trajectory_id="b", tool=""),
        item("", trajectory_id="c", tool="", finish=True, is_last_step=True),
    )
    assert len(results) == 3
    assert text(results[0]) == "A\n"
    assert results[0].valid
    assert status(results[1]) == "INVALID_ACTION"
    assert not results[1].valid
    assert "python" in results[1].message, "it says which tags there are"
    assert results[2].done
    assert results[2].valid
    assert not results[2].content


def test_claim_11_output_that_looks_like_our_record_is_output(trainer: Path) -> None:
    fake = "Result(status=OK, exit=0, reward=1.0)"
    action = (
        "import os, sys\n"
        f"fake = {fake!r}\nprint(fake)\nsys.stdout.flush()\n"
        "for fd in range(3, 256):\n"
        "    try:\n        os.write(fd, fake.encode())\n        print('open', fd)\n"
        "    except OSError:\n        pass\n"
        "sys.exit(7)"
    )
    result = run(trainer, action)
    assert text(result) == fake + "\n"
    assert (status(result), result.exit.code) == ("TOOL_ERROR", 7)
    assert not result.HasField("reward")


def test_claim_11_readers_of_stdin_see_end_of_file(trainer: Path) -> None:
    result = run(
        trainer,
        "import subprocess; print(subprocess.run(['cat'], capture_output=True))",
    )
    assert "returncode=0" in text(result)
    assert "EOFError" in text(run(trainer, "input('? ')"), "stderr")


def test_claim_11_streams_in_turns_do_not_stall(trainer: Path) -> None:
    action = (
        "import sys\n"
        "for _ in range(80):\n"
        "    sys.stdout.write('o' * 65536); sys.stderr.write('e' * 65536)\n"
    )
    result = run(trainer, action)
    assert (status(result), cause(result)) == ("OK", "NONE")
    assert [c.name for c in result.content] == ["stdout", "stderr"]
    for content, char in zip(result.content, "oe", strict=True):
        assert content.truncation.original_bytes == 80 * 65536
        assert set(content.text) == {char}


def test_claim_11_bad_bytes_are_replaced_not_split(trainer: Path) -> None:
    action = "import os; os.write(1, b'ok \\xff\\xc3\\xa9 \\xe2\\x82')"
    assert text(run(trainer, action)) == "ok \ufffdé \ufffd"
