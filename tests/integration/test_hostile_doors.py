"""Certificates with one fault each before a real gate: refused, and on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import hostile, hostile_keys
from tests.support.door import HEARD, LEAVES, Door
from tests.support.gate import Gate


@pytest.fixture
def door(gate: Gate, tmp_path: Path) -> Door:
    """The door of the file's one gate."""
    return Door(gate.home.path, tmp_path)


def expect_refusal(
    door: Door, chain: Sequence[bytes], key: hostile_keys.Key, cause: str
) -> None:
    """Refused, not a byte of SP said, and on record as `cause`."""
    before = door.refused()
    with pytest.raises(OSError, match=HEARD):
        door.knock(chain, key)
    assert door.wait_for(Counter({cause: 1}), since=before)


@pytest.mark.parametrize("name", LEAVES)
def test_claim_02_a_gate_refuses_named_faults_on_record(door: Door, name: str) -> None:
    leaf, key, cause = LEAVES[name]
    signed = replace(leaf, issuer=door.issuer).signed(door.key)
    expect_refusal(door, [signed], key, cause)


BETWEEN: dict[str, hostile_keys.Key] = {**hostile.ODD_KEYS, "P-256": hostile.OTHER_KEY}


@pytest.mark.parametrize("name", BETWEEN)
def test_claim_02_a_gate_refuses_what_a_ca_below_its_own_signed(
    door: Door, name: str
) -> None:
    chain = hostile.below_another(BETWEEN[name], (door.issuer, door.key))
    cause = "protocol" if name == "Ed25519" else "unknown_ca"
    expect_refusal(door, chain, hostile.CLIENT_KEY, cause)


def test_claim_02_a_gate_takes_the_good_one(door: Door) -> None:
    good = hostile.Leaf(issuer=door.issuer).signed(door.key)
    assert door.knock([good], hostile.CLIENT_KEY) == b"\0SP\0\0\x31\0\0"


def test_claim_02_a_gate_refuses_what_a_client_signed(door: Door) -> None:
    client = hostile.Leaf(issuer=door.issuer).signed(door.key)
    other = hostile_keys.public_info(hostile.OTHER_KEY)
    below = hostile.Leaf(issuer=hostile.Leaf().subject, key=other)
    chain = [below.signed(hostile.CLIENT_KEY), client]
    expect_refusal(door, chain, hostile.OTHER_KEY, "unknown_ca")


def test_claim_02_a_huge_chain_is_refused_and_the_next_peer_served(door: Door) -> None:
    good = hostile.Leaf(issuer=door.issuer).signed(door.key)
    false_ca = hostile.ca_certificate(hostile.OTHER_KEY)
    below = hostile.Leaf().signed(hostile.OTHER_KEY)
    expect_refusal(door, [below, *[false_ca] * 8], hostile.CLIENT_KEY, "unknown_ca")
    for leaf in (below, good):
        chain = [leaf, *[false_ca] * 300]
        expect_refusal(door, chain, hostile.CLIENT_KEY, "huge_chain")
    assert door.knock([good], hostile.CLIENT_KEY) == b"\0SP\0\0\x31\0\0"
