"""What was reported of certificates elsewhere, before a gate and both stubs.

The table "Failures that were reported elsewhere" of docs/testing.md names each.
"""

from __future__ import annotations

import datetime as dt
import os
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import warded
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import PrivateFormat
from warded import v1

from tests.client.c_caller import calling
from tests.client.pki import HOUR, Leaf
from tests.fuzz.certificates import CLIENT_AUTH
from tests.integration.test_c_client import TRAINER, authority
from tests.integration.test_gate_reload import row
from tests.support import hostile, hostile_keys, strangers
from tests.support.calls import WHO
from tests.support.door import Door
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import RefusedError, StubGate

RELOADS = 100 if os.environ.get("WARDED_LONG") else 20
FACTS = {1: "root", 2: "default", 6: "127.0.0.1 localhost"}


def by_python(profile: Path) -> str:
    """How a call ends: "ok", or what it says."""
    try:
        with warded.connect(profile) as channel:
            v1.HealthStub(channel).Check(v1.HealthCheckRequest(), timeout=10)
    except warded.RpcError as error:
        return error.details()
    return "ok"


def by_c(profile: Path) -> str:
    """The same by libwarded."""
    with calling(profile) as caller:
        answer = caller.check()
    return "ok" if answer.reason == "ok" else answer.message


STUBS: list[Callable[[Path], str]] = [by_python, by_c]


def trainer(home: Home) -> Path:
    return home.path / "profile/trainer"


def served(stub: StubGate) -> bytes:
    """The certificate that a new connection is shown, as PEM."""
    host, port = stub.address.rsplit(":", 1)
    return ssl.get_server_certificate((host, int(port))).encode()


# --- kubernetes/kubernetes#127538 ----------------------------------------------------


def gate_uri(home: Home) -> str:
    own = x509.load_pem_x509_certificate(
        (home.path / "state/gate/cert.pem").read_bytes()
    )
    names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    (uri,) = names.get_values_for_type(x509.UniformResourceIdentifier)
    return str(uri)


def new_pair(
    home: Home, starts: dt.timedelta = -HOUR, ends: dt.timedelta = 24 * HOUR
) -> dict[str, bytes]:
    """Of the same gate, by the same CA: cert.pem and key.pem."""
    leaf = Leaf(uris=(gate_uri(home),), facts=FACTS, starts=starts, ends=ends)
    pair = authority(home).issue(leaf)
    return {"cert.pem": pair.cert, "key.pem": pair.key}


@pytest.mark.parametrize("order", [("cert.pem", "key.pem"), ("key.pem", "cert.pem")])
def test_half_a_new_pair_changes_nothing_and_the_whole_one_is_served(
    stub: StubGate, order: tuple[str, str]
) -> None:
    home, old = stub.home, served(stub)
    pair = new_pair(home)
    with RawClient(trainer(home)) as held:
        for n, name in enumerate(order):
            (home.path / "state/gate" / name).write_bytes(pair[name])
            stub.do("reload")
            told = row(home, n + 1)
            assert told["outcome"] == ("failed", "ok")[n], told
            assert n or "do not belong together" in str(told["detail"])
            assert (served(stub) == old) == (n == 0)
            assert [by(trainer(home)) for by in STUBS] == ["ok", "ok"]
            assert held.call(WHO).code == 0
    assert x509.load_pem_x509_certificate(served(stub)) == (
        x509.load_pem_x509_certificate(pair["cert.pem"])
    )


@pytest.mark.parametrize("what", ["expired", "unreadable"])
def test_a_pair_that_can_not_be_served_changes_nothing(
    stub: StubGate, what: str
) -> None:
    home, old = stub.home, served(stub)
    days = -1 if what == "expired" else 1
    for name, data in new_pair(home, -48 * HOUR, 24 * HOUR * days).items():
        (home.path / "state/gate" / name).write_bytes(data)
    if what == "unreadable":
        (home.path / "state/gate/cert.pem").chmod(0)
    stub.do("reload")
    told = row(home)
    assert told["outcome"] == "failed"
    assert "cert.pem" in str(told["detail"]) or "expired" in str(told["detail"])
    assert served(stub) == old
    assert by_python(trainer(home)) == "ok"


def test_reloads_beside_new_connections_drop_nobody(stub: StubGate) -> None:
    connected = Counter[int]()

    def connect() -> None:
        with RawClient(trainer(stub.home)) as raw:
            connected[raw.call(WHO).code] += 1

    with RawClient(trainer(stub.home)) as held, strangers.meanwhile(connect):
        for n in range(RELOADS):
            stub.do("reload")
            assert row(stub.home, n + 1)["outcome"] == "ok"
        assert held.call(WHO).code == 0
    assert set(connected) == {0}
    assert connected[0] > RELOADS // 4


# --- PeculiarVentures/x509#73 --------------------------------------------------------

ENDS = (
    "2049-12-31T23:59:59",
    "2050-01-01T00:00:00",
    "2081-06-01",
    "9999-12-31T23:59:59",
)


def until(text: str) -> dt.timedelta:
    end = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    return end - dt.datetime.now(dt.UTC) + dt.timedelta(milliseconds=500)


@pytest.mark.parametrize("end", ENDS)
def test_certificates_may_end_after_2049(stub: StubGate, end: str) -> None:
    """A client's; and the gate's own, which both stubs judge."""
    home = stub.home
    ca = authority(home)
    ca.issue(Leaf(uris=(TRAINER,), facts={}, ends=until(end))).write(trainer(home))
    for name, data in new_pair(home, ends=until(end)).items():
        (home.path / "state/gate" / name).write_bytes(data)
    stub.do("reload")
    assert row(home)["outcome"] == "ok"
    shown = x509.load_pem_x509_certificate(served(stub))
    assert shown.not_valid_after_utc.isoformat()[: len(end)] == end
    assert [by(trainer(home)) for by in STUBS] == ["ok", "ok"]


def test_a_certificate_of_tomorrow_is_told_as_such(stub: StubGate) -> None:
    leaf = Leaf(uris=(TRAINER,), facts={}, starts=dt.timedelta(seconds=3600))
    authority(stub.home).issue(leaf).write(trainer(stub.home))
    said = [by(trainer(stub.home)) for by in STUBS]
    assert "ok" not in said
    assert strangers.wait_counted(stub, "tls.reject", 2, "not_yet_valid") == 2


# --- postmanlabs/postman-app-support#14275 -------------------------------------------


def odd_pair(home: Home, folder: Path, kind: str, uri: str) -> tuple[bytes, bytes]:
    """A certificate of another kind of key, by the gate's CA, and the key."""
    door = Door(home.path, folder)
    key = hostile.ODD_KEYS[kind]
    extensions = (
        hostile.basic(),
        hostile.usage(b"\x07\x80"),
        hostile.purposes(hostile.SERVER_AUTH, CLIENT_AUTH),
        hostile.uri_name(uri),
    )
    leaf = hostile.Leaf(
        extensions, key=hostile_keys.public_info(key), issuer=door.issuer
    )
    return hostile.pem(leaf.signed(door.key)).encode(), hostile_keys.key_pem(key)


@pytest.mark.parametrize("kind", hostile.ODD_KEYS)
def test_a_key_of_another_kind_is_named_before_it_is_used(
    home: Home, tmp_path: Path, kind: str
) -> None:
    """By both stubs, and by a gate that starts."""
    for folder, uri in (
        (trainer(home), TRAINER),
        (home.path / "state/gate", gate_uri(home)),
    ):
        cert, key = odd_pair(home, tmp_path, kind, uri)
        (folder / "cert.pem").write_bytes(cert)
        (folder / "key.pem").write_bytes(key)
    (trainer(home) / "server").write_text("127.0.0.1:1\n")
    for by in STUBS:
        said = by(trainer(home))
        assert "cert.pem" in said, said
        assert "P-256" in said or "unsupported" in said.lower(), said
    with pytest.raises(RefusedError, match=r"cert\.pem.*(P-256|nsupported)"):
        StubGate(home).start()


def forms(key: bytes) -> Iterator[tuple[str, bytes]]:
    """The same key in each form that tools write."""
    loaded = serialization.load_pem_private_key(key, None)
    plain, pem = serialization.NoEncryption(), serialization.Encoding.PEM
    sec1 = loaded.private_bytes(pem, PrivateFormat.TraditionalOpenSSL, plain)
    yield "SEC 1", sec1
    yield "PKCS 8", loaded.private_bytes(pem, PrivateFormat.PKCS8, plain)
    kind = "EC PARAMETERS"
    head = f"-----BEGIN {kind}-----\nBggqhkjOPQMBBw==\n-----END {kind}-----\n"
    yield "parameters first", head.encode() + sec1
    secret = serialization.BestAvailableEncryption(b"secret")
    yield "encrypted", loaded.private_bytes(pem, PrivateFormat.PKCS8, secret)


def test_a_key_in_any_form_is_read_and_an_encrypted_one_told(stub: StubGate) -> None:
    key = trainer(stub.home) / "key.pem"
    for form, text in forms(key.read_bytes()):
        key.write_bytes(text)
        said = [by(trainer(stub.home)) for by in STUBS]
        if form == "encrypted":
            assert all("encrypted" in one for one in said), said
        else:
            assert said == ["ok", "ok"], (form, said)
