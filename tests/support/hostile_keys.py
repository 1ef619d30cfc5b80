"""Keys of every kind, always the same for the same number, and signatures by them.

Only the signatures of ECDSA, which makes another each time, differ from run to run.
"""

from __future__ import annotations

import functools
import random

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from tests.fuzz import certificates as der
from tests.fuzz.certificates import tlv

SEED = 20261130
EXPONENT = 65537
SIEVE = [n for n in range(3, 2000, 2) if all(n % d for d in range(3, n, 2))]

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

HASHES: dict[str, hashes.HashAlgorithm] = {
    "sha1": hashes.SHA1(),
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
}
ECDSA = {
    "sha1": "2a8648ce3d0401",
    "sha224": "2a8648ce3d040301",
    "sha256": "2a8648ce3d040302",
}
RSA = {
    "sha1": "2a864886f70d010105",
    "sha224": "2a864886f70d01010e",
    "sha256": "2a864886f70d01010b",
}
ED25519 = "2b6570"


def key_of(
    number: int, curve: ec.EllipticCurve | None = None
) -> ec.EllipticCurvePrivateKey:
    """A key of a curve, P-256 by default."""
    secret = random.Random(SEED + number).getrandbits(190) + 1
    return ec.derive_private_key(secret, curve or ec.SECP256R1())


def ed25519_key(number: int) -> ed25519.Ed25519PrivateKey:
    """A key of Ed25519."""
    secret = random.Random(SEED + number).randbytes(32)
    return ed25519.Ed25519PrivateKey.from_private_bytes(secret)


def _prime(rng: random.Random, bits: int) -> int:
    """Its two highest bits are set, and it is none of those that EXPONENT divides."""
    while True:
        n = rng.getrandbits(bits) | 3 << bits - 2 | 1
        if all(n % d for d in SIEVE) and n % EXPONENT != 1 and pow(2, n - 1, n) == 1:
            return n


@functools.cache
def rsa_key(number: int, bits: int) -> rsa.RSAPrivateKey:
    """A key of RSA."""
    rng = random.Random(SEED + number)
    p, q = _prime(rng, bits // 2), _prime(rng, bits // 2)
    d = pow(EXPONENT, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(EXPONENT, p * q)
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public
    )
    return numbers.private_key()


def public_info(key: Key) -> bytes:
    """SubjectPublicKeyInfo."""
    return key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def key_pem(key: Key) -> bytes:
    """A private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def algorithm(key: Key, digest: str) -> bytes:
    """The AlgorithmIdentifier of a signature by it."""
    match key:
        case rsa.RSAPrivateKey():
            return tlv(0x30, der.oid(RSA[digest]), b"\x05\0")
        case ed25519.Ed25519PrivateKey():
            return tlv(0x30, der.oid(ED25519))
    return tlv(0x30, der.oid(ECDSA[digest]))


def signature(key: Key, digest: str, data: bytes) -> bytes:
    """One by it."""
    match key:
        case rsa.RSAPrivateKey():
            return key.sign(data, padding.PKCS1v15(), HASHES[digest])
        case ed25519.Ed25519PrivateKey():
            return key.sign(data)
    return key.sign(data, ec.ECDSA(HASHES[digest]))
