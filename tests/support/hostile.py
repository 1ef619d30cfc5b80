"""Ten thousand certificates that are not quite a good client's: made, and judged.

Everything follows from one seed: keys, mutations, their order. Only the signatures, of
which ECDSA makes another each time, differ from run to run.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.fuzz import certificates as der
from tests.fuzz.certificates import tlv
from tests.support import der_tree

SEED = 20261130
CA_NAME = "Hostile Test CA"
URI = "spiffe://test.example/ns/default/owner/ann/client/trainer"

ECDSA = {
    "sha1": "2a8648ce3d0401",
    "sha224": "2a8648ce3d040301",
    "sha256": "2a8648ce3d040302",
}
HASHES: dict[str, hashes.HashAlgorithm] = {
    "sha1": hashes.SHA1(),
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
}
SERVER_AUTH, ANY_USAGE = "2b06010505070301", "551d2500"

Key = ec.EllipticCurvePrivateKey


def key_of(number: int, curve: ec.EllipticCurve | None = None) -> Key:
    """A key, always the same for the same number."""
    secret = random.Random(SEED + number).getrandbits(190) + 1
    return ec.derive_private_key(secret, curve or ec.SECP256R1())


CA_KEY, CLIENT_KEY, OTHER_KEY = key_of(1), key_of(2), key_of(3)


def public_info(key: Key) -> bytes:
    """SubjectPublicKeyInfo."""
    return key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def basic(*parts: bytes) -> bytes:
    """basicConstraints."""
    return der.extension(der.BASIC, tlv(0x30, *parts), critical=True)


def usage(bits: bytes) -> bytes:
    """keyUsage with this content of its BIT STRING."""
    return der.extension(der.USAGE, tlv(0x03, bits), critical=True)


def purposes(*oids: str) -> bytes:
    """extendedKeyUsage."""
    return der.extension(der.EXTENDED, tlv(0x30, *(der.oid(o) for o in oids)))


def uri_name(uri: str) -> bytes:
    """subjectAltName with one URI."""
    return der.alternative_names((6, uri.encode()))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate before it is signed; as it stands, a good client's."""

    extensions: tuple[bytes, ...] = field(
        default_factory=lambda: (
            basic(),
            usage(b"\x07\x80"),
            purposes(der.CLIENT_AUTH),
            uri_name(URI),
            der.fact(1, "ann"),
        )
    )
    serial: bytes = b"\x0a\x1b"
    issuer: bytes = field(default_factory=lambda: der.name(CA_NAME))
    subject: bytes = field(default_factory=lambda: der.name("trainer"))
    times: tuple[bytes, bytes] = (b"250101000000Z", b"491231235959Z")
    key: bytes = field(default_factory=lambda: public_info(CLIENT_KEY))
    digest: str = "sha256"

    def to_be_signed(self) -> bytes:
        """TBSCertificate."""
        return tlv(
            0x30,
            tlv(0xA0, tlv(0x02, b"\x02")),
            tlv(0x02, self.serial),
            tlv(0x30, der.oid(ECDSA[self.digest])),
            self.issuer,
            tlv(0x30, *(tlv(0x17, t) for t in self.times)),
            self.subject,
            self.key,
            tlv(0xA3, tlv(0x30, *self.extensions)),
        )

    def signed(self, key: Key = CA_KEY) -> bytes:
        """The certificate."""
        return sign(self.to_be_signed(), key, self.digest)


def sign(tbs: bytes, key: Key = CA_KEY, digest: str = "sha256") -> bytes:
    """Whatever `tbs` is, a CA's good signature on it."""
    signature = key.sign(tbs, ec.ECDSA(HASHES[digest]))
    algorithm = tlv(0x30, der.oid(ECDSA[digest]))
    return tlv(0x30, tbs, algorithm, tlv(0x03, b"\0" + signature))


def pem(data: bytes) -> str:
    """DER as PEM, also when it is none."""
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def key_pem(key: Key) -> bytes:
    """A private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def ca_certificate(key: Key = CA_KEY, name: str = CA_NAME) -> bytes:
    """A CA's own."""
    both = der.name(name)
    extensions = (basic(tlv(0x01, b"\xff")), usage(b"\x01\x06"))
    leaf = Leaf(extensions, issuer=both, subject=both, key=public_info(key))
    return leaf.signed(key)


# --- mutations -----------------------------------------------------------------------

Random = random.Random


def flipped(rng: Random) -> bytes:
    """A byte of the whole certificate, unsigned."""
    return der_tree.flip(rng, Leaf().signed(), 1)


def cut(rng: Random) -> bytes:
    """A piece missing at the end, or some more."""
    good = Leaf().signed()
    if rng.random() < 0.5:
        return good[: rng.randrange(len(good))]
    return good + rng.randbytes(rng.randint(1, 8))


def flipped_and_signed(rng: Random) -> bytes:
    """Bytes of what the CA then signs."""
    return sign(der_tree.flip(rng, Leaf().to_be_signed(), rng.choice((1, 1, 1, 2, 4))))


def tree(rng: Random) -> bytes:
    """An element dropped, doubled, moved, renamed, misencoded; then signed."""
    nodes = der_tree.parse(Leaf().to_be_signed())
    for _ in range(rng.choice((1, 1, 2))):
        every = list(der_tree.places(nodes))
        if every:
            der_tree.change(rng, *rng.choice(every))
    return sign(b"".join(node.encode() for node in nodes))


def _san(*parts: bytes) -> bytes:
    return der.extension(der.SAN, *parts)


def _names(rng: Random) -> tuple[bytes, ...]:
    """A subjectAltName, or some."""
    uri, case = URI.encode(), list(URI)
    at = rng.randrange(len(case))
    case[at] = rng.choice(
        (case[at].upper(), "%61", "\0", "/", "", "\u00e9", "//", "..")
    )
    name = tlv(0x86, uri)
    return rng.choice((
        (uri_name("".join(case)),),
        (_san(tlv(0x30, name) + rng.randbytes(rng.randint(1, 4))),),
        (_san(tlv(0x30, name, rng.randbytes(rng.randint(1, 3)))),),
        (_san(tlv(0x30, name, name)),),
        (uri_name(URI), uri_name(URI)),
        (_san(tlv(0x30, tlv(0x82, b"host"), name)),),
        (_san(tlv(0x30, tlv(0xA6, name))),),
        (_san(tlv(0x30)),),
        (),
    ))  # fmt: skip


def _extensions(rng: Random) -> tuple[bytes, ...]:
    """Those of a client, each with a fault or without."""
    constraint = rng.choice(
        (b"", b"", b"", tlv(0x01, b"\xff"), tlv(0x01, b"\x01"), tlv(0x01, b"\0"))
    )
    bits = rng.choice(
        (b"\x07\x80", b"\x07\x80", b"\x03\x08", b"\x02\x84", b"\x00\x80", b"\x07\0")
    )
    purpose = rng.choice(
        (
            (der.CLIENT_AUTH,),
            (der.CLIENT_AUTH,),
            (SERVER_AUTH,),
            (ANY_USAGE,),
            (),
            (SERVER_AUTH, der.CLIENT_AUTH),
        )
    )
    names = rng.choice((lambda _: (uri_name(URI),), _names))(rng)
    extensions = [basic(constraint), usage(bits), purposes(*purpose), *names]
    if rng.random() < 0.2:
        extensions.append(
            rng.choice([*extensions, der.fact(1, "a") * 2, der.fact(9, "x")])
        )
    if rng.random() < 0.1:
        extensions.append(
            der.extension("551d7f", b"\x05\0", critical=rng.random() < 0.5)
        )
    return tuple(extensions)


def classes(rng: Random) -> bytes:
    """A client's in form, with one or more of the classic faults, or none."""
    leaf = Leaf()
    extensions = _extensions(rng)
    key = rng.choice(
        (CLIENT_KEY,) * 4 + (key_of(5, ec.SECP384R1()), key_of(6, ec.SECP224R1()))
    )
    times = rng.choice(
        (leaf.times,) * 4
        + ((b"480101000000Z", leaf.times[1]), (leaf.times[0], b"250102000000Z"))
    )
    signer = rng.choice((CA_KEY,) * 6 + (OTHER_KEY, CLIENT_KEY))
    digest = rng.choice(("sha256",) * 6 + ("sha1", "sha224"))
    serial = rng.choice(
        (b"\x0a\x1b",) * 4 + (b"\0\x1b", b"\xff\x1b", b"", b"\x01" * 21, b"\0")
    )
    made = Leaf(extensions, serial, times=times, key=public_info(key), digest=digest)
    return made.signed(signer)


KINDS: tuple[tuple[int, Callable[[Random], bytes]], ...] = (
    (15, flipped), (5, cut), (30, flipped_and_signed), (30, tree), (20, classes),
)  # fmt: skip


def mutations(count: int) -> Iterator[tuple[str, bytes]]:
    """`count` certificates with the name of their kind, from the one seed."""
    rng = random.Random(SEED)
    weights = [weight for weight, _ in KINDS]
    makers = [maker for _, maker in KINDS]
    for _ in range(count):
        maker = rng.choices(makers, weights)[0]
        yield maker.__name__, maker(rng)
