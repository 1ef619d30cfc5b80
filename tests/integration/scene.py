"""A gate with profiles, and what tests of tokens do with them.

The fixture `scene` makes one (tests/integration/conftest.py).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warded.v1 import GetObservationRequest, IssueReply, IssueRequest, Item

from tests.support.calls import rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

TRAINER = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"


@dataclass(frozen=True, slots=True)
class Scene:
    """A gate, its profiles, and a file that only a run action makes."""

    stub: StubGate
    home: Home
    folder: Path
    not_yet: str  # a token of the trainer that holds later
    elsewhere: str  # one that holds at other gates

    def profile(self, name: str) -> Path:
        return self.home.path / "profile" / name

    def file(self) -> Path:
        return self.folder / f"made-{time.monotonic_ns()}"

    def token(self, name: str) -> str:
        return (self.profile(name) / "token").read_text().strip()

    @classmethod
    @contextlib.contextmanager
    def open(cls, home: Home) -> Iterator[Scene]:
        """Its profiles made, its gate started; until the end of the block."""
        home.profile("trainer", "observe:python_code")
        home.profile("other", "observe:python_code")
        home.profile("reader", "audit:read")
        home.profile("wrong_tool", "observe:bash_terminal")
        home.profile("boss", "token:**", "observe:**")
        python = ("--scope", "observe:python_code", "--bind", TRAINER)
        not_yet, elsewhere = (
            home.tokctl("issue", name, *python, *words).stdout.strip()
            for name, *words in (
                ("later", "--not-before", "+1h"),
                ("elsewhere", "--audience", "spiffe://elsewhere/**"),
            )
        )
        folder = home.path.parent / "made"
        folder.mkdir()
        with StubGate(home) as stub:
            yield cls(stub, home, folder, not_yet, elsewhere)


def action(path: Path) -> bytes:
    item = Item(trajectory_id="t", tool="python_code", action=f"touch {path}")
    return bytes(GetObservationRequest(items=[item]).SerializeToString())


def broken(token: str) -> str:
    """The same token with another last character: its check digits are wrong."""
    return token[:-1] + ("0" if token[-1] != "0" else "1")


def unknown(scene: Scene) -> str:
    """A well-formed token that this gate never issued: another store made it."""
    home = Home.make(scene.home.path.parent / "elsewhere")
    home.profile("trainer", "observe:python_code")
    return (home.path / "profile/trainer/token").read_text().strip()


def issue(boss: RawClient, scene: Scene, **fields: object) -> tuple[str, str]:
    """A token for the trainer's identity: its text and id."""
    asked: dict[str, object] = {
        "name": "fresh",
        "scopes": ["observe:python_code"],
        "bind": TRAINER,
    }
    request = IssueRequest(**(asked | fields))
    reply = boss.call("/warded.v1.Token/Issue", request.SerializeToString())
    assert reply.code == 0, reply.message
    made = IssueReply.FromString(reply.payload)
    assert len(rows(scene.home, "--event", "token.issue", "--token", made.info.id)) == 1
    return made.token, made.info.id
