"""Not a byte of what a refused peer sends is read: counted outside the engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.client.pki import CLIENT
from tests.fuzz import certificates as der
from tests.support import hostile, hostile_keys
from tests.support.door import GREETING, HEARD, LEAVES, Door
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

FRAME = (20).to_bytes(8, "big") + b"\x80\0\0\x01" + b"x" * 16
DENIED = CLIENT + "-of-old"
TWO_URIS = der.alternative_names((6, CLIENT.encode()), (6, hostile.URI.encode()))

Knock = tuple[hostile.Leaf | None, hostile_keys.Key, hostile_keys.Key | None, str]
"""The certificate (None: no certificate), its key, who signs (None: the gate's CA), and
the cause on record."""


def named(san: bytes) -> hostile.Leaf:
    """A good leaf with another name."""
    return hostile.Leaf((*hostile.Leaf().extensions[:3], san))


def doors(door: Door) -> dict[str, Knock]:
    """Every door that refuses, by name."""
    good, key = hostile.Leaf(issuer=door.issuer), hostile.CLIENT_KEY
    foreign = hostile_keys.key_of(77, ec.SECP256R1())
    found: dict[str, Knock] = {
        "no certificate": (None, key, None, "no_certificate"),
        "foreign CA": (hostile.Leaf(), key, foreign, "unknown_ca"),
        "foreign CA of the same name": (good, key, foreign, "bad_signature"),
        "no SAN": (hostile.Leaf(good.extensions[:3]), key, None, "no_san"),
        "two URIs": (named(TWO_URIS), key, None, "many_uris"),
        "denied": (named(hostile.uri_name(DENIED)), key, None, "denied"),
    }
    for name, (leaf, its_key, cause) in LEAVES.items():
        found[name] = (leaf, its_key, None, cause)
    return found


def bytes_read(gate: StubGate) -> int:
    """What TLS has given the gate since the last time."""
    return int(gate.do("reads"))


def knock(door: Door, what: Knock) -> None:
    """Greeting and a frame, sent before the gate has judged; refused."""
    leaf, key, signer, _ = what
    chain = []
    if leaf is not None:
        issuer = door.issuer if signer is None else leaf.issuer
        chain = [replace(leaf, issuer=issuer).signed(signer or door.key)]
    with pytest.raises(OSError, match=HEARD):
        door.knock(chain, key, more=FRAME)


def test_claim_04_no_byte_of_a_refused_peer_is_read_at_any_door(
    home: Home, tmp_path: Path
) -> None:
    deny = home.path / "state/gate/deny"
    deny.write_text(f"{DENIED}\n")
    with StubGate(home) as gate:
        door = Door(home.path, tmp_path)
        every = doors(door)
        read = {}
        for name, what in every.items():
            knock(door, what)
            read[name] = bytes_read(gate)
        wanted = Counter(cause for *_, cause in every.values())
        assert door.wait_for(wanted, since=Counter())
        assert {name: n for name, n in read.items() if n != 0} == {}
        assert bytes_read(gate) == 0  # nor after it was refused


def test_the_count_of_what_is_read_counts(home: Home, tmp_path: Path) -> None:
    with StubGate(home) as gate:
        door = Door(home.path, tmp_path)
        good = hostile.Leaf(issuer=door.issuer).signed(door.key)
        assert door.knock([good], hostile.CLIENT_KEY) == b"\0SP\0\0\x31\0\0"
        with RawClient(home.path / "profile/trainer") as raw:
            assert raw.call("/no.such/Method").code != 0
        assert bytes_read(gate) > 2 * len(GREETING)
