"""tokctl on many tokens at once: how far it has come, and what of it went wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from warded import v1

from tests.client.fake_gate import FakeGate
from tests.client.pki import Authority, Leaf, make_profile, make_token
from tests.support.ctl import PROGRESS, Ctl, on_terminal
from tests.support.gate import program
from tests.support.store import PARTIAL, USAGE

COUNT = 4
SHOWN_AFTER_S = 0.6  # more than tokctl waits before it draws


class Rotating:
    """A gate's answers to `rotate --all-owner`: one token will not be rotated."""

    def __init__(self) -> None:
        self.slow = False
        self._once = threading.Event()  # never set: only waited for

    def __call__(self, gate: FakeGate, request: Any) -> Any:
        if request.method.endswith("/List"):
            tokens = [v1.TokenInfo(id=name_of(n)) for n in range(COUNT)]
            reply = v1.ListReply(tokens=tokens).SerializeToString()
            return gate.reply(request, payload=reply)
        asked = v1.RotateRequest.FromString(request.payload)
        if asked.id == name_of(1):
            conflict = v1.CONFLICT
            return gate.reply(request, code=9, reason=conflict, message="overlap open")
        if self.slow and asked.id == name_of(0):
            self._once.wait(SHOWN_AFTER_S)
        made = v1.RotateReply(
            token=make_token(), info=v1.TokenInfo(id=f"N{asked.id[1:]}")
        )
        return gate.reply(request, payload=made.SerializeToString())


def name_of(number: int) -> str:
    return f"O{number:09}"


@pytest.fixture
def rotating() -> Rotating:
    return Rotating()


@pytest.fixture
def ctl(tmp_path: Path, rotating: Rotating) -> Iterator[Ctl]:
    """The client of that gate."""
    authority = Authority()
    folder = tmp_path / "gate"
    folder.mkdir()
    authority.issue(Leaf()).write(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    with FakeGate(folder, rotating) as gate:
        yield Ctl(make_profile(tmp_path / "profile", authority, gate.server_line))


def rotate(folder: Path) -> tuple[str, ...]:
    return ("rotate", "--all-owner", "ann", "--out-dir", str(folder))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_claim_05_some_of_many_end_with_8_and_the_others_are_named(
    ctl: Ctl, tmp_path: Path
) -> None:
    out = tmp_path / "new"
    out.mkdir()
    (out / name_of(2)).write_text("mine")
    done = ctl(*rotate(out), "--yes", "-o", "csv", "--no-headers", status=PARTIAL)
    rotated = [line.split(",")[1] for line in done.stdout.splitlines()]
    assert rotated == [name_of(0), name_of(3)]
    refused = done.stderr.splitlines()
    assert len(refused) == 2
    assert name_of(1) in refused[0] and "overlap open" in refused[0]
    assert name_of(2) in refused[1] and "File exists" in refused[1]
    assert files(out) == [name_of(n) for n in (0, 2, 3)]
    assert (out / name_of(2)).read_text() == "mine"
    assert (out / name_of(0)).stat().st_mode & 0o777 == 0o600


def test_claim_05_bulk_rotation_asks_and_can_be_tried_dry(
    ctl: Ctl, tmp_path: Path
) -> None:
    out = tmp_path / "new"
    out.mkdir()
    question = f"rotate {COUNT} tokens of ann"
    assert f"{question}: say --yes" in ctl(*rotate(out), status=USAGE).stderr
    assert f"would {question}" in ctl(*rotate(out), "--dry-run").stderr
    assert files(out) == []


Shown = Callable[..., str]


@pytest.fixture
def shown(ctl: Ctl, rotating: Rotating, tmp_path: Path) -> Shown:
    """shown(*words, term=): all that a terminal sees of a rotation that takes long."""
    rotating.slow = True

    def run(*words: str, term: str = "xterm") -> str:
        out = tmp_path / "new"
        out.mkdir()
        asked: tuple[str, ...] = (*rotate(out), "--yes", *words)
        status, text = on_terminal(
            program("tokctl"),
            *asked,
            "--profile",
            ctl.profile,
            progress=True,
            TERM=term,
        )
        assert status == PARTIAL
        return text

    return run


def test_claim_05_terminal_sees_how_far_bulk_work_has_come(shown: Shown) -> None:
    text = shown()
    assert f"\r1 of {COUNT} tokens\033[K" in text
    assert "tokens" not in PROGRESS.sub("", text), "the line is taken away again"


@pytest.mark.parametrize(
    ("words", "term"), [(("-q",), "xterm"), ((), "dumb"), ((), "")]
)
def test_claim_05_who_can_not_or_will_not_see_it_gets_plain_lines(
    shown: Shown, words: tuple[str, ...], term: str
) -> None:
    text = shown(*words, term=term)
    assert "\r1 of" not in text
    assert "\033[K" not in text
    assert name_of(3).replace("O", "N") in text


def test_claim_05_pipe_gets_no_progress(
    ctl: Ctl, rotating: Rotating, tmp_path: Path
) -> None:
    rotating.slow = True
    out = tmp_path / "new"
    out.mkdir()
    done = ctl(*rotate(out), "--yes", status=PARTIAL)
    assert "\r" not in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1, "of the one that was refused"
