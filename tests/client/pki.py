"""A CA for tests, and the certificates that a gate and its impostors would have."""

from __future__ import annotations

import datetime as dt
import string
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ARC = "2.25.187663191962772120820425601056173538086"
GATE = "spiffe://warded.test/ns/default/owner/ada/gate/box"
OTHER_GATE = "spiffe://warded.test/ns/default/owner/ada/gate/other"
CLIENT = "spiffe://warded.test/ns/default/owner/ada/client/trainer"
FACTS: Mapping[int, str] = {1: "ada", 2: "default", 6: "127.0.0.1 localhost"}

Key = ec.EllipticCurvePrivateKey
HOUR = dt.timedelta(hours=1)


@dataclass(frozen=True)
class Leaf:
    """What to put into a certificate."""

    uris: Sequence[str] = (GATE,)
    facts: Mapping[int, str] = field(default_factory=lambda: FACTS)
    raw_facts: Sequence[tuple[int, bytes]] = ()  # DER as given, after `facts`
    san: bool = True
    starts: dt.timedelta = -HOUR
    ends: dt.timedelta = 24 * HOUR


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, PEM."""

    cert: bytes
    key: bytes

    @property
    def der(self) -> bytes:
        """The certificate, DER."""
        return x509.load_pem_x509_certificate(self.cert).public_bytes(
            serialization.Encoding.DER
        )

    def write(self, folder: Path) -> None:
        """Into cert.pem and key.pem."""
        (folder / "cert.pem").write_bytes(self.cert)
        key = folder / "key.pem"
        key.touch(mode=0o600)
        key.write_bytes(self.key)


class Authority:
    """A CA. Two of the same name are still two."""

    def __init__(self, name: str = "warded test CA") -> None:
        self._key: Key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self._name, self._name, self._key, Leaf(san=False))
        ca = x509.BasicConstraints(ca=True, path_length=0)
        builder = builder.add_extension(ca, critical=True)
        self._cert = builder.sign(self._key, hashes.SHA256())

    @classmethod
    def load(cls, cert: Path, key: Path) -> Authority:
        """A CA that is there already: a real gate's."""
        self = cls.__new__(cls)
        self._cert = x509.load_pem_x509_certificate(cert.read_bytes())
        self._name = self._cert.subject
        loaded = serialization.load_pem_private_key(key.read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        self._key = loaded
        return self

    @classmethod
    def double(cls, other: Authority) -> Authority:
        """Another CA that goes by the same name."""
        self = cls()
        self._name = other._name
        return self

    @property
    def pem(self) -> bytes:
        """The CA's certificate."""
        return self._cert.public_bytes(serialization.Encoding.PEM)

    def issue(self, leaf: Leaf) -> Pair:
        """A certificate with a fresh key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")])
        builder = _builder(subject, self._name, key, leaf)
        usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        builder = builder.add_extension(_digital_signature(), critical=True)
        no_ca = x509.BasicConstraints(ca=False, path_length=None)
        builder = builder.add_extension(no_ca, critical=True)
        if leaf.san:
            names = [x509.UniformResourceIdentifier(uri) for uri in leaf.uris]
            san = x509.SubjectAlternativeName([*names, x509.DNSName("localhost")])
            builder = builder.add_extension(san, critical=False)
        facts = [(n, utf8(text)) for n, text in leaf.facts.items()]
        for number, der in [*facts, *leaf.raw_facts]:
            oid = x509.ObjectIdentifier(f"{ARC}.{number}")
            raw = x509.UnrecognizedExtension(oid, der)
            builder = builder.add_extension(raw, critical=False)
        return _pair(builder.sign(self._key, hashes.SHA256()), key)


def utf8(text: str) -> bytes:
    """A DER UTF8String of less than 128 bytes."""
    body = text.encode()
    return bytes((0x0C, len(body))) + body


def make_profile(folder: Path, authority: Authority, server: str) -> Path:
    """A whole profile folder of CLIENT; `server`: the file's text."""
    folder.mkdir()
    authority.issue(Leaf(uris=(CLIENT,), facts={})).write(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    (folder / "server").write_text(server)
    write_token(folder, TOKEN)
    return folder


def write_token(folder: Path, text: str) -> None:
    """The token file, 0600."""
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(text)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: Key,
    leaf: Leaf,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + leaf.starts)
        .not_valid_after(now + leaf.ends)
    )


def _digital_signature() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(cert: x509.Certificate, key: Key) -> Pair:
    return Pair(
        cert.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def make_token(secret: str = "a" * 43, *, kind: str = "t") -> str:
    """A token's text with right check digits."""
    body = f"wd{kind}1_" + "0123456789" + secret
    return body + _base62(zlib.crc32(body.encode())).rjust(6, "0")


def _base62(value: int) -> str:
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    text = ""
    while value:
        value, digit = divmod(value, 62)
        text = digits[digit] + text
    return text


TOKEN = make_token()
