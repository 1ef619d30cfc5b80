"""How actions end: what the real gate sends, and what the model then sees.

tests/integration/test_items.py runs each and compares the gate's answer with `result`;
tests/client/test_run.py reads `result` as a client does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warded import v1


def text(name: str, words: str, **cut: int) -> Any:
    """A content block; with keywords, one that was cut."""
    content = v1.Content(name=name, text=words)
    if cut:
        content.truncation.CopyFrom(v1.Truncation(**cut))
    return content


@dataclass(frozen=True)
class Ending:
    """One action and its end."""

    action: str
    status: str
    message: str = ""
    cause: str = "NONE"
    reason: str = "REASON_UNSPECIFIED"
    code: int = 0
    signal: int = 0
    stdout: str = ""
    stderr: str = ""  # its last line, where Python's words come before it
    observation: str = ""
    with_: Mapping[str, Any] = field(default_factory=dict)  # the item's other fields
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def result(self) -> Any:
        """The result that the gate sends, without timings."""
        streams = (("stdout", self.stdout), ("stderr", self.stderr))
        return v1.Result(
            status=v1.Result.Status.Value(self.status),
            reason=v1.Reason.Value(self.reason),
            message=self.message,
            content=[text(name, words) for name, words in streams if words],
            exit=v1.Exit(
                code=self.code,
                signal=self.signal,
                cause=v1.Exit.Cause.Value(self.cause),
            ),
            metadata=self.metadata,
        )


FORKS = """import os, time
for _ in range(50):
    if os.fork() == 0:
        time.sleep(30)
"""
WRITES_TOO_MUCH = """import os, signal
f = os.open("f", os.O_CREAT | os.O_WRONLY)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
try:
    while True:
        os.write(f, bytes(1 << 16))
except OSError:
    os.pwrite(f, b"x", 1 << 30)
"""
WRITES_FAR = "import os; os.pwrite(os.open('f', 66), b'x', 1 << 30)"
NO_CALL = (
    "the action names no tool and holds no block that one of them takes; put the code "
    "between <python>, <py> and its end tag, or in a fence of that name"
)

ENDINGS = {
    "output": Ending("print(42)", "OK", stdout="42\n", observation="42"),
    "no output": Ending("pass", "OK"),
    "both streams": Ending(
        "import sys; print('a'); print('b', file=sys.stderr)",
        "OK",
        stdout="a\n",
        stderr="b\n",
        observation="a\nb",
    ),
    "a traceback": Ending(
        "1 / 0",
        "TOOL_ERROR",
        code=1,
        stderr="ZeroDivisionError: division by zero\n",
        observation="ZeroDivisionError: division by zero",
    ),
    "a code without a word": Ending(
        "import sys; sys.exit(7)",
        "TOOL_ERROR",
        "exit code 7",
        code=7,
        observation="exit code 7",
    ),
    "a code after output": Ending(
        "import sys; print('a'); sys.exit(7)",
        "TOOL_ERROR",
        "exit code 7",
        code=7,
        stdout="a\n",
        observation="a\nexit code 7",
    ),
    "a signal": Ending(
        "import os; print('a', flush=True); os.kill(os.getpid(), 11)",
        "TOOL_ERROR",
        "ended by signal 11 (SIGSEGV)",
        signal=11,
        stdout="a\n",
        observation="a\nended by signal 11 (SIGSEGV)",
    ),
    "too long": Ending(
        "print('so far', flush=True)\nwhile True: pass",
        "TIMEOUT",
        "stopped: run time limit of 0.7 s",
        cause="WALL",
        reason="RUN_TIMEOUT",
        signal=9,
        stdout="so far\n",
        observation="so far\nstopped: run time limit of 0.7 s",
        with_={"wall_ms": 700},
    ),
    "too long, silent": Ending(
        "while True: pass",
        "TIMEOUT",
        "stopped: processor time limit of 0.5 s",
        cause="CPU",
        reason="RUN_TIMEOUT",
        signal=9,
        observation="stopped: processor time limit of 0.5 s",
        with_={"wall_ms": 60_000, "cpu_ms": 500},
    ),
    "too much memory": Ending(
        "x = b'x' * (1 << 30)",
        "RESOURCE_LIMIT",
        "stopped: memory limit of 64 MiB",
        cause="MEMORY",
        signal=9,
        observation="stopped: memory limit of 64 MiB",
        with_={"memory_bytes": 64 << 20},
    ),
    "too many processes": Ending(
        FORKS,
        "RESOURCE_LIMIT",
        "failed: limit of 8 processes and threads",
        cause="PIDS",
        code=1,
        stderr="BlockingIOError: [Errno 11] Resource temporarily unavailable\n",
        observation="BlockingIOError: [Errno 11] Resource temporarily unavailable\n"
        "failed: limit of 8 processes and threads",
        with_={"pids": 8},
    ),
    "too large a file": Ending(
        WRITES_TOO_MUCH,
        "RESOURCE_LIMIT",
        "stopped: file size limit of 1 MiB",
        cause="FILESIZE",
        signal=25,
        observation="stopped: file size limit of 1 MiB",
        with_={"files_bytes": 1 << 20},
    ),
    "too large a file, as Python tells it": Ending(
        WRITES_FAR,
        "TOOL_ERROR",
        code=1,
        stderr="OSError: [Errno 27] File too large\n",
        observation="OSError: [Errno 27] File too large",
        with_={"files_bytes": 1 << 20},
    ),
    "a full disk, as Python tells it": Ending(
        "for n in range(9): open(str(n), 'wb', 0).write(bytes(1 << 19))\n"
        "for n in range(9): assert len(open(str(n), 'rb').read()) == 1 << 19, 'full'",
        "TOOL_ERROR",
        code=1,
        stderr="OSError: [Errno 28] No space left on device\n",
        observation="OSError: [Errno 28] No space left on device",
        with_={"files_bytes": 1 << 20},
    ),
    "no call": Ending(
        "plain text",
        "INVALID_ACTION",
        NO_CALL,
        reason="TOOL_UNKNOWN",
        observation=NO_CALL,
        with_={"tool": ""},
        metadata={"field": "action"},
    ),
    "a text beyond its bound": Ending(
        "#" * ((1 << 20) + 1),
        "INVALID_ACTION",
        "action has 1048577 bytes, at most 1048576",
        reason="FIELD_INVALID",
        observation="action has 1048577 bytes, at most 1048576",
        metadata={"field": "action"},
    ),
}
