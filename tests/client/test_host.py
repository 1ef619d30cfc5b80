"""The host first: what a gate must prove before it receives a byte."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1

from tests.client.conftest import write_gate
from tests.client.fake_gate import FakeGate
from tests.client.pki import GATE, OTHER_GATE, Authority, Leaf, utf8

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]
Meet = Callable[..., tuple[FakeGate, Path]]


IMAGE, OTHER_IMAGE = f"sha256:{'a1' * 32}", f"sha256:{'b2' * 32}"


COLLEAGUE = GATE.replace("gate/box", "client/x")


def call(profile: Path) -> Any:
    """One Health.Check by a channel of its own."""
    with warded.connect(profile) as channel:
        return v1.HealthStub(channel).Check(v1.HealthCheckRequest(), timeout=10)


def with_facts(**facts: str | None) -> Leaf:
    """A gate's certificate with some facts changed, or left out."""
    numbers = {"creator": 1, "namespace": 2, "image": 3, "pool": 5, "endpoint": 6}
    kept = {**Leaf().facts, **{numbers[k]: v for k, v in facts.items()}}
    return Leaf(facts={n: v for n, v in kept.items() if v is not None})


def in_pool(of_uri: str, of_fact: str | None) -> Leaf:
    """A gate's certificate that tells of a pool in its URI, and as a fact."""
    uri = GATE.replace("/gate/", f"/pool/{of_uri}/gate/")
    return dataclasses.replace(with_facts(pool=of_fact), uris=(uri,))


def test_claim_06_impostor_of_the_same_ca_receives_no_byte(
    meet: Meet,
) -> None:
    impostor, profile = meet(Leaf(uris=(OTHER_GATE,)), f"gate {GATE}\n")
    with pytest.raises(warded.HostNotAdopted) as caught:
        call(profile)
    impostor.wait_for(lambda seen: len(seen.refusals) == 1 or seen.closed == 1)
    assert impostor.seen.bytes_after_handshake == 0
    assert impostor.seen.handshakes == 0  # it did not even see our certificate
    assert impostor.seen.requests == []
    assert caught.value.phase is warded.Phase.HOST
    for word in (GATE, OTHER_GATE, "policy", f"gate {OTHER_GATE}"):
        assert word in caught.value.details()


# (name, certificate, policy file or None, words of the refusal)
REFUSED = [
    ("creator is another", with_facts(creator="eve"), None, ["creator", "ada", "eve"]),
    *(
        (
            f"creator is of another {what}",
            with_facts(creator=COLLEAGUE.replace(*words)),
            None,
            ["creator", "ada", words[1]],
        )
        for what, words in {
            "trust domain": ("warded.test", "evil.test"),
            "namespace": ("/ns/default", "/ns/prod"),
            "owner": ("/owner/ada", "/owner/eve"),
        }.items()
    ),
    ("pool contradicts the URI", in_pool("gpu", "cpu"), None, ["pool", "gpu", "cpu"]),
    ("no creator", with_facts(creator=None), None, ["creator", "missing"]),
    (
        "namespace is another",
        Leaf(
            uris=(GATE.replace("/ns/default", "/ns/prod"),),
            facts={1: "ada", 2: "prod", 6: "127.0.0.1"},
        ),
        None,
        ["namespace", "default", "prod"],
    ),
    ("no namespace", with_facts(namespace=None), None, ["namespace", "missing"]),
    (
        "namespace contradicts the URI",
        with_facts(namespace="prod"),
        f"gate {GATE}",
        ["namespace", "contradicts"],
    ),
    (
        "trust domain is another",
        Leaf(uris=(GATE.replace("warded.test", "evil.test"),)),
        None,
        ["trust domain", "warded.test", "evil.test"],
    ),
    ("no endpoint", with_facts(endpoint=None), None, ["endpoint", "missing"]),
    ("endpoint is another", with_facts(endpoint="10.0.0.1"), None, ["10.0.0.1"]),
    ("port is another", with_facts(endpoint="127.0.0.1:1"), None, ["127.0.0.1:1"]),
    ("nine endpoints", with_facts(endpoint="127.0.0.1 " * 8 + "a"), None, ["9"]),
    ("endpoint is no list", with_facts(endpoint="http://x/"), None, ["endpoint"]),
    ("never", Leaf(), "adopt never", ["gate", GATE]),
    ("never, another is named", Leaf(), f"gate {OTHER_GATE}", [OTHER_GATE]),
    ("no image", Leaf(), f"adopt own\nimage {IMAGE}", ["image", "missing"]),
    (
        "image is another",
        with_facts(image=OTHER_IMAGE),
        f"adopt own\nimage {IMAGE}",
        [IMAGE, OTHER_IMAGE],
    ),
    ("no pool", Leaf(), "adopt own\npool gpu", ["pool", "missing"]),
    ("a client's URI", Leaf(uris=(GATE.replace("/gate/", "/client/"),)), None, ["URI"]),
    ("a foreign URI", Leaf(uris=("https://warded.test/",)), None, ["URI"]),
    ("two URIs", Leaf(uris=(GATE, OTHER_GATE)), None, ["2 URIs"]),
    ("no URI", Leaf(uris=()), None, ["0 URIs"]),
    ("no SAN", Leaf(san=False), None, ["subjectAltName"]),
    (
        "a fact that is no UTF8String",
        dataclasses.replace(Leaf(), raw_facts=[(5, b"\x13\x03gpu")]),
        None,
        ["UTF8String"],
    ),
    (
        "a fact with bytes after it",
        dataclasses.replace(Leaf(), raw_facts=[(5, utf8("gpu") + b"\0")]),
        None,
        ["after the end"],
    ),
]


@pytest.mark.parametrize(
    ("leaf", "policy", "words"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_gate_is_refused_and_the_refusal_names_the_fact(
    meet: Meet, leaf: Leaf, policy: str | None, words: list[str]
) -> None:
    gate, profile = meet(leaf, policy)
    with pytest.raises(warded.HostNotAdopted) as caught:
        call(profile)
    assert caught.value.reason is warded.Reason.HOST_NOT_ADOPTED
    for word in words:
        assert word in caught.value.details()
    gate.wait_for(lambda seen: len(seen.refusals) == 1 or seen.closed == 1)
    assert gate.seen.bytes_after_handshake == 0


PASSES = [
    ("own", Leaf(), None),
    ("creator as a SPIFFE id",
     with_facts(creator=GATE.replace("gate/box", "client/x")), None),
    ("pool of URI and fact", in_pool("gpu", "gpu"), "adopt own\npool gpu"),
    ("pool of the URI alone", in_pool("gpu", None), None),
    ("namespace of a colleague", with_facts(creator="bob"), "adopt namespace"),
    ("named", with_facts(creator="bob"), f"gate {GATE}"),
    ("named beside never", with_facts(creator="bob"), f"adopt never\ngate {GATE}"),
    ("by a glob", with_facts(creator="bob"), "gate spiffe://warded.test/**/gate/*"),
    ("image and pool", with_facts(image=IMAGE, pool="gpu"),
     f"adopt own\nimage {IMAGE}\npool cpu\npool gpu"),
    ("an unknown fact",
     dataclasses.replace(Leaf(), raw_facts=[(99, b"\x0c\x01?")]), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("leaf", "policy"), [p[1:] for p in PASSES], ids=[p[0] for p in PASSES]
)
def test_gate_passes(meet: Meet, leaf: Leaf, policy: str | None) -> None:
    _, profile = meet(leaf, policy)
    assert call(profile).status == v1.HealthCheckReply.SERVING


def test_a_tunnel_is_dialled_and_the_gate_behind_it_expected(
    meet: Meet,
) -> None:
    gate, profile = meet(with_facts(endpoint="gate.example:7443"))
    line = f"127.0.0.1:{gate.port} as gate.example:7443\n"
    (profile / "server").write_text(line)
    assert call(profile).status == v1.HealthCheckReply.SERVING
    (profile / "server").write_text(line.replace("gate.example", "other.example"))
    with pytest.raises(warded.HostNotAdopted, match=r"other\.example:7443"):
        call(profile)


@pytest.mark.parametrize("name", ["warded test CA", "another CA"])
def test_a_gate_of_a_foreign_ca_is_not_adopted(
    tmp_path: Path, start: Start, profile_of: ProfileOf, name: str
) -> None:
    folder = write_gate(tmp_path / "foreign", Authority(name), Leaf())
    gate = start(folder=folder)
    with pytest.raises(warded.HostNotAdopted, match=r"ca\.pem") as caught:
        call(profile_of(gate))
    assert caught.value.phase is warded.Phase.TLS
    gate.wait_for(lambda seen: len(seen.refusals) == 1)
    assert gate.seen.handshakes == 0


@pytest.mark.parametrize("hours", [-1, 1])
def test_claim_06_clock_an_hour_off_is_refused_once_then_works(
    start: Start, profile_of: ProfileOf, hours: int
) -> None:
    gate = start(ahead_ms=hours * 3_600_000)
    with warded.connect(profile_of(gate)) as channel:
        stub = v1.HealthStub(channel)
        for _ in range(3):
            stub.Check(v1.HealthCheckRequest())
    requests = gate.seen.requests
    assert len(requests) == 4  # one was refused, for three calls
    assert [r.attempt for r in requests] == [0, 1, 0, 0]
    assert len({r.call_id for r in requests}) == 4
    dated_ms = int.from_bytes(requests[1].call_id[:6], "big")
    assert abs(dated_ms - gate.now_ms()) < 10_000


def test_a_gate_that_never_likes_the_date_is_asked_twice_only(
    start: Start, profile_of: ProfileOf
) -> None:
    gate = start(lambda gate, r: gate.reply(r, code=3, reason=v1.CLOCK_SKEW))
    with pytest.raises(warded.InvalidCall) as caught:
        call(profile_of(gate))
    assert caught.value.reason is warded.Reason.CLOCK_SKEW
    assert not caught.value.may_have_run
    assert len(gate.seen.requests) == 2
