"""The certificate reader: strict, and unmoved by nonsense."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warded import _der
from warded._spiffe import glob_matches, parse_client, parse_gate
from warded.identity import FACT_ARC, IdentityError, read_identity

from tests.client.pki import CLIENT, GATE, Authority, Leaf

CERTIFICATE = Authority().issue(Leaf()).der


def test_a_certificate_gives_uri_and_facts() -> None:
    identity = read_identity(CERTIFICATE)
    assert identity.uri == GATE
    assert identity.facts == {
        "creator": "ada",
        "namespace": "default",
        "endpoint": "127.0.0.1 localhost",
    }
    assert len(identity.sha256) == 64


def test_every_prefix_of_a_certificate_is_refused() -> None:
    for size in range(len(CERTIFICATE)):
        with pytest.raises(IdentityError):
            read_identity(CERTIFICATE[:size])


def test_a_byte_after_a_certificate_is_refused() -> None:
    with pytest.raises(IdentityError, match="after the end"):
        read_identity(CERTIFICATE + b"\0")


@pytest.mark.parametrize("version", ["00", "01", "03"])
def test_a_certificate_that_is_not_of_version_3_is_refused(version: str) -> None:
    right = bytes.fromhex("a003020102")
    assert CERTIFICATE.count(right) == 1
    wrong = CERTIFICATE.replace(right, bytes.fromhex(f"a0030201{version}"))
    with pytest.raises(IdentityError, match="version 3"):
        read_identity(wrong)


def test_every_flipped_bit_is_refused_or_read_and_never_crashes() -> None:
    for place in range(len(CERTIFICATE)):
        for bit in range(8):
            bad = bytearray(CERTIFICATE)
            bad[place] ^= 1 << bit
            try:
                read_identity(bytes(bad))
            except IdentityError:
                continue


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    with pytest.raises(IdentityError):
        read_identity(data)


@settings(max_examples=300)
@given(st.integers(min_value=0), st.binary(min_size=1, max_size=8))
def test_no_splice_crashes_the_reader(place: int, splice: bytes) -> None:
    at = place % len(CERTIFICATE)
    with contextlib.suppress(IdentityError):
        read_identity(CERTIFICATE[:at] + splice + CERTIFICATE[at + len(splice) :])


def test_a_huge_certificate_is_refused_unread() -> None:
    with pytest.raises(IdentityError, match="bytes"):
        read_identity(bytes(1 << 20))


NOT_DER = {
    "empty": "",
    "a tag alone": "30",
    "indefinite length": "30 80 00 00",
    "long form of a short length": "04 81 01 00",
    "a padded length": "04 82 00 80" + "00" * 128,
    "a length of five bytes": "04 85 00 00 00 00 01 00",
    "a high tag": "1f 81 01 00",
    "cut short": "04 05 00",
    "bytes left over": "04 00 00",
}


@pytest.mark.parametrize("text", NOT_DER.values(), ids=NOT_DER.keys())
def test_what_is_not_der_is_refused(text: str) -> None:
    with pytest.raises(_der.DerError):
        _der.read_one(bytes.fromhex(text))


OIDS = {
    "55 1d 11": "2.5.29.17",
    "2a 86 48 86 f7 0d": "1.2.840.113549",
    "27": "0.39",
    "28": "1.0",
}


@pytest.mark.parametrize(("text", "dotted"), OIDS.items())
def test_object_identifiers_read(text: str, dotted: str) -> None:
    assert _der.read_oid(_der.Element(_der.OID, bytes.fromhex(text))) == dotted


def test_an_arc_of_128_bits_reads() -> None:
    encoded = _encode(FACT_ARC + ".6")
    assert _der.read_oid(_der.Element(_der.OID, encoded)) == FACT_ARC + ".6"


@pytest.mark.parametrize("text", ["", "80 01", "55 80 01", "55 9d"])
def test_padded_and_cut_object_identifiers_are_refused(text: str) -> None:
    with pytest.raises(_der.DerError):
        _der.read_oid(_der.Element(_der.OID, bytes.fromhex(text)))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        GATE + "/",
        GATE.upper(),
        GATE.replace("box", ""),
        GATE.replace("box", "-box"),
        GATE.replace("box", "b" * 64),
        GATE.replace("spiffe", "http"),
        GATE.replace("/owner/ada", ""),
        GATE + "?x",
        GATE + "\n",
        CLIENT,
    ],
)
def test_what_is_no_gate_is_none(uri: str) -> None:
    assert parse_gate(uri) is None


def test_gates_and_clients_come_apart() -> None:
    gate = parse_gate(GATE.replace("/gate/", "/pool/gpu/gate/"))
    assert gate is not None
    assert (gate.owner, gate.namespace, gate.pool, gate.name) == (
        "ada",
        "default",
        "gpu",
        "box",
    )
    client = parse_client(CLIENT)
    assert client is not None
    assert (client.domain, client.name, client.pool) == ("warded.test", "trainer", "")


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        (GATE, True),
        ("spiffe://warded.test/ns/*/owner/ada/gate/*", True),
        ("spiffe://warded.test/**", True),
        ("spiffe://warded.test/*", False),
        ("*", False),
        ("**", True),
        (GATE + "x", False),
        (GATE[:-1], False),
        ("spiffe://warded-test/**", False),
        ("spiffe://warded.tes./**", False),
    ],
)
def test_globs_keep_to_segments(glob: str, fits: bool) -> None:
    assert glob_matches(glob, GATE) is fits


def _encode(dotted: str) -> bytes:
    arcs = [int(arc) for arc in dotted.split(".")]
    out = b""
    for arc in (40 * arcs[0] + arcs[1], *arcs[2:]):
        digits = [arc & 0x7F]
        rest = arc >> 7
        while rest:
            digits.append(rest & 0x7F | 0x80)
            rest >>= 7
        out += bytes(reversed(digits))
    return out
