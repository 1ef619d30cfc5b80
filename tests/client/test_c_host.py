"""libwarded: what a gate must prove before it receives a byte. As the Python client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.c_caller import Answer, calling
from tests.client.conftest import write_gate
from tests.client.fake_gate import FakeGate
from tests.client.pki import GATE, OTHER_GATE, Authority, Leaf
from tests.client.test_host import PASSES, REFUSED, with_facts

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]
Meet = Callable[..., tuple[FakeGate, Path]]

# What both clients say in words of their own.
C_WORDS = {
    "two URIs": ["certificate"],
    "no URI": ["certificate"],
    "no SAN": ["certificate"],
    "a foreign URI": ["certificate"],
    "a fact that is no UTF8String": ["certificate"],
    "a fact with bytes after it": ["certificate"],
}


def call(profile: Path) -> Answer:
    """One Health.Check by a channel of its own."""
    with calling(profile) as caller:
        return caller.check()


def test_claim_05_impostor_of_the_same_ca_receives_no_byte_from_c(meet: Meet) -> None:
    impostor, profile = meet(Leaf(uris=(OTHER_GATE,)), f"gate {GATE}\n")
    answer = call(profile)
    impostor.wait_for(lambda seen: len(seen.refusals) == 1 or seen.closed == 1)
    assert impostor.seen.bytes_after_handshake == 0
    assert impostor.seen.handshakes == 0  # it did not even see our certificate
    assert impostor.seen.requests == []
    assert (answer.reason, answer.phase) == ("HOST_NOT_ADOPTED", "host")
    assert not answer.may_have_run
    for word in (GATE, OTHER_GATE, "policy", f"gate {OTHER_GATE}"):
        assert word in answer.message


@pytest.mark.parametrize(
    ("name", "leaf", "policy", "words"), REFUSED, ids=[r[0] for r in REFUSED]
)
def test_gate_is_refused_by_c_and_the_refusal_names_the_fact(
    meet: Meet, name: str, leaf: Leaf, policy: str | None, words: list[str]
) -> None:
    gate, profile = meet(leaf, policy)
    answer = call(profile)
    assert answer.reason == "HOST_NOT_ADOPTED", answer
    for word in C_WORDS.get(name, words):
        assert word in answer.message
    gate.wait_for(lambda seen: len(seen.refusals) == 1 or seen.closed == 1)
    assert gate.seen.bytes_after_handshake == 0


@pytest.mark.parametrize(
    ("leaf", "policy"), [p[1:] for p in PASSES], ids=[p[0] for p in PASSES]
)
def test_gate_passes_for_c(meet: Meet, leaf: Leaf, policy: str | None) -> None:
    _, profile = meet(leaf, policy)
    assert call(profile).reason == "ok"


def test_a_tunnel_is_dialled_by_c_and_the_gate_behind_it_expected(meet: Meet) -> None:
    gate, profile = meet(with_facts(endpoint="gate.example:7443"))
    line = f"127.0.0.1:{gate.port} as gate.example:7443\n"
    (profile / "server").write_text(line)
    assert call(profile).reason == "ok"
    (profile / "server").write_text(line.replace("gate.example", "other.example"))
    assert "other.example:7443" in call(profile).message


@pytest.mark.parametrize("name", ["warded test CA", "another CA"])
def test_a_gate_of_a_foreign_ca_is_not_adopted_by_c(
    tmp_path: Path, start: Start, profile_of: ProfileOf, name: str
) -> None:
    folder = write_gate(tmp_path / "foreign", Authority(name), Leaf())
    gate = start(folder=folder)
    answer = call(profile_of(gate))
    assert (answer.reason, answer.phase) == ("HOST_NOT_ADOPTED", "tls")
    assert "ca.pem" in answer.message
    gate.wait_for(lambda seen: len(seen.refusals) == 1)
    assert gate.seen.handshakes == 0
