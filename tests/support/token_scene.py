"""A gate with an operator and a trainer, and the methods of Token for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from warded.v1 import (
    IssueReply,
    IssueRequest,
    Reply,
    RotateReply,
    RotateRequest,
    ShowReply,
    ShowRequest,
)

from tests.support.calls import WHO, reason
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
TRAINER = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"
GOOD = "REASON_UNSPECIFIED"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scene:
    """A gate with an operator and a trainer."""

    home: Home
    stub: StubGate
    boss: RawClient
    trainer: RawClient

    def call(self, name: str, request: Any, token: str | None = None) -> Reply:
        """A method of Token, by the operator, or with a token of the trainer's."""
        path = f"/warded.v1.Token/{name}"
        if token is None:
            return self.boss.call(path, request.SerializeToString())
        return self.trainer.call(path, request.SerializeToString(), token=token)

    def get(
        self,
        name: str,
        reply: Callable[[bytes], T],
        request: Any,
        token: str | None = None,
    ) -> T:
        answer = self.call(name, request, token)
        assert answer.code == 0, answer.message
        return reply(answer.payload)

    def issue(self, token: str | None = None, **fields: Any) -> IssueReply:
        asked: dict[str, Any] = {
            "name": "fresh",
            "scopes": ["observe:python_code"],
            "bind": TRAINER,
        }
        made: IssueReply = self.get(
            "Issue", IssueReply.FromString, IssueRequest(**(asked | fields)), token
        )
        return made

    def rotate(self, **fields: Any) -> RotateReply:
        done: RotateReply = self.get(
            "Rotate", RotateReply.FromString, RotateRequest(**fields)
        )
        return done

    def show(self, **fields: Any) -> ShowReply:
        shown: ShowReply = self.get("Show", ShowReply.FromString, ShowRequest(**fields))
        return shown

    def who(self, token: str) -> str:
        return reason(self.trainer.call(WHO, token=token))

    @classmethod
    @contextmanager
    def open(cls, home: Home) -> Iterator[Scene]:
        """In a fresh home."""
        home.profile("boss", "token:**", "observe:**", "audit:read", ttl="4h")
        home.profile("trainer", "observe:python_code")
        with (
            StubGate(home) as stub,
            RawClient(home.path / "profile/boss") as boss,
            RawClient(home.path / "profile/trainer") as trainer,
        ):
            yield cls(home, stub, boss, trainer)
