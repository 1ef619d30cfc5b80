"""A gate's door, and certificates with one fault each to knock with."""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support import hostile, hostile_keys
from tests.support.gate import Home
from tests.support.hostile_faults import FAULTS

# How OpenSSL puts a refusal. What mbedTLS refuses by itself, since it can't read the
# certificate, it says in a record that OpenSSL can't read.
HEARD = re.compile(r"alert|reset|EOF|pipe|record layer failure")

GREETING = b"\0SP\0\0\x30\0\0"
PATIENCE_S = 10
QUERY = "audit query -o jsonl"

# The certificate before its CA signs it, its key, the cause on record.
LEAVES: dict[str, tuple[hostile.Leaf, hostile_keys.Key, str]] = {
    name: (hostile.Leaf(extensions), hostile.CLIENT_KEY, cause)
    for name, (extensions, cause) in FAULTS.items()
}
LATER = (b"480101000000Z", b"491231235959Z")
EARLIER = (b"240101000000Z", b"241231235959Z")
LEAVES["not yet"] = (hostile.Leaf(times=LATER), hostile.CLIENT_KEY, "not_yet_valid")
LEAVES["expired"] = (hostile.Leaf(times=EARLIER), hostile.CLIENT_KEY, "expired")
LEAVES["SHA-1"] = (hostile.Leaf(digest="sha1"), hostile.CLIENT_KEY, "weak_key")
# TLS 1.3 has no signature by these: OpenSSL shows no certificate then. What the gate
# says of one is in test_hostile_certificates.
NOT_SHOWN = ("P-224", "secp256k1", "Ed25519")
for _name, _key in hostile.ODD_KEYS.items():
    _leaf = hostile.Leaf(key=hostile_keys.public_info(_key))
    LEAVES[_name] = _leaf, _key, "no_certificate" if _name in NOT_SHOWN else "weak_key"


class Door:
    """A gate's door, and its CA in the hands of the test."""

    def __init__(self, home: Path, folder: Path) -> None:
        """`home`: the gate's; `folder`: a place for files."""
        self._home, self._folder = home, folder
        ca = home / "state/ca"
        key = serialization.load_pem_private_key((ca / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self.key = key
        text = (ca / "ca.pem").read_bytes()
        self.issuer = x509.load_pem_x509_certificate(text).subject.public_bytes()
        (folder / "ca.pem").write_bytes(text)

    def knock(
        self, chain: Sequence[bytes], key: hostile_keys.Key, *, more: bytes = b""
    ) -> bytes:
        """What the gate says after the handshake. OSError: it refused.

        Greeting and `more` are sent before it has judged. No chain: no certificate.
        """
        path = self._folder / "chain.pem"
        secret = hostile_keys.key_pem(key)
        path.write_text("".join(map(hostile.pem, chain)) + secret.decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.set_ciphers("DEFAULT@SECLEVEL=0")  # to show what is weak
        context.load_verify_locations(self._folder / "ca.pem")
        if chain:
            context.load_cert_chain(path)
        host, port = (self._home / "run/address").read_text().strip().rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), 10) as plain,
            context.wrap_socket(plain) as tls,
        ):
            tls.sendall(GREETING + more)
            said = tls.recv(8)
            if not said:  # it closed before its alert could be read
                raise ConnectionResetError("EOF")
            return said

    def refused(self) -> Counter[str]:
        """Handshakes refused so far, by cause."""
        done = Home(self._home).tokctl(*f"{QUERY} --event tls.reject".split())
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        counts: Counter[str] = Counter()
        for row in rows:
            counts[row["reason"]] += json.loads(row["detail"])["count"]
        return counts

    def wait_for(self, wanted: Counter[str], *, since: Counter[str]) -> bool:
        """Whether these, and no others, came on record; rows are coalesced, so they
        come a little later."""
        end = time.monotonic() + PATIENCE_S
        while (seen := self.refused() - since) != wanted and time.monotonic() < end:
            time.sleep(0.05)
        return seen == wanted
