"""The client before a real gate: doors by cause, impostors, clocks."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1
from warded._callid import SystemClock
from warded._spiffe import Spiffe, parse_client
from warded.profile import Profile

from tests.client.c_caller import calling
from tests.client.conftest import write_gate
from tests.client.fake_gate import FakeGate
from tests.client.pki import HOUR, Authority, Leaf, Pair
from tests.support.gate import Gate

DAY = 24 * HOUR
URI = "spiffe://warded.local/ns/default/owner/ada/client/trainer"
GOOD = Leaf(uris=(URI,), facts={})
Start = Callable[..., FakeGate]


def call(profile: Path, **kwargs: Any) -> Any:
    """One Health.Check by a channel of its own."""
    with warded.connect(profile) as channel:
        stub = v1.HealthStub(channel)
        return stub.Check(v1.HealthCheckRequest(), timeout=20, **kwargs)


def test_a_brief_health_reply_has_no_more_than_it_says(trainer: Path) -> None:
    with warded.connect(trainer) as channel:
        check = v1.HealthStub(channel).Check
        brief = check(v1.HealthCheckRequest(brief=True, padding=b"123"))
        whole = check(v1.HealthCheckRequest())
    assert {field.name for field, _ in brief.ListFields()} == {"status", "padding"}
    assert len(brief.padding) == 3
    assert whole.status == brief.status == v1.HealthCheckReply.SERVING
    assert whole.layers
    assert whole.gate.startswith("spiffe://")


def gate_ca(gate: Gate) -> Authority:
    """The CA that `warded init` made."""
    folder = gate.home.path / "state/ca"
    return Authority.load(folder / "ca.pem", folder / "ca.key")


# cause in the audit row -> (who signs, what; the alert that the client sees)
Signed = Callable[[Authority], Pair]
DOORS: dict[str, tuple[Signed, str]] = {
    "unknown_ca": (lambda ca: Authority("another CA").issue(GOOD), "unknown_ca"),
    "bad_signature": (lambda ca: Authority.double(ca).issue(GOOD), "bad_certificate"),
    "expired": (
        lambda ca: ca.issue(Leaf(uris=(URI,), facts={}, starts=-2 * DAY, ends=-DAY)),
        "certificate_expired",
    ),
    "no_san": (lambda ca: ca.issue(Leaf(san=False, facts={})), "bad_certificate"),
    "many_uris": (
        lambda ca: ca.issue(Leaf(uris=(URI, URI + "2"), facts={})),
        "bad_certificate",
    ),
}


def refused(profile: Path) -> warded.TlsRefused:
    """The refusal that a call meets."""
    with pytest.raises(warded.TlsRefused) as caught:
        call(profile)
    assert caught.value.reason is warded.Reason.TLS_REFUSED
    assert caught.value.phase is warded.Phase.TLS
    return caught.value


def causes(gate: Gate) -> set[str]:
    """The causes of the refused handshakes on record."""
    rows = gate.home.tokctl("audit", "query", "--event", "tls.reject", "-o", "jsonl")
    return {json.loads(row)["reason"] for row in rows.stdout.splitlines()}


def my_identity(_: Profile) -> Spiffe:
    """In place of the client's own check of its certificate."""
    spiffe = parse_client(URI)
    assert spiffe is not None
    return spiffe


@pytest.mark.parametrize("cause", DOORS)
def test_claim_04_refused_certificate_has_its_cause_and_its_alert(
    gate: Gate,
    trainer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cause: str,
) -> None:
    monkeypatch.setattr(Profile, "_read_own_identity", my_identity)
    profile = tmp_path / "profile"
    shutil.copytree(trainer, profile)
    make, alert = DOORS[cause]
    make(gate_ca(gate)).write(profile)
    assert refused(profile).alert == alert
    assert cause in wait_for_cause(gate, cause)


def test_claim_04_no_certificate_has_its_cause_and_its_alert(
    gate: Gate, trainer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Profile, "_load_key", lambda *_: None)
    assert refused(trainer).alert == "certificate_required"
    assert "no_certificate" in wait_for_cause(gate, "no_certificate")


def no_certificate(profile: Path, _: Authority) -> None:
    """A profile that lost it."""
    (profile / "cert.pem").unlink()


def signed(cause: str) -> Callable[[Path, Authority], None]:
    """A certificate of the table above."""
    return lambda profile, ca: DOORS[cause][0](ca).write(profile)


# What a user is told, nothing being patched: by the client itself, before it dials, or
# by the gate's alert; and what to do.
TOLD = {
    "no certificate": (
        no_certificate,
        None,
        "No such file or directory; make a profile",
    ),
    "no SAN": (signed("no_san"), None, "has no subjectAltName, so no identity; make"),
    "two URIs": (signed("many_uris"), None, "has 2 URIs; exactly one counts; make"),
    "foreign CA": (signed("unknown_ca"), "unknown_ca", "signed by the gate's CA"),
    "same name": (
        signed("bad_signature"),
        "bad_certificate",
        "another of the same name",
    ),
    "expired": (
        signed("expired"),
        "certificate_expired",
        "renew the profile's cert.pem",
    ),
}


@pytest.mark.parametrize("door", TOLD)
def test_claim_04_what_a_user_is_told_at_each_door(
    gate: Gate, trainer: Path, tmp_path: Path, door: str
) -> None:
    spoil, alert, cure = TOLD[door]
    profile = tmp_path / "profile"
    shutil.copytree(trainer, profile)
    spoil(profile, gate_ca(gate))
    with calling(profile) as caller:
        by_c = caller.check()
    if alert is None:
        with pytest.raises(warded.ProfileError) as caught:
            call(profile)
        said = caught.value.details()
        assert said.startswith(f"{profile / 'cert.pem'}: ")
        assert by_c.phase == "profile"
        assert str(profile / "cert.pem") in by_c.message
    else:
        refusal = refused(profile)
        said = refusal.details()
        assert refusal.alert == alert
        assert (by_c.reason, by_c.phase) == ("TLS_REFUSED", "tls")
        assert cure in by_c.message
    assert cure in said


def wait_for_cause(gate: Gate, cause: str) -> set[str]:
    """The causes on record; rows are coalesced, so they come within a second or two."""
    end = time.monotonic() + 10
    while cause not in (seen := causes(gate)) and time.monotonic() < end:
        pass
    return seen


def test_claim_04_a_server_line_may_dial_one_address_and_expect_another(
    gate: Gate, trainer: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "profile"
    shutil.copytree(trainer, profile)
    port = gate.address.rsplit(":", 1)[1]
    line = f"127.0.0.1:{port} as localhost:{port}\n"
    (profile / "server").write_text(line)
    assert call(profile).status == v1.HealthCheckReply.SERVING
    (profile / "server").write_text(line.replace("localhost", "gate.example"))
    with pytest.raises(warded.HostNotAdopted, match=r"gate\.example"):
        call(profile)


def test_claim_06_impostor_of_the_real_ca_receives_no_byte(
    gate: Gate, trainer: Path, tmp_path: Path, start: Start
) -> None:
    reply = call(trainer)
    facts = {1: "root", 2: "default", 6: "127.0.0.1"}
    leaf = Leaf(uris=(reply.gate + "-evil-twin",), facts=facts)
    impostor = start(folder=write_gate(tmp_path / "impostor", gate_ca(gate), leaf))
    profile = tmp_path / "profile"
    shutil.copytree(trainer, profile)
    (profile / "server").write_text(impostor.server_line)
    with pytest.raises(warded.HostNotAdopted) as caught:
        call(profile)
    assert reply.gate in caught.value.details()
    impostor.wait_for(lambda seen: len(seen.refusals) == 1)
    assert impostor.seen.handshakes == 0
    assert impostor.seen.bytes_after_handshake == 0


@pytest.mark.parametrize("hours", [-1, 1])
def test_claim_06_real_gate_refuses_a_clock_an_hour_off_once(
    trainer: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    true_ms = SystemClock.wall_ms
    monkeypatch.setattr(
        SystemClock, "wall_ms", lambda self: true_ms(self) + hours * 3_600_000
    )
    attempts = []
    with warded.connect(trainer) as channel:
        stub = v1.TokenStub(channel)
        for _ in range(3):
            _, done = stub.WhoAmI.with_call(v1.WhoAmIRequest())
            attempts.append(done.attempt)
    assert attempts == [1, 0, 0]


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process as in a pod with any uid: no $HOME, no line of passwd."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", "XDG_STATE_HOME", "WARDED_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)


@pytest.mark.usefixtures("homeless")
def test_a_process_without_a_home_calls_and_keeps_no_witness(trainer: Path) -> None:
    with pytest.raises(RuntimeError):
        Path.home()
    assert call(trainer).status == v1.HealthCheckReply.SERVING


@pytest.mark.usefixtures("homeless")
def test_without_a_home_a_profile_has_to_be_named() -> None:
    with pytest.raises(warded.ProfileError, match="set WARDED_PROFILE"):
        warded.connect()


def test_a_bug_of_the_client_ends_its_calls_at_once(
    trainer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, and no connection is made again and again for it."""
    made = []

    def broken(*_: object) -> None:
        made.append(True)
        raise ValueError("no witness")

    monkeypatch.setattr("warded._link.Witness", broken)
    with pytest.raises(warded.RpcError, match="a bug in the client: ValueError"):
        call(trainer)
    assert made == [True]
