"""Certificates as a stranger would have them, against a reference that is not ours."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.support import hostile, hostile_keys
from tests.support.gate import program
from tests.support.hostile_faults import FAULTS

LONG = bool(os.environ.get("WARDED_LONG"))
COUNT = 100_000 if LONG else 10_000
SEGMENT = "[a-z0-9][a-z0-9._-]{0,62}"
NAME = re.compile(
    rf"spiffe://[a-z0-9][a-z0-9._-]{{0,252}}/ns/{SEGMENT}/owner/{SEGMENT}"
    rf"(/client/{SEGMENT}|(/pool/{SEGMENT})?/gate/{SEGMENT})"
)
DIGESTS = ("sha256", "sha384", "sha512")


def _gate_files(folder: Path) -> None:
    gate = hostile.URI.replace("/client/trainer", "/gate/g1")
    extensions = (
        hostile.basic(),
        hostile.usage(b"\x07\x80"),
        hostile.purposes(hostile.SERVER_AUTH),
        hostile.uri_name(gate),
    )
    leaf = hostile.Leaf(
        extensions, key=hostile_keys.public_info(hostile_keys.key_of(4))
    )
    (folder / "ca.pem").write_text(hostile.pem(hostile.ca_certificate()))
    (folder / "cert.pem").write_text(hostile.pem(leaf.signed()))
    key = folder / "key.pem"
    key.touch(mode=0o600)
    key.write_bytes(hostile_keys.key_pem(hostile_keys.key_of(4)))


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
        path.write_text(hostile.pem(data))
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


@pytest.mark.limit(3600 if LONG else 180)
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
    below = hostile.Leaf(issuer=issuer, key=hostile_keys.public_info(hostile.OTHER_KEY))
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


def test_claim_02_keys_of_other_kinds_are_refused(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    leaves = [
        [hostile.Leaf(key=hostile_keys.public_info(key)).signed()]
        for key in hostile.ODD_KEYS.values()
    ]
    between = [hostile.below_another(key) for key in hostile.ODD_KEYS.values()]
    wanted = [
        f"no {hostile.UNREADABLE if name == 'Ed25519' else 'weak_key'}"
        for name in hostile.ODD_KEYS
    ]
    assert ours(tmp_path, leaves) == wanted
    assert ours(tmp_path, between) == wanted
    sha1 = hostile.below_another(hostile.OTHER_KEY, digest="sha1")
    assert ours(tmp_path, [sha1]) == ["no weak_key"]
    good = hostile.below_another(hostile.OTHER_KEY)
    assert ours(tmp_path, [good]) == [f"ok {hostile.URI}"]  # a CA that allows CAs


def test_claim_02_a_long_chain_behind_a_good_leaf_costs_little(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    good, other = hostile.Leaf().signed(), hostile.ca_certificate(hostile.OTHER_KEY)
    said = ours(tmp_path, [[good, *[other] * 500]] * 20)
    assert said == [f"ok {hostile.URI}"] * 20


def test_claim_02_named_faults_have_their_cause(tmp_path: Path) -> None:
    _gate_files(tmp_path)
    chains = [[hostile.Leaf(extensions).signed()] for extensions, _ in FAULTS.values()]
    said = dict(zip(FAULTS, ours(tmp_path, chains), strict=True))
    assert said == {name: f"no {cause}" for name, (_, cause) in FAULTS.items()}
