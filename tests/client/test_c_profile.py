"""libwarded: files of the profile, as they are when they are needed."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate
from tests.client.pki import (
    CLIENT,
    OTHER_GATE,
    Authority,
    Leaf,
    make_token,
    write_token,
)

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]


def test_token_is_read_again_and_a_torn_one_keeps_the_last(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    second = make_token("b" * 43)
    with calling(profile) as caller:
        assert caller.check().reason == "ok"
        write_token(profile, second + "\n")
        assert caller.check().reason == "ok"
        write_token(profile, second[:20])
        assert caller.check().reason == "ok"
    assert [r.token for r in gate.seen.requests[1:]] == [second, second]
    assert gate.seen.handshakes == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "TOKEN_MISSING"), ("wdt1_short", "TOKEN_MALFORMED"),
     (make_token()[:-1] + "!", "TOKEN_MALFORMED")],
)  # fmt: skip
def test_no_token_is_refused_before_it_is_sent(
    start: Start, profile_of: ProfileOf, text: str, reason: str
) -> None:
    gate = start()
    profile = profile_of(gate)
    write_token(profile, text)
    with calling(profile) as caller:
        got = caller.check()
    assert (got.reason, got.phase) == (reason, "auth")
    assert gate.seen.requests == []


@pytest.mark.parametrize("name", ["token", "key.pem"])
def test_secret_that_others_can_read_is_refused(
    start: Start, profile_of: ProfileOf, name: str
) -> None:
    gate = start()
    profile = profile_of(gate)
    (profile / name).chmod(0o644)
    with calling(profile) as caller:
        got = caller.check()
    assert got.phase == "profile"
    assert name in got.message
    assert gate.seen.bytes_after_handshake == 0 or name == "token"
    assert gate.seen.requests == []


@pytest.mark.parametrize("name", ["server", "ca.pem", "cert.pem", "key.pem", "token"])
def test_missing_file_of_the_profile_is_named(
    start: Start, profile_of: ProfileOf, name: str
) -> None:
    profile = profile_of(start())
    (profile / name).unlink()
    with calling(profile) as caller:
        got = caller.check()
    assert got.phase == "profile"
    assert str(profile / name) in got.message


def test_new_certificate_goes_with_a_new_connection(
    authority: Authority, start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    with calling(profile) as caller:
        assert caller.check().reason == "ok"
        authority.issue(Leaf(uris=(CLIENT,), facts={})).write(profile)
        deadline = time.monotonic() + 10
        while gate.seen.handshakes < 2 and time.monotonic() < deadline:
            assert caller.check().reason == "ok"  # files are looked at each second
    assert gate.seen.handshakes == 2


def test_policy_that_changed_counts_for_the_next_connection(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    with calling(profile) as caller:
        assert caller.check().reason == "ok"
        (profile / "policy").write_text(f"gate {OTHER_GATE}\n")
        deadline = time.monotonic() + 10
        while (reason := caller.check().reason) == "ok":
            assert time.monotonic() < deadline
    assert reason == "HOST_NOT_ADOPTED"


def test_profile_of_the_environment_is_the_default(
    start: Start, profile_of: ProfileOf, tmp_path: Path
) -> None:
    profile = profile_of(start())
    with calling(None, WARDED_PROFILE=str(profile)) as caller:
        assert caller.check().reason == "ok"
    (tmp_path / ".config/warded").mkdir(parents=True)
    profile.rename(tmp_path / ".config/warded/default")
    with calling(None, WARDED_PROFILE="", HOME=str(tmp_path)) as caller:
        assert caller.check().reason == "ok"


def test_heads_that_c_saw_are_kept_where_python_keeps_them(
    start: Start, profile_of: ProfileOf, state_home: Path
) -> None:
    with calling(profile_of(start())) as caller:
        for _ in range(3):
            caller.check()
    (folder,) = (state_home / "warded/heads").iterdir()
    assert folder.name.startswith("warded.test_ns_default_owner_ada_gate_box.")
    (file,) = folder.iterdir()
    lines = file.read_text().splitlines()
    assert lines == [f"1 {'07' * 32}", f"3 {'07' * 32}"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
