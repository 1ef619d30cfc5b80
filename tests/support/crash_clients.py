"""Clients that go on whatever happens to the gate, and keep what they were told."""

from __future__ import annotations

import threading
import time
import uuid
from pathlib import Path

import warded
from warded.v1 import GetObservationReply, Reason, Result, token_wd
from warded.v1 import observation_wd as pb

from tests.support.calls import OBSERVE, batch, reason
from tests.support.marks import Marks
from tests.support.raw_client import RawClient

PATIENCE_S = 60.0
LEAST_MS = 20  # between a failure and the next call, each of which makes two files

# The ways in which a call may end beside an answer: clients/python/README.md, "Errors".
CRASH_ENDINGS = (
    warded.Unavailable,
    warded.Busy,
    warded.OutcomeUnknown,
    warded.DeadlineExceeded,
    warded.Cancelled,
    warded.ServerFault,
)

# What a repeated call may be told: it was cut off, it has ended, it can't begin now.
REPEATED = ("OUTCOME_UNKNOWN", "REPLY_EVICTED")
LATER = ("SANDBOX_UNAVAILABLE", "DRAINING", "QUEUE_FULL", "CAPACITY")

# Of an item, beside OK: nobody knows, or it never began.
STATUSES = ("OK", "INFRA", "BUSY")

QUICK = "print({name})"
# Leaves a process behind that has cut all ties.
SLOW = """
import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
time.sleep(2)
print({name})
"""


def statuses(said: GetObservationReply) -> list[str]:
    """Of its items, each with its reason if it has one: "OK", "INFRA EXECUTOR_DIED"."""
    return [outcome(r.status, r.reason) for r in said.results]


def outcome(status: int, why: int) -> str:
    """As a row of the trail has it, too."""
    name = str(Result.Status.Name(status))
    return f"{name} {Reason.Name(why)}" if why else name


class Client(threading.Thread):
    """Calls until told to stop; asks who it is."""

    items = 1  # pairs of rows of a call

    def __init__(self, profile: Path) -> None:
        super().__init__(daemon=True)
        self.profile = profile
        self.over = threading.Event()
        self.calls: list[str] = []  # ids of the acknowledged
        self.outcomes: list[list[str]] = []  # what they were told, item by item
        self.heads: list[tuple[int, str]] = []
        self.wrong = ""
        self.channel = warded.connect(profile)
        self._stub = token_wd.TokenStub(self.channel)

    def run(self) -> None:
        while not self.over.is_set() and not self.wrong:
            try:
                self.call()
            except CRASH_ENDINGS as error:  # of a dead gate they come at once
                self.over.wait(max(error.retry_after_ms, LEAST_MS) / 1000)
            except Exception as error:  # is the finding
                self.wrong = repr(error)
        self.channel.close()

    def end(self) -> None:
        """What it has begun is the last."""
        self.over.set()
        self.join(PATIENCE_S)
        assert not self.is_alive(), "a call never ended"

    def call(self) -> None:
        """One call."""
        _, said = self._stub.WhoAmI.with_call(token_wd.WhoAmIRequest(), timeout=5)
        head = said.reply.head_seq, said.reply.head_hash.hex()
        self.told(said.call_id, head, ["OK"])

    def told(self, call_id: str, head: tuple[int, str], outcomes: list[str]) -> None:
        """The gate has acknowledged a call."""
        self.outcomes.append(outcomes)
        self.heads.append(head)
        self.calls.append(call_id)  # others count these while the client runs


class Actor(Client):
    """Has two actions run a call, each different from all others."""

    items = 2

    def __init__(self, profile: Path, marks: Marks, code: str) -> None:
        super().__init__(profile)
        self._marks, self._code = marks, code
        self._act = pb.ObservationStub(self.channel)
        self.ran: list[str] = []  # marks of what has ended well

    def make(self) -> tuple[list[str], list[str]]:
        """Marks, and the actions that leave them."""
        made = [self._marks.action("") for _ in range(self.items)]
        names = [name for name, _ in made]
        return names, [a + self._code.format(name=n) for n, a in made]

    def judge(self, names: list[str], results: list[Result]) -> None:
        """Each result is that of its own item."""
        assert len(results) == len(names)
        for name, result in zip(names, results, strict=True):
            status = str(Result.Status.Name(result.status))
            printed = "".join(c.text for c in result.content if c.name == "stdout")
            if status == "OK" and printed == f"{name}\n":
                self.ran.append(name)
            elif status == "OK" or status not in STATUSES:
                self.wrong = f"{status}: {printed!r} {result.message}"

    def call(self) -> None:
        names, actions = self.make()
        items = [
            pb.Item(action=a, tool="python_code", trajectory_id=f"t{i}")
            for i, a in enumerate(actions)
        ]
        request = pb.GetObservationRequest(items=items)
        said, call = self._act.GetObservation.with_call(request, timeout=20)
        head = call.reply.head_seq, call.reply.head_hash.hex()
        self.told(call.call_id, head, statuses(said))
        self.judge(names, list(said.results))


class Repeater(Actor):
    """Sends the same call, under the same id, until somebody answers."""

    def call(self) -> None:
        names, actions = self.make()
        request = None
        while not self.over.is_set():
            try:
                with RawClient(self.profile) as raw:
                    request = request or raw.request(OBSERVE, batch(*actions))
                    reply = raw.ask(request)
            except OSError:
                time.sleep(0.02)
                continue
            if reason(reply) not in LATER:
                break
            self.over.wait(reply.retry_after_ms / 1000)
        else:
            return
        if reply.code == 0:
            text = str(uuid.UUID(bytes=request.call_id))
            said = GetObservationReply.FromString(reply.payload)
            self.told(text, (reply.head.seq, reply.head.hash.hex()), statuses(said))
            self.judge(names, list(said.results))
        elif reason(reply) not in REPEATED:
            self.wrong = f"{reason(reply)}: {reply.message}"
