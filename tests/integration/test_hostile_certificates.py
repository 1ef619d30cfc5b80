"""Certificates as a stranger would have them, against a reference that is not ours."""

from __future__ import annotations

import base64
import json
import re
import socket
import ssl
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.fuzz import certificates as der
from tests.support import hostile
from tests.support.gate import Gate, program

COUNT = 10_000
SEGMENT = "[a-z0-9][a-z0-9._-]{0,62}"
NAME = re.compile(
    rf"spiffe://[a-z0-9][a-z0-9._-]{{0,252}}/ns/{SEGMENT}/owner/{SEGMENT}"
    rf"(/client/{SEGMENT}|(/pool/{SEGMENT})?/gate/{SEGMENT})"
)
DIGESTS = ("sha256", "sha384", "sha512")


def pem(data: bytes, what: str = "CERTIFICATE") -> str:
    """DER as PEM, also when it is none."""
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN {what}-----\n{text}-----END {what}-----\n"


def _gate_files(folder: Path) -> None:
    gate = hostile.URI.replace("/client/trainer", "/gate/g1")
    extensions = (
        hostile.basic(),
        hostile.usage(b"\x07\x80"),
        hostile.purposes(hostile.SERVER_AUTH),
        hostile.uri_name(gate),
    )
    leaf = hostile.Leaf(extensions, key=hostile.public_info(hostile.key_of(4)))
    (folder / "ca.pem").write_text(pem(hostile.ca_certificate()))
    (folder / "cert.pem").write_text(pem(leaf.signed()))
    key = folder / "key.pem"
    key.touch(mode=0o600)
    key.write_bytes(
        hostile.key_of(4).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def ours(folder: Path, chains: Sequence[Sequence[bytes]]) -> list[str]:
    """What our engine says of each chain: `ok URI` or `no CAUSE`."""
    data = bytearray()
    for chain in chains:
        data += struct.pack(">I", len(chain))
        for certificate in chain:
            data += struct.pack(">I", len(certificate)) + certificate
    done = subprocess.run(
        [program("judge_certs"), folder],
        input=bytes(data),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return done.stdout.decode().splitlines()


def openssl(folder: Path, certificates: Sequence[bytes]) -> list[bool]:
    """What `openssl verify` says of each as a TLS client's."""
    paths = [folder / f"{n:05}.pem" for n in range(len(certificates))]
    for path, data in zip(paths, certificates, strict=True):
        path.write_text(pem(data))
    command = ["openssl", "verify", "-CAfile", str(folder / "ca.pem")]
    command += ["-no-CApath", "-no-CAstore", "-purpose", "sslclient"]
    said = subprocess.run(
        [*command, *paths], capture_output=True, text=True, check=False, timeout=300
    ).stdout.splitlines()
    good = {line.removesuffix(": OK") for line in said if line.endswith(": OK")}
    return [str(path) in good for path in paths]


def _check_use(certificate: x509.Certificate) -> bool:
    found = certificate.extensions  # raises when one is there twice
    constraints = found.get_extension_for_class(x509.BasicConstraints).value
    usage = found.get_extension_for_class(x509.KeyUsage).value
    purposes = found.get_extension_for_class(x509.ExtendedKeyUsage).value
    return (
        not constraints.ca
        and usage.digital_signature
        and ExtendedKeyUsageOID.CLIENT_AUTH in purposes
    )


def _check_name(certificate: x509.Certificate) -> bool:
    kind = x509.SubjectAlternativeName
    names = certificate.extensions.get_extension_for_class(kind).value
    uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    return len(uris) == 1 and NAME.fullmatch(uris[0]) is not None


def _check_signed(certificate: x509.Certificate) -> bool:
    digest, now = certificate.signature_hash_algorithm, datetime.now(UTC)
    key = certificate.public_key()
    assert digest is not None
    hostile.CA_KEY.public_key().verify(
        certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(digest)
    )
    return (
        digest.name in DIGESTS
        and isinstance(key, ec.EllipticCurvePublicKey)
        and key.curve.name == "secp256r1"
        and certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
    )


REFUSALS = (
    ValueError,
    TypeError,
    AssertionError,
    InvalidSignature,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
)


def strict(data: bytes) -> bool:
    """The rules of docs/security.md in a few lines over another reader of DER.

    What follows a whole certificate in its place of the handshake never gets as far as
    our reader: mbedTLS leaves it out, and so does this.
    """
    if data[:2] == b"\x30\x82":
        data = data[: 4 + int.from_bytes(data[2:4], "big")]
    try:
        certificate = x509.load_der_x509_certificate(data)
        return (
            certificate.version is x509.Version.v3
            and 0 < certificate.serial_number < 1 << 160
            and certificate.public_bytes(serialization.Encoding.DER) == data
            and _check_use(certificate)
            and _check_name(certificate)
            and _check_signed(certificate)
        )
    except REFUSALS:
        return False


def test_claim_02_none_of_ten_thousand_mutations_gets_past_the_reference(
    tmp_path: Path,
) -> None:
    _gate_files(tmp_path)
    made = list(hostile.mutations(COUNT))
    verdicts = ours(tmp_path, [[data] for _, data in made])
    assert len(verdicts) == COUNT
    accepted = [m for m, said in zip(made, verdicts, strict=True) if said[:3] == "ok "]
    known = openssl(tmp_path, [data for _, data in accepted])
    wrong = [
        f"{kind}, openssl {good}, strict {strict(data)}: {data.hex()}"
        for (kind, data), good in zip(accepted, known, strict=True)
        if not (good and strict(data))
    ]
    counts = Counter(kind for kind, _ in accepted)
    print(f"{len(accepted)} of {COUNT} accepted: {dict(counts)}")
    assert not wrong, f"{len(wrong)} accepted wrongly\n" + "\n".join(wrong[:20])
    # A mutation may be harmless: when none was, the good one would not have passed.
    assert 50 < len(accepted) < COUNT // 2
    causes = Counter(said for said in verdicts if said[:3] == "no ")
    assert len(causes) >= 9, causes


def test_claim_02_the_good_one_passes_here_and_there(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    good = hostile.Leaf().signed()
    assert ours(tmp_path, [[good]]) == [f"ok {hostile.URI}"]
    assert openssl(tmp_path, [good]) == [True]
    assert strict(good)


def test_claim_02_chains_of_strangers_are_refused(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    client = hostile.Leaf().signed()
    issuer = hostile.Leaf().subject
    below = hostile.Leaf(issuer=issuer, key=hostile.public_info(hostile.OTHER_KEY))
    false_ca = hostile.ca_certificate(hostile.OTHER_KEY)
    chains = {
        "signed by a client": [below.signed(hostile.CLIENT_KEY), client],
        "signed by a false CA of our CA's name": [
            hostile.Leaf().signed(hostile.OTHER_KEY),
            false_ca,
        ],
        "below a false CA, a hundred times": [
            hostile.Leaf().signed(hostile.OTHER_KEY),
            *[false_ca] * 100,
        ],
        "the CA itself": [hostile.ca_certificate()],
    }
    said = dict(zip(chains, ours(tmp_path, list(chains.values())), strict=True))
    assert all(line.startswith("no ") for line in said.values()), said


def test_claim_02_a_long_chain_behind_a_good_leaf_costs_little(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    good, other = hostile.Leaf().signed(), hostile.ca_certificate(hostile.OTHER_KEY)
    said = ours(tmp_path, [[good, *[other] * 500]] * 20)
    assert said == [f"ok {hostile.URI}"] * 20


USUAL = hostile.Leaf().extensions
SAN = hostile.uri_name(hostile.URI)
TRAILING = der.extension(
    der.SAN, der.tlv(0x30, der.tlv(0x86, hostile.URI.encode())) + b"\0"
)
MIXED_CASE = hostile.uri_name(hostile.URI.replace("owner", "Owner"))
CA = hostile.basic(der.tlv(0x01, b"\xff"))

# What is wrong, the extensions, and the cause on record.
FAULTS: dict[str, tuple[tuple[bytes, ...], str]] = {
    "trailing bytes in the SAN": ((*USUAL[:3], TRAILING), "unreadable_certificate"),
    "mixed case": ((*USUAL[:3], MIXED_CASE), "bad_san"),
    "two SANs": ((*USUAL, SAN), "unreadable_certificate"),
    "a fact twice": ((*USUAL, der.fact(1, "bob")), "bad_fact"),
    "a CA": ((CA, *USUAL[1:]), "ca_certificate"),
    "key agreement": ((USUAL[0], hostile.usage(b"\x03\x08"), *USUAL[2:]), "bad_usage"),
    "no key usage": ((USUAL[0], *USUAL[2:]), "bad_usage"),
    "for servers": (
        (*USUAL[:2], hostile.purposes(hostile.SERVER_AUTH), SAN),
        "bad_usage",
    ),
    "for anything": (
        (*USUAL[:2], hostile.purposes(hostile.ANY_USAGE), SAN),
        "bad_usage",
    ),
}


def test_claim_02_named_faults_have_their_cause(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    chains = [[hostile.Leaf(extensions).signed()] for extensions, _ in FAULTS.values()]
    said = dict(zip(FAULTS, ours(tmp_path, chains), strict=True))
    assert said == {name: f"no {cause}" for name, (_, cause) in FAULTS.items()}


# --- the same before a real gate ------------------------------------------------------


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
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.write_text("".join(map(pem, chain)) + secret.decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self._folder / "ca.pem")
        context.load_cert_chain(path)
        host, port = self._gate.address.rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), 10) as plain,
            context.wrap_socket(plain) as tls,
        ):
            tls.sendall(b"\0SP\0\0\x30\0\0")
            return tls.recv(8)

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
LEAVES["not yet"] = (hostile.Leaf(times=LATER), hostile.CLIENT_KEY, "not_yet_valid")
LEAVES["P-384"] = (hostile.Leaf(key=hostile.public_info(P384)), P384, "weak_key")


def expect_refusal(
    door: Door, chain: Sequence[bytes], key: hostile.Key, cause: str
) -> None:
    """Refused, not a byte of SP said, and on record as `cause`."""
    before = door.refused()
    with pytest.raises(OSError, match=r"alert|reset|EOF|violation"):
        door.knock(chain, key)
    end = time.monotonic() + 10
    while door.refused() == before and time.monotonic() < end:
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
    leaf = hostile.Leaf(key=hostile.public_info(hostile.CLIENT_KEY))
    false_ca = hostile.ca_certificate(hostile.OTHER_KEY)
    for count in (8, 300):
        chain = [leaf.signed(hostile.OTHER_KEY), *[false_ca] * count]
        with pytest.raises(OSError, match=r"alert|reset|EOF|violation|pipe"):
            door.knock(chain, hostile.CLIENT_KEY)
    good = hostile.Leaf(issuer=door.issuer).signed(door.key)
    assert door.knock([good], hostile.CLIENT_KEY) == b"\0SP\0\0\x31\0\0"
