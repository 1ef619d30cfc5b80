"""Token files as kubernetes-client/python#1768 has them: replaced while calls go on.

docs/testing.md, "Failures that were reported elsewhere".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import v1

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate
from tests.client.pki import make_token, write_token

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]


def by_rename(profile: Path, text: str) -> None:
    fresh = profile / "token.new"
    fresh.touch(mode=0o600)
    fresh.write_text(text, newline="")
    fresh.rename(profile / "token")


def in_place(profile: Path, text: str) -> None:
    (profile / "token").write_text(text, newline="")


def by_link(profile: Path, text: str) -> None:
    """As Kubernetes does: the link `token` leads to a file of another folder."""
    folder = profile / f"..{len(list(profile.iterdir()))}"
    folder.mkdir()
    write_token(folder, "")
    (folder / "token").write_text(text, newline="")
    link = profile / "token.new"
    link.symlink_to(folder / "token")
    link.rename(profile / "token")


WAYS = [by_rename, in_place, by_link]
AROUND = ["{}", "{}\n", "{}\r\n", " {}\t\n", "\ufeff{}\n"]


@pytest.mark.parametrize("replace", WAYS)
def test_the_next_call_has_the_new_token_and_a_torn_one_changes_nothing(
    start: Start, profile_of: ProfileOf, replace: Callable[[Path, str], None]
) -> None:
    """By both stubs, whatever is around the token."""
    gate = start()
    profile = profile_of(gate)
    expected = []
    with calling(profile) as caller, warded.connect(profile) as channel:
        for n, around in enumerate(AROUND):
            token = make_token(chr(ord("b") + n) * 43)
            for text in (around.format(token), "", token[:30]):
                replace(profile, text)
                assert caller.check().reason == "ok"
                v1.HealthStub(channel).Check(v1.HealthCheckRequest())
                expected += [token, token]
    assert [request.token for request in gate.seen.requests] == expected
