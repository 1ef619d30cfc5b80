"""Which issuer counts, as openssl/openssl#18708 has it, before a gate and both stubs.

docs/testing.md, "Failures that were reported elsewhere".
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.integration.test_gate_reload import row
from tests.integration.test_reported_tls import STUBS, by_python, trainer
from tests.support import hostile
from tests.support.door import HEARD, Door
from tests.support.gate import Home
from tests.support.stub_gate import StubGate


def old_root(home: Home, key: ec.EllipticCurvePrivateKey) -> bytes:
    """One of our CA's name that has expired long ago."""
    text = (home.path / "state/ca/ca.pem").read_bytes()
    root = x509.load_pem_x509_certificate(text)
    then = dt.datetime.now(dt.UTC) - dt.timedelta(days=700)
    builder = (
        x509.CertificateBuilder()
        .subject_name(root.subject)
        .issuer_name(root.subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(then)
        .not_valid_after(then + dt.timedelta(days=30))
    )
    for name in (x509.BasicConstraints, x509.KeyUsage):
        extension = root.extensions.get_extension_for_class(name)
        builder = builder.add_extension(extension.value, extension.critical)
    made = builder.sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize("same_key", [True, False])
def test_an_old_root_of_the_same_name_is_in_nobodys_way(
    stub: StubGate, tmp_path: Path, same_key: bool
) -> None:
    home = stub.home
    own = Door(home.path, tmp_path).key
    old = old_root(home, own if same_key else ec.generate_private_key(ec.SECP256R1()))
    for path in (trainer(home) / "ca.pem", home.path / "state/gate/ca.pem"):
        path.write_bytes(old + path.read_bytes())
    stub.do("reload")
    assert row(home)["outcome"] == "ok"
    assert [by(trainer(home)) for by in STUBS] == ["ok", "ok"]


def test_a_leaf_is_nobodys_anchor(stub: StubGate, tmp_path: Path) -> None:
    """One that signed itself, in the lists of CAs; one whose issuer is not sent."""
    home = stub.home
    door = Door(home.path, tmp_path)
    alone = hostile.Leaf(issuer=hostile.Leaf().subject).signed(hostile.CLIENT_KEY)
    cas = home.path / "state/gate/ca.pem"
    cas.write_text(cas.read_text() + hostile.pem(alone))
    stub.do("reload")
    told = row(home)
    assert told["outcome"] == "failed"
    assert "certificate 2 of it is no CA's" in str(told["detail"])
    below = hostile.below_another(hostile.OTHER_KEY, (door.issuer, door.key))
    for chain in ([alone], below[:1]):
        with pytest.raises(OSError, match=HEARD):
            door.knock(chain, hostile.CLIENT_KEY)
    assert by_python(trainer(home)) == "ok"
    (trainer(home) / "ca.pem").write_bytes(cas.read_bytes())
    assert ["no CA's" in by(trainer(home)) for by in STUBS] == [True, True]
