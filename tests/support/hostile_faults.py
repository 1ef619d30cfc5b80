"""Certificates with one fault each, by name, and the cause that is put on record."""

from __future__ import annotations

from tests.fuzz import certificates as der
from tests.support import hostile

USUAL = hostile.Leaf().extensions
SAN = hostile.uri_name(hostile.URI)
TRAILING = der.extension(
    der.SAN, der.tlv(0x30, der.tlv(0x86, hostile.URI.encode())) + b"\0"
)
EMAIL = der.alternative_names((6, hostile.URI.encode()), (1, "\u00e9@x".encode()))
REGISTERED = der.alternative_names((8, b"\x2a\x03"), (6, hostile.URI.encode()))
MIXED_CASE = hostile.uri_name(hostile.URI.replace("owner", "Owner"))
ODD = der.extension("2b06010401", b"\x05\0")  # of no meaning
CA = hostile.basic(der.tlv(0x01, b"\xff"))

# What is wrong, the extensions, and the cause on record.
FAULTS: dict[str, tuple[tuple[bytes, ...], str]] = {
    "trailing bytes in the SAN": ((*USUAL[:3], TRAILING), "unreadable_certificate"),
    "mixed case": ((*USUAL[:3], MIXED_CASE), "bad_san"),
    "an email that is not ASCII": ((*USUAL[:3], EMAIL), "bad_san"),
    "a registered id beside it": ((*USUAL[:3], REGISTERED), "bad_san"),
    "two SANs": ((*USUAL, SAN), "unreadable_certificate"),
    "basic constraints twice": ((*USUAL, USUAL[0]), "unreadable_certificate"),
    "purposes twice": ((*USUAL, USUAL[2]), "unreadable_certificate"),
    "an unknown extension twice": ((*USUAL, ODD, ODD), "unreadable_certificate"),
    "a later version's fact twice": (
        (*USUAL, der.fact(99, "x"), der.fact(99, "y")),
        "unreadable_certificate",
    ),
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
