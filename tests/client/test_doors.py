"""Doors from the client's side: refused handshakes, gates that are not there."""

from __future__ import annotations

import datetime as dt
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.conftest import write_gate
from tests.client.fake_gate import GREETING, FakeGate
from tests.client.pki import CLIENT, Authority, Leaf

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]

FOREIGN_NAMED_OTHERWISE = Authority("another CA")
FOREIGN = Authority("warded test CA")  # the same name, another key
DAY = dt.timedelta(days=1)
EXPIRED = Leaf(uris=(CLIENT,), facts={}, starts=-2 * DAY, ends=-DAY)


def call(profile: Path, **kwargs: Any) -> Any:
    """One Health.Check by a channel of its own."""
    kwargs.setdefault("timeout", 10)
    with warded.connect(profile) as channel:
        return v1.HealthStub(channel).Check(v1.HealthCheckRequest(), **kwargs)


REFUSED = {
    "unknown_ca": (FOREIGN_NAMED_OTHERWISE, Leaf(uris=(CLIENT,), facts={})),
    "decrypt_error": (FOREIGN, Leaf(uris=(CLIENT,), facts={})),  # OpenSSL's word
    "certificate_expired": (None, EXPIRED),
}


@pytest.mark.parametrize("alert", REFUSED)
def test_claim_04_refused_handshake_is_tls_refused_with_the_alert(
    authority: Authority, start: Start, profile_of: ProfileOf, alert: str
) -> None:
    gate = start()
    profile = profile_of(gate)
    issuer, leaf = REFUSED[alert]
    (issuer or authority).issue(leaf).write(profile)
    with pytest.raises(warded.TlsRefused) as caught:
        call(profile)
    assert caught.value.alert == alert
    assert caught.value.reason is warded.Reason.TLS_REFUSED
    assert caught.value.phase is warded.Phase.TLS
    assert not caught.value.may_have_run
    gate.wait_for(lambda seen: len(seen.refusals) == 1)
    assert gate.seen.bytes_after_handshake == 0


def test_claim_04_no_certificate_is_tls_refused(
    start: Start, profile_of: ProfileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = start()
    profile = profile_of(gate)
    monkeypatch.setattr(warded.profile.Profile, "_load_key", lambda *_: None)
    with pytest.raises(warded.TlsRefused) as caught:
        call(profile)
    assert caught.value.alert == "certificate_required"
    gate.wait_for(lambda seen: len(seen.refusals) == 1)
    assert gate.seen.bytes_after_handshake == 0


def test_closed_port_is_unreachable_and_safe_to_retry(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    gate.close()
    with pytest.raises(warded.Unreachable, match="not sent, safe to retry") as caught:
        call(profile)
    assert caught.value.code() is warded.StatusCode.UNAVAILABLE
    assert caught.value.phase is warded.Phase.CONNECT
    assert not caught.value.may_have_run
    with pytest.raises(warded.Unreachable), warded.connect(profile) as channel:
        warded.run(["print(1)"], channel=channel)  # never an observation


def test_unknown_host_name_is_unreachable_while_resolving(
    start: Start, profile_of: ProfileOf
) -> None:
    profile = profile_of(start())
    (profile / "server").write_text("no-such-host.invalid:7443\n")
    with pytest.raises(warded.Unreachable, match=r"no-such-host\.invalid") as caught:
        call(profile)
    assert caught.value.phase is warded.Phase.RESOLVE


def test_the_next_server_is_dialled_when_the_first_is_down(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    (profile / "server").write_text(f"127.0.0.1:1\n{gate.server_line}")
    assert call(profile).status == v1.HealthCheckReply.SERVING


def test_wait_for_ready_outlasts_a_gate_that_is_down(
    gate_folder: Path, start: Start, profile_of: ProfileOf
) -> None:
    down = start()
    profile = profile_of(down)
    down.close()
    with warded.connect(profile) as channel:
        stub = v1.HealthStub(channel)
        patient = stub.Check.future(v1.HealthCheckRequest(), wait_for_ready=True)
        with pytest.raises(warded.Unreachable):
            stub.Check(v1.HealthCheckRequest())
        assert not patient.done()
        start(address=f"127.0.0.1:{down.port}")
        began = time.monotonic()
        assert patient.result().status == v1.HealthCheckReply.SERVING
        assert time.monotonic() - began < 20  # promised: 2


def test_a_restarted_gate_with_a_new_certificate_is_reached_again(
    tmp_path: Path, authority: Authority, start: Start, profile_of: ProfileOf
) -> None:
    first = start()
    with warded.connect(profile_of(first)) as channel:
        stub = v1.HealthStub(channel)
        stub.Check(v1.HealthCheckRequest())
        first.close()
        first.wait_for(lambda seen: seen.closed == 1)
        with pytest.raises(warded.Unreachable):
            stub.Check(v1.HealthCheckRequest())
        folder = write_gate(tmp_path / "again", authority, Leaf())
        second = start(folder=folder, address=f"127.0.0.1:{first.port}")
        stub.Check(v1.HealthCheckRequest())
    assert len(first.seen.requests) == len(second.seen.requests) == 1


def test_wait_for_ready_ends_at_its_deadline_without_grace(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    gate.close()
    began = time.monotonic()
    with pytest.raises(warded.DeadlineExceeded, match="safe to retry") as caught:
        call(profile, timeout=0.3, wait_for_ready=True)
    assert 0.25 < time.monotonic() - began < 2  # the grace
    assert caught.value.reason is warded.Reason.QUEUE_TIMEOUT
    assert not caught.value.may_have_run


def test_cancelled_before_it_is_sent_ends_at_once(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start()
    profile = profile_of(gate)
    gate.close()
    with warded.connect(profile) as channel:
        stub = v1.HealthStub(channel)
        waiting = stub.Check.future(v1.HealthCheckRequest(), wait_for_ready=True)
        assert waiting.cancel()
        with pytest.raises(warded.Cancelled, match="before it was sent"):
            waiting.result()


def talker(words: bytes, *, linger: threading.Event) -> int:
    """A port of a peer that is no gate: says `words`, then waits or goes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        with listener, peer:
            peer.sendall(words)
            linger.wait(10)
            no_fin = struct.pack("ii", 1, 0)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_fin)

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


@pytest.mark.parametrize("words", [b"SSH-2.0-OpenSSH_9\r\n", b"", b"\x15\x03\x03\0\0"])
def test_a_peer_that_speaks_no_tls_is_unreachable(
    start: Start, profile_of: ProfileOf, words: bytes
) -> None:
    profile = profile_of(start())
    gone = threading.Event()
    gone.set()
    (profile / "server").write_text(f"127.0.0.1:{talker(words, linger=gone)}\n")
    with pytest.raises(warded.Unreachable) as caught:
        call(profile)
    assert caught.value.phase in (warded.Phase.TLS, warded.Phase.CONNECT)


def test_a_peer_that_says_nothing_costs_no_more_than_the_deadline(
    start: Start, profile_of: ProfileOf
) -> None:
    profile = profile_of(start())
    stay = threading.Event()
    (profile / "server").write_text(f"127.0.0.1:{talker(b'', linger=stay)}\n")
    began = time.monotonic()
    with pytest.raises(warded.DeadlineExceeded) as caught:
        call(profile, timeout=0.3)
    assert time.monotonic() - began < 8  # the handshake itself may take 10
    assert caught.value.phase is warded.Phase.TLS
    stay.set()


def test_a_tls_peer_that_is_no_gate_is_refused_before_a_request(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(greeting=b"HTTP/1.1")
    with pytest.raises(warded.Unreachable, match="no gate"):
        call(profile_of(gate))
    assert gate.seen.bytes_after_handshake == 0


def test_an_absurd_frame_ends_the_connection_and_no_more(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(greeting=GREETING + (2**62).to_bytes(8, "big"))
    with pytest.raises(warded.RpcError) as caught:
        call(profile_of(gate))
    assert caught.value.reason in (
        warded.Reason.UNREACHABLE,
        warded.Reason.OUTCOME_UNKNOWN,
    )
