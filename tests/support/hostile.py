"""Ten thousand certificates that are not quite a good client's: made, and judged.

Everything follows from one seed: keys, mutations, their order.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec

from tests.fuzz import certificates as der
from tests.fuzz.certificates import tlv
from tests.support import der_tree
from tests.support.hostile_keys import (
    SEED,
    Key,
    algorithm,
    ed25519_key,
    key_of,
    public_info,
    rsa_key,
    signature,
)

CA_NAME = "Hostile Test CA"
URI = "spiffe://test.example/ns/default/owner/ann/client/trainer"

UNREADABLE = "unreadable_certificate"  # the cause of what mbedTLS cannot read
SERVER_AUTH, ANY_USAGE = "2b06010505070301", "551d2500"

CA_KEY, CLIENT_KEY, OTHER_KEY = key_of(1), key_of(2), key_of(3)


# Of every kind that is not P-256's, also those that would be strong enough.
ODD_KEYS: dict[str, Key] = {
    "P-384": key_of(5, ec.SECP384R1()),
    "P-224": key_of(6, ec.SECP224R1()),
    "P-521": key_of(7, ec.SECP521R1()),
    "secp256k1": key_of(8, ec.SECP256K1()),
    "RSA-1024": rsa_key(9, 1024),
    "RSA-2048": rsa_key(10, 2048),
    "Ed25519": ed25519_key(11),
}


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

    def to_be_signed(self, signer: Key = CA_KEY) -> bytes:
        """TBSCertificate."""
        return tlv(
            0x30,
            tlv(0xA0, tlv(0x02, b"\x02")),
            tlv(0x02, self.serial),
            algorithm(signer, self.digest),
            self.issuer,
            tlv(0x30, *(tlv(0x17, t) for t in self.times)),
            self.subject,
            self.key,
            tlv(0xA3, tlv(0x30, *self.extensions)),
        )

    def signed(self, key: Key = CA_KEY) -> bytes:
        """The certificate."""
        return sign(self.to_be_signed(key), key, self.digest)


def sign(tbs: bytes, key: Key = CA_KEY, digest: str = "sha256") -> bytes:
    """Whatever `tbs` is, a CA's good signature on it."""
    proof = tlv(0x03, b"\0" + signature(key, digest, tbs))
    return tlv(0x30, tbs, algorithm(key, digest), proof)


def pem(data: bytes) -> str:
    """DER as PEM, also when it is none."""
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def authority(key: Key, name: str, issuer: bytes) -> Leaf:
    """A CA's own certificate, before `issuer` signs it."""
    extensions = (basic(tlv(0x01, b"\xff")), usage(b"\x01\x06"))
    return Leaf(extensions, issuer=issuer, subject=der.name(name), key=public_info(key))


def ca_certificate(key: Key = CA_KEY, name: str = CA_NAME) -> bytes:
    """A CA's own, signed by itself."""
    return authority(key, name, der.name(name)).signed(key)


def below_another(
    key: Key, root: tuple[bytes, Key] | None = None, digest: str = "sha256"
) -> list[bytes]:
    """A good client's certificate, signed by the CA `key`, and that one's, which the
    root (its name and key) has signed."""
    issuer, root_key = root or (der.name(CA_NAME), CA_KEY)
    between = authority(key, "Between", issuer).signed(root_key)
    leaf = Leaf(issuer=der.name("Between"), digest=digest)
    return [leaf.signed(key), between]


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
    key = rng.choice((CLIENT_KEY,) * 10 + tuple(ODD_KEYS.values()))
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
