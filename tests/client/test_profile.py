"""The profile folder: what is read, when, and what is refused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import v1

from tests.client.fake_gate import FakeGate
from tests.client.pki import (
    CLIENT,
    GATE,
    TOKEN,
    Authority,
    Leaf,
    make_profile,
    make_token,
    write_token,
)

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]

OTHER_TOKEN = make_token("b" * 43)


@pytest.fixture
def folder(tmp_path: Path, authority: Authority) -> Path:
    """A good profile that dials nobody."""
    return make_profile(tmp_path / "p", authority, "127.0.0.1:1\n")


def remove(name: str) -> Callable[[Path], None]:
    """A profile without a file."""
    return lambda folder: (folder / name).unlink()


def text(name: str, content: str | bytes) -> Callable[[Path], None]:
    """A profile with other words in a file."""
    data = content if isinstance(content, bytes) else content.encode()

    def change(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return change


def mode(name: str, bits: int) -> Callable[[Path], None]:
    """A profile with other permissions on a file."""
    return lambda folder: (folder / name).chmod(bits)


def own(name: str, bits: int) -> Callable[[Path], None]:
    """A file that is not root's, with these permissions."""

    def change(folder: Path) -> None:
        os.chown(folder / name, 1, 1)
        (folder / name).chmod(bits)

    return change


def certificate(leaf: Leaf) -> Callable[[Path], None]:
    """Another certificate, with its key."""
    return lambda folder: Authority().issue(leaf).write(folder)


REFUSED = [
    ("no server", remove("server"), ["server", "warded profile new"]),
    ("empty server", text("server", "\n# none\n"), ["server", "names no gate"]),
    ("bad server", text("server", "a b\n"), ["server", "line 1", "ADDRESS as"]),
    ("bad port", text("server", "a:99999\n"), ["server", "line 1", "65535"]),
    ("bad host", text("server", "x/y:1\n"), ["server", "HOST:PORT"]),
    ("binary server", text("server", b"\xff\xfe"), ["server", "UTF-8"]),
    ("no CA", remove("ca.pem"), ["ca.pem", "warded profile new"]),
    ("empty CA", text("ca.pem", ""), ["ca.pem", "no usable CA"]),
    ("CA that is none", text("ca.pem", "hello"), ["ca.pem"]),
    ("no certificate", remove("cert.pem"), ["cert.pem", "warded profile new"]),
    ("empty certificate", text("cert.pem", ""), ["cert.pem", "no certificate"]),
    ("a gate's", certificate(Leaf(uris=(GATE,))), ["cert.pem", GATE]),
    ("two URIs", certificate(Leaf(uris=(CLIENT, GATE))), ["cert.pem", "2 URIs"]),
    ("no SAN", certificate(Leaf(san=False)), ["cert.pem", "subjectAltName"]),
    ("no key", remove("key.pem"), ["key.pem", "warded profile new"]),
    ("empty key", text("key.pem", ""), ["key.pem", "PEM"]),
    ("key for all", mode("key.pem", 0o604), ["key.pem", "0604", "chmod 600"]),
    ("key writable by all", mode("key.pem", 0o602), ["key.pem", "chmod 600"]),
    ("key for a group", own("key.pem", 0o640), ["key.pem", "0640", "chmod 600"]),
    ("no token", remove("token"), ["token", "warded profile new"]),
    ("token for all", mode("token", 0o644), ["token", "0644", "chmod 600"]),
    ("token for a group", own("token", 0o440), ["token", "chmod 600"]),
    ("bad policy", text("policy", "trust all\n"), ["policy", "line 1", "adopt"]),
    ("bad adopt", text("policy", "adopt all\n"), ["policy", "own, namespace or never"]),
    ("two adopts", text("policy", "adopt own\nadopt own\n"), ["policy", "more than"]),
    ("bad gate", text("policy", "gate box\n"), ["policy", "SPIFFE"]),
    ("no text", text("policy", b"pool \xff\n"), ["policy", "UTF-8"]),
    ("65 gates", text("server", "127.0.0.1:1\n" * 65), ["server", "more than 64"]),
    ("bad image", text("policy", "image latest\n"), ["policy", "sha256:"]),
]


@pytest.mark.parametrize(
    ("spoil", "words"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_profile_is_refused_naming_file_and_cure(
    folder: Path, spoil: Callable[[Path], None], words: list[str]
) -> None:
    spoil(folder)
    with pytest.raises(warded.ProfileError) as caught:
        warded.connect(folder)
    assert caught.value.phase is warded.Phase.PROFILE
    for word in words:
        assert word in caught.value.details()
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["token", "server", "ca.pem", "cert.pem", "key.pem", "policy"]
)
def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_at_once(
    folder: Path, name: str
) -> None:
    for put in (os.mkfifo, os.mkdir):
        (folder / name).unlink(missing_ok=True)
        put(folder / name, 0o600)
        with pytest.raises(warded.ProfileError, match=rf"{name}: "):
            warded.connect(folder)


def test_a_folder_that_is_not_there_names_the_ways_to_one(tmp_path: Path) -> None:
    with pytest.raises(warded.ProfileError, match="WARDED_PROFILE"):
        warded.connect(tmp_path / "none")


@pytest.mark.parametrize("name", ["token", "key.pem"])
def test_a_secret_for_the_group_passes_when_root_owns_it(
    folder: Path, name: str
) -> None:
    (folder / name).chmod(0o440)
    warded.connect(folder)


def test_the_environment_names_the_default_profile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDED_PROFILE", str(folder))
    assert warded.connect().profile == str(folder)
    monkeypatch.delenv("WARDED_PROFILE")
    monkeypatch.setenv("HOME", str(folder / "home"))
    with pytest.raises(warded.ProfileError, match=r"home/\.config/warded/default"):
        warded.connect()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", warded.Reason.TOKEN_MISSING),
        (" \n", warded.Reason.TOKEN_MISSING),
        (TOKEN[:40], warded.Reason.TOKEN_MALFORMED),
        (TOKEN[:-1] + "!", warded.Reason.TOKEN_MALFORMED),
        (TOKEN[:20] + OTHER_TOKEN[20:], warded.Reason.TOKEN_MALFORMED),
        (TOKEN + TOKEN, warded.Reason.TOKEN_MALFORMED),
        (make_token(kind="j"), warded.Reason.TOKEN_MALFORMED),
    ],
)
def test_a_file_without_a_whole_token_is_unauthenticated(
    folder: Path, content: str, reason: warded.Reason
) -> None:
    write_token(folder, content)
    with pytest.raises(warded.Unauthenticated) as caught:
        warded.connect(folder)
    assert caught.value.reason is reason
    assert caught.value.phase is warded.Phase.AUTH
    assert str(folder / "token") in caught.value.details()
    assert not content.strip() or content.strip() not in str(caught.value)


@pytest.mark.parametrize(
    "content", [f"{TOKEN}\n", f"\ufeff{TOKEN}\r\n", f"\n  {TOKEN}\t", TOKEN]
)
def test_space_and_byte_order_mark_around_a_token_do_not_count(
    start: Start, profile_of: ProfileOf, content: str
) -> None:
    gate = start()
    profile = profile_of(gate)
    write_token(profile, content)
    with warded.connect(profile) as channel:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest())
    assert gate.seen.requests[0].token == TOKEN


def test_a_token_is_read_again_when_it_changes_and_torn_writes_change_nothing(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    states = [TOKEN, "", OTHER_TOKEN[:30], OTHER_TOKEN, TOKEN[:63], TOKEN]
    with warded.connect(profile) as channel:
        for content in states:
            write_token(profile, content)
            v1.HealthStub(channel).Check(v1.HealthCheckRequest())
    sent = [request.token for request in gate.seen.requests]
    assert sent == [TOKEN, TOKEN, TOKEN, OTHER_TOKEN, OTHER_TOKEN, TOKEN]
    assert gate.seen.connections == 1


def test_a_token_given_to_connect_is_sent_as_it_is_and_not_shown(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    (profile / "token").unlink()
    with warded.connect(profile, token="no token at all") as channel:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest())
        assert "no token" not in repr(channel)
    assert gate.seen.requests[0].token == "no token at all"


def test_new_credentials_bring_a_new_connection_and_no_failed_call(
    start: Start, profile_of: ProfileOf, authority: Authority
) -> None:
    gate = start()
    profile = profile_of(gate)
    with warded.connect(profile) as channel:
        stub = v1.HealthStub(channel)
        stub.Check(v1.HealthCheckRequest())
        authority.issue(Leaf(uris=(CLIENT,), facts={})).write(profile)
        _call_until(stub, lambda: gate.seen.connections == 2)
        gate.wait_for(lambda seen: seen.closed == 1)  # the old one was left


def test_a_certificate_without_its_key_keeps_the_last_good_pair(
    start: Start, profile_of: ProfileOf, authority: Authority
) -> None:
    gate = start()
    profile = profile_of(gate)
    fresh = authority.issue(Leaf(uris=(CLIENT,), facts={}))
    with warded.connect(profile) as channel:
        stub = v1.HealthStub(channel)
        stub.Check(v1.HealthCheckRequest())
        (profile / "cert.pem").write_bytes(fresh.cert)
        _call_until(stub, lambda: gate.seen.connections >= 2)
        fresh.write(profile)
        stub.Check(v1.HealthCheckRequest())
    assert gate.seen.refusals == []


def _call_until(stub: v1.HealthStub, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        stub.Check(v1.HealthCheckRequest())


def test_audit_heads_are_kept_for_witnesses(
    start: Start, profile_of: ProfileOf, state_home: Path
) -> None:
    gate = start()
    began = time.monotonic()
    with warded.connect(profile_of(gate)) as channel:
        for _ in range(100):
            v1.HealthStub(channel).Check(v1.HealthCheckRequest())
    (chain,) = (state_home / "warded/heads").iterdir()
    name, _, trust = chain.name.rpartition(".")
    assert name == "warded.test_ns_default_owner_ada_gate_box"
    assert len(trust) == 8  # a gate made anew, with another CA, has another chain
    (file,) = chain.iterdir()
    lines = file.read_text().splitlines()
    assert file.name == f"{os.getpid()}.heads"
    # the first at once, then one a second, the last when the channel is closed
    assert 2 <= len(lines) <= 3 + time.monotonic() - began
    assert lines[-1] == f"100 {'07' * 32}"


def test_a_witness_that_cannot_be_kept_fails_no_call(
    start: Start, profile_of: ProfileOf, state_home: Path
) -> None:
    state_home.write_text("not a folder")
    with warded.connect(profile_of(start())) as channel:
        v1.HealthStub(channel).Check(v1.HealthCheckRequest())


def test_an_empty_profile_is_not_the_folder_that_we_are_in() -> None:
    with pytest.raises(warded.RpcError, match="name a profile's folder"):
        warded.connect("")
