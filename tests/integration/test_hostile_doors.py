"""Certificates with one fault each before a real gate: refused, and on record."""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support import hostile
from tests.support.gate import Gate
from tests.support.hostile_faults import FAULTS

# How OpenSSL puts a refusal. What mbedTLS refuses by itself, since it can't read the
# certificate, it says in a record that OpenSSL can't read.
HEARD = re.compile(r"alert|reset|EOF|pipe|record layer failure")


class Door:
    """A gate's door, and its CA in the hands of the test."""

    def __init__(self, gate: Gate, folder: Path) -> None:
        self._gate, self._folder = gate, folder
        ca = gate.home.path / "state/ca"
        key = serialization.load_pem_private_key((ca / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self.key = key
        text = (ca / "ca.pem").read_bytes()
        self.issuer = x509.load_pem_x509_certificate(text).subject.public_bytes()
        (folder / "ca.pem").write_bytes(text)

    def knock(self, chain: Sequence[bytes], key: hostile.Key) -> bytes:
        """What the gate says after the handshake. OSError: it refused."""
        path = self._folder / "chain.pem"
        secret = hostile.key_pem(key)
        path.write_text("".join(map(hostile.pem, chain)) + secret.decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.set_ciphers("DEFAULT@SECLEVEL=0")  # to show what is weak
        context.load_verify_locations(self._folder / "ca.pem")
        context.load_cert_chain(path)
        host, port = self._gate.address.rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), 10) as plain,
            context.wrap_socket(plain) as tls,
        ):
            tls.sendall(b"\0SP\0\0\x30\0\0")
            said = tls.recv(8)
            if not said:  # it closed before its alert could be read
                raise ConnectionResetError("EOF")
            return said

    def refused(self) -> Counter[str]:
        """Handshakes refused so far, by cause."""
        said = self._gate.home.tokctl(
            "audit", "query", "--event", "tls.reject", "-o", "jsonl"
        )
        rows = [json.loads(line) for line in said.stdout.splitlines()]
        counts: Counter[str] = Counter()
        for row in rows:
            counts[row["reason"]] += json.loads(row["detail"])["count"]
        return counts


@pytest.fixture
def door(gate: Gate, tmp_path: Path) -> Door:
    """The door of the file's one gate."""
    return Door(gate, tmp_path)


LEAVES: dict[str, tuple[hostile.Leaf, hostile.Key, str]] = {
    name: (hostile.Leaf(extensions), hostile.CLIENT_KEY, cause)
    for name, (extensions, cause) in FAULTS.items()
}
P384 = hostile.key_of(5, ec.SECP384R1())
LATER = (b"480101000000Z", b"491231235959Z")
EARLIER = (b"240101000000Z", b"241231235959Z")
LEAVES["not yet"] = (hostile.Leaf(times=LATER), hostile.CLIENT_KEY, "not_yet_valid")
LEAVES["expired"] = (hostile.Leaf(times=EARLIER), hostile.CLIENT_KEY, "expired")
LEAVES["P-384"] = (hostile.Leaf(key=hostile.public_info(P384)), P384, "weak_key")
LEAVES["SHA-1"] = (hostile.Leaf(digest="sha1"), hostile.CLIENT_KEY, "weak_key")


def expect_refusal(
    door: Door, chain: Sequence[bytes], key: hostile.Key, cause: str
) -> None:
    """Refused, not a byte of SP said, and on record as `cause`."""
    before = door.refused()
    with pytest.raises(OSError, match=HEARD):
        door.knock(chain, key)
    end = time.monotonic() + 10
    while door.refused()[cause] == before[cause] and time.monotonic() < end:
        time.sleep(0.05)
    assert door.refused() - before == Counter({cause: 1})


@pytest.mark.parametrize("name", LEAVES)
def test_claim_02_a_gate_refuses_named_faults_on_record(door: Door, name: str) -> None:
    leaf, key, cause = LEAVES[name]
    signed = replace(leaf, issuer=door.issuer).signed(door.key)
    expect_refusal(door, [signed], key, cause)


def test_claim_02_a_gate_takes_the_good_one(door: Door) -> None:
    good = hostile.Leaf(issuer=door.issuer).signed(door.key)
    assert door.knock([good], hostile.CLIENT_KEY) == b"\0SP\0\0\x31\0\0"


def test_claim_02_a_gate_refuses_what_a_client_signed(door: Door) -> None:
    client = hostile.Leaf(issuer=door.issuer).signed(door.key)
    other = hostile.public_info(hostile.OTHER_KEY)
    below = hostile.Leaf(issuer=hostile.Leaf().subject, key=other)
    chain = [below.signed(hostile.CLIENT_KEY), client]
    expect_refusal(door, chain, hostile.OTHER_KEY, "unknown_ca")


def test_claim_02_a_huge_chain_is_refused_and_the_next_peer_served(door: Door) -> None:
    good = hostile.Leaf(issuer=door.issuer).signed(door.key)
    false_ca = hostile.ca_certificate(hostile.OTHER_KEY)
    below = hostile.Leaf().signed(hostile.OTHER_KEY)
    expect_refusal(door, [below, *[false_ca] * 8], hostile.CLIENT_KEY, "unknown_ca")
    for leaf in (below, good):
        chain = [leaf, *[false_ca] * 300]
        expect_refusal(door, chain, hostile.CLIENT_KEY, "huge_chain")
    assert door.knock([good], hostile.CLIENT_KEY) == b"\0SP\0\0\x31\0\0"
