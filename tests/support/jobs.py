"""The gate's end of a job socket: messages of job.proto, and what comes of a job."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
ANSWER_S = 60.0

NONE, WALL, CPU, MEMORY, PIDS, OUTPUT, FILESIZE, CANCEL = range(8)
ENDED, NOT_STARTED, REFUSED, FAILED = range(1, 5)


def _messages() -> Mapping[str, Any]:
    """The classes of job.proto, made from protoc's descriptors: no generated file."""
    name = "warded/exec/v1/job.proto"
    command = ["protoc", f"-I{PROTO}", "--descriptor_set_out=/dev/stdout", name]
    done = subprocess.run(command, check=True, capture_output=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(done.stdout)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)  # type: ignore[no-untyped-call,unused-ignore]  # by release
    types = pool.FindFileByName(name).message_types_by_name
    make: Any = getattr(message_factory, "GetMessageClass", None)  # protobuf >= 4.22
    if make is None:
        factory: Any = message_factory.MessageFactory(pool)
        make = factory.GetPrototype
    return {key: make(of) for key, of in types.items()}


_MESSAGES = _messages()
CAUSES: list[str] = list(_MESSAGES["Done"].Cause.keys())
ToExecutor: Any = _MESSAGES["ToExecutor"]
ToGate: Any = _MESSAGES["ToGate"]


@dataclass(frozen=True, slots=True)
class Output:
    """One captured stream."""

    data: bytes
    original: int
    head: int
    tail: int


@dataclass(frozen=True, slots=True)
class Done:
    """How a job ended."""

    outcome: int
    cause: int
    status: int
    out: Output
    err: Output
    message: str
    leftovers: int
    queue_us: int
    run_us: int

    @property
    def stdout(self) -> bytes:
        """What is kept of the action's standard output."""
        return self.out.data

    @property
    def stderr(self) -> bytes:
        """What is kept of the action's standard error."""
        return self.err.data

    @property
    def code(self) -> int | None:
        """Exit code; None when a signal ended it or it did not run."""
        ended = self.outcome == ENDED and os.WIFEXITED(self.status)
        return os.WEXITSTATUS(self.status) if ended else None

    @property
    def signal(self) -> int:
        """The signal that ended it; 0: none."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0


class ClosedError(Exception):
    """The executor closed the socket."""


class Jobs:
    """The gate's end of a job socket."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = b""
        self._next = 0
        self._started: set[int] = set()
        self._done: dict[int, Done] = {}
        self.ready: Any = None
        self.unavailable: str | None = None

    def submit(self, code: str | bytes, stdin: bytes = b"", **options: Any) -> int:
        """Send a Run; `options`: limits by name, tool, start_by_ms, end_by_ms."""
        self._next += 1
        message = ToExecutor()
        run = message.run
        run.job_id = options.pop("job_id", self._next)
        run.tool = options.pop("tool", "python_code")
        run.code = code.encode() if isinstance(code, str) else code
        run.stdin_data = stdin
        for name in ("start_by_ms", "end_by_ms"):
            setattr(run, name, options.pop(name, 0))
        for name, value in options.items():
            setattr(run.limits, name, value)
        self.send(message)
        return int(run.job_id)

    def cancel(self, job_id: int) -> None:
        """Send a Cancel."""
        message = ToExecutor()
        message.cancel.job_id = job_id
        self.send(message)

    def send(self, message: Any) -> None:
        """Send any message."""
        self.send_raw(message.SerializeToString())

    def send_raw(self, data: bytes) -> None:
        """Send a frame of any bytes."""
        self._socket.sendall(struct.pack(">I", len(data)) + data)

    def wait(self, job_id: int) -> Done:
        """The job's Done."""
        self._until(lambda: job_id in self._done)
        return self._done.pop(job_id)

    def wait_started(self, job_id: int) -> None:
        """Return when the job has started."""
        self._until(lambda: job_id in self._started)

    def wait_ready(self) -> Any:
        """The first Ready since the last call of this, or since the socket's start."""
        self._until(lambda: self.ready is not None)
        ready, self.ready = self.ready, None
        return ready

    def wait_unavailable(self) -> str:
        """The text of the next Unavailable."""
        self._until(lambda: self.unavailable is not None)
        text, self.unavailable = self.unavailable, None
        return text or ""

    def run(self, code: str | bytes, stdin: bytes = b"", **options: Any) -> Done:
        """Submit and wait."""
        return self.wait(self.submit(code, stdin, **options))

    def has(self, job_id: int) -> bool:
        """Whether the job's Done has been read."""
        return job_id in self._done

    def close(self) -> None:
        """End the socket."""
        self._socket.close()

    def _until(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + ANSWER_S
        while not true():
            self._socket.settimeout(max(0.01, end - time.monotonic()))
            self._read()

    def _read(self) -> None:
        data = self._socket.recv(1 << 20)
        if not data:
            raise ClosedError
        self._buffer += data
        while len(self._buffer) >= 4:
            size = struct.unpack(">I", self._buffer[:4])[0]
            if len(self._buffer) < 4 + size:
                return
            self._take(ToGate.FromString(self._buffer[4 : 4 + size]))
            self._buffer = self._buffer[4 + size :]

    def _take(self, message: Any) -> None:
        kind = message.WhichOneof("kind")
        if kind == "started":
            self._started.add(message.started.job_id)
        elif kind == "done":
            self._done[message.done.job_id] = _done(message.done)
        elif kind == "ready":
            self.ready = message.ready
        elif kind == "unavailable":
            self.unavailable = message.unavailable.message


def _done(d: Any) -> Done:
    def output(o: Any) -> Output:
        return Output(o.data, o.original_bytes, o.head_bytes, o.tail_bytes)

    return Done(
        outcome=d.outcome,
        cause=d.cause,
        status=d.wait_status,
        out=output(d.out),
        err=output(d.err),
        message=d.message,
        leftovers=d.leftovers,
        queue_us=d.queue_us,
        run_us=d.run_us,
    )
