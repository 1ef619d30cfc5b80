"""Certificates written byte by byte, always the same: seeds for the reader of DER.

Their signatures are numbers that verify nowhere; the reader does not look at them.
"""

from __future__ import annotations

from collections.abc import Iterator

URI = "spiffe://test.example/ns/default/owner/ann/client/trainer"
GATE = "spiffe://test.example/ns/default/owner/ann/pool/p1/gate/g1"

# The generator of P-256: the one public key that everybody knows.
POINT = bytes.fromhex(
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
SAN, BASIC, USAGE, EXTENDED = "551d11", "551d13", "551d0f", "551d25"
ECDSA_SHA256, EC_KEY, P256 = "2a8648ce3d040302", "2a8648ce3d0201", "2a8648ce3d030107"
CLIENT_AUTH = "2b06010505070302"
COMMON_NAME = "550403"


def tlv(tag: int, *parts: bytes) -> bytes:
    """One element."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def oid(hexadecimal: str) -> bytes:
    """An object identifier by its content."""
    return tlv(0x06, bytes.fromhex(hexadecimal))


def arc(number: int) -> str:
    """2.25.<the arc of the facts>.<number>."""
    value, out = 187663191962772120820425601056173538086, bytearray()
    while value or not out:
        out.insert(0, value & 0x7F | (0x80 if out else 0))
        value >>= 7
    return (bytes([2 * 40 + 25]) + bytes(out) + bytes([number])).hex()


def extension(name: str, value: bytes, *, critical: bool = False) -> bytes:
    """One extension."""
    flag = tlv(0x01, b"\xff") if critical else b""
    return tlv(0x30, oid(name), flag, tlv(0x04, value))


def alternative_names(*names: tuple[int, bytes]) -> bytes:
    """The extension subjectAltName."""
    return extension(SAN, tlv(0x30, *(tlv(0x80 | tag, name) for tag, name in names)))


def fact(number: int, text: str) -> bytes:
    """A fact about a gate."""
    return extension(arc(number), tlv(0x0C, text.encode()))


USUAL = (
    extension(BASIC, tlv(0x30), critical=True),
    extension(USAGE, tlv(0x03, b"\x07\x80"), critical=True),
    extension(EXTENDED, tlv(0x30, oid(CLIENT_AUTH))),
)


def name(text: str) -> bytes:
    """A distinguished name with a common name."""
    return tlv(0x30, tlv(0x31, tlv(0x30, oid(COMMON_NAME), tlv(0x0C, text.encode()))))


def certificate(
    *extensions: bytes, serial: bytes = b"\x0a\x1b", long_times: bool = False
) -> bytes:
    """A certificate with the usual extensions and these."""
    algorithm = tlv(0x30, oid(ECDSA_SHA256))
    times = (b"\x17\x0d250101000000Z", b"\x17\x0d491231235959Z")
    if long_times:
        times = (b"\x18\x0f20500101000000Z", b"\x18\x0f20991231235959Z")
    tbs = tlv(
        0x30,
        tlv(0xA0, tlv(0x02, b"\x02")),
        tlv(0x02, serial),
        algorithm,
        name("Test CA"),
        tlv(0x30, *times),
        name("leaf"),
        tlv(0x30, tlv(0x30, oid(EC_KEY), oid(P256)), tlv(0x03, b"\0" + POINT)),
        tlv(0xA3, tlv(0x30, *USUAL, *extensions)),
    )
    signature = tlv(0x30, tlv(0x02, b"\x11" * 32), tlv(0x02, b"\x22" * 32))
    return tlv(0x30, tbs, algorithm, tlv(0x03, b"\0" + signature))


def certificates() -> Iterator[bytes]:
    """A client's, a gate's with all facts, and ones that break a rule each."""
    client, gate = (6, URI.encode()), (6, GATE.encode())
    yield certificate(alternative_names(client))
    facts = [fact(n, f"fact {n}") for n in range(1, 9)]
    names = alternative_names((2, b"g1.example"), gate, (7, b"\x7f\0\0\1"))
    yield certificate(names, *facts, serial=b"\0\xff" + b"\1" * 18, long_times=True)
    yield certificate(alternative_names(client, gate))
    yield certificate(alternative_names(client), alternative_names(client))
    yield certificate(alternative_names(client), fact(1, "a"), fact(1, "a"))
    yield certificate(alternative_names((6, URI.upper().encode())))
    yield certificate(alternative_names(client), serial=b"\0")
    yield certificate()
