"""libwarded and the real gate: doors, threads, a gate that goes and comes back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest

from tests.client.c_caller import calling
from tests.client.pki import Authority, Leaf
from tests.conftest import NewHome
from tests.support.gate import Home, program, run
from tests.support.stub_gate import StubGate

TRAINER = "spiffe://warded.local/ns/default/owner/root/client/trainer"
DAY = dt.timedelta(days=1)
EXPIRED = Leaf(uris=(TRAINER,), facts={}, starts=-2 * DAY, ends=-DAY)
FRESH = Leaf(uris=(TRAINER,), facts={})


@pytest.fixture
def stub(new_home: NewHome) -> Iterator[StubGate]:
    """A gate over a stub executor, and the profile `trainer`."""
    home = new_home()
    home.profile("trainer", "observe:python_code")
    with StubGate(home) as running:
        yield running


def authority(home: Home) -> Authority:
    """The gate's own CA."""
    folder = home.path / "state/ca"
    return Authority.load(folder / "ca.pem", folder / "ca.key")


@pytest.mark.parametrize(
    ("name", "alert"),
    [("expired", 45), ("another CA's", 48), ("a CA of our CA's name", 42)],
)
def test_refused_handshake_is_tls_refused_with_the_alert_in_c(
    stub: StubGate, name: str, alert: int
) -> None:
    ours = authority(stub.home)
    profile = stub.home.path / "profile/trainer"
    issuer = {"expired": ours, "another CA's": Authority("another")}.get(name)
    (issuer or Authority.double(ours)).issue(
        EXPIRED if name == "expired" else FRESH
    ).write(profile)
    with calling(profile) as caller:
        got = caller.check()
    assert (got.reason, got.phase, got.alert) == ("TLS_REFUSED", "tls", alert), got
    assert not got.may_have_run


def test_claim_05_many_threads_call_a_gate_that_goes_and_comes_back(
    stub: StubGate,
) -> None:
    with calling(stub.home.path / "profile/trainer") as caller:
        assert caller.do("many 16 25") == "ok 400 failed 0\n"
        stub.stop()
        got = caller.check(2000)
        assert got.reason in ("UNREACHABLE", "OUTCOME_UNKNOWN", "QUEUE_TIMEOUT")
        stub.start()
        while (again := caller.check()).reason != "ok":
            assert again.phase in ("connect", "tls", "send"), again
        assert caller.do("many 4 10") == "ok 40 failed 0\n"


def test_token_of_another_is_refused_with_reason_and_cure(stub: StubGate) -> None:
    profile = stub.home.path / "profile/trainer"
    other = stub.home.path / "profile/admin/token"
    (profile / "token").write_text(other.read_text())
    with calling(profile) as caller:
        got = caller.check()
    assert (got.reason, got.phase, got.code) == ("TOKEN_NOT_YOURS", "remote", 16)
    assert "certificate" in got.cure


def test_example_says_who_we_are(stub: StubGate) -> None:
    done = run(program("warded_whoami"), stub.home.path / "profile/trainer")
    assert f"principal  {TRAINER}" in done.stdout
    assert "scope      observe:python_code" in done.stdout
