"""Who a gate is: what its certificate says, and whether this client may trust it.

The chain and the times are OpenSSL's to check; here stands what OpenSSL does not know.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

from warded import _der
from warded._endpoint import Endpoint, asserts
from warded._policy import Adopt, Policy
from warded._spiffe import Spiffe, parse_client, parse_gate

FACT_ARC = "2.25.187663191962772120820425601056173538086"
FACT_NAMES = (
    "creator",
    "namespace",
    "image",
    "bootstrap",
    "pool",
    "endpoint",
    "host_id",
    "asserted_by",
)
"""FACT_NAMES[n - 1] is what extension `FACT_ARC.n` asserts."""

_SUBJECT_ALT_NAME = "2.5.29.17"
_TAG_URI = 0x86
_TAG_EXTENSIONS = 0xA3
_VERSION_3 = _der.Element(0xA0, bytes((_der.INTEGER, 1, 2)))
_MAX_CERTIFICATE_BYTES = 64 << 10
_KEY = 6  # its place in a certificate's body; the algorithm comes first
_P256 = bytes.fromhex("301306072a8648ce3d020106082a8648ce3d030107")


class IdentityError(ValueError):
    """A certificate that is not in Warded's form."""


class NotAdoptedError(Exception):
    """A gate that the policy does not trust; the text names fact, values, opt-in."""


@dataclass(frozen=True)
class Identity:
    """What a certificate says of its holder. `facts` by FACT_NAMES."""

    uri: str
    facts: Mapping[str, str]
    sha256: str


def read_identity(der: bytes) -> Identity:
    """Read a DER certificate; verifies neither signature nor time.

    Raises IdentityError: not strict DER, not exactly one URI, a fact twice.
    """
    if len(der) > _MAX_CERTIFICATE_BYTES:
        raise IdentityError(f"a certificate of {len(der)} bytes")
    try:
        extensions = dict(_unique(_read_extensions(der)))
        uri = _read_uri(extensions)
        facts = {
            name: _der.read_utf8(_der.read_one(extensions[oid]))
            for number, name in enumerate(FACT_NAMES, 1)
            if (oid := f"{FACT_ARC}.{number}") in extensions
        }
    except _der.DerError as error:
        raise IdentityError(f"its certificate is malformed: {error}") from error
    return Identity(uri, MappingProxyType(facts), hashlib.sha256(der).hexdigest())


def read_client(der: bytes) -> Spiffe:
    """The client identity of our own certificate. Raises IdentityError."""
    uri = read_identity(der).uri
    body = _der.read_sequence(_der.read_sequence(_der.read_one(der))[0])
    if len(body) <= _KEY or not body[_KEY].body.startswith(_P256):
        raise IdentityError("its key is not of P-256, the only kind that a gate takes")
    spiffe = parse_client(uri)
    if spiffe is None:
        raise IdentityError(f"its URI {uri} is not a client's SPIFFE id")
    return spiffe


def judge(gate: Identity, policy: Policy, *, mine: Spiffe, dialled: Endpoint) -> None:
    """Decide whether `gate`, dialled as `dialled`, may receive a call from `mine`.

    Raises NotAdoptedError: the failing fact, what was expected and seen, the opt-in.
    """
    spiffe = parse_gate(gate.uri)
    if spiffe is None:
        _refuse(gate, "URI", "a gate's SPIFFE id", gate.uri, "this peer is no gate")
    _judge_endpoint(gate, dialled)
    _judge_consistency(gate, spiffe)
    _judge_adoption(gate, spiffe, policy, mine)
    _judge_listed(gate, "image", policy.images)
    _judge_listed(gate, "pool", policy.pools)


def _judge_endpoint(gate: Identity, dialled: Endpoint) -> None:
    asserted = gate.facts.get("endpoint")
    cure = (
        "dial an endpoint that the gate's certificate names; through a tunnel or a "
        "Service, write `ADDRESS as ENDPOINT` into the profile's `server` file"
    )
    try:
        covered = asserted is not None and asserts(asserted, dialled)
    except ValueError as error:
        _refuse(gate, "endpoint", str(dialled), f"{asserted!r} ({error})", cure)
    if not covered:
        _refuse(gate, "endpoint", str(dialled), asserted, cure)


def _judge_consistency(gate: Identity, spiffe: Spiffe) -> None:
    """The URI and the facts must tell the same story."""
    cure = "the gate's certificate contradicts itself: issue it anew"
    namespace = gate.facts.get("namespace", spiffe.namespace)
    if namespace != spiffe.namespace:
        _refuse(gate, "namespace", spiffe.namespace, namespace, cure)
    pool = gate.facts.get("pool", spiffe.pool)
    if spiffe.pool and pool != spiffe.pool:
        _refuse(gate, "pool", spiffe.pool, pool, cure)


def _judge_adoption(
    gate: Identity, spiffe: Spiffe, policy: Policy, mine: Spiffe
) -> None:
    if policy.names(gate.uri):
        return
    opt_in = f"to trust it, add `gate {gate.uri}` to the profile's `policy` file"
    if policy.adopt is Adopt.NEVER:
        named = " or ".join(policy.gates) or "a gate named by a `gate` line"
        _refuse(gate, "gate", named, gate.uri, opt_in)
    if spiffe.domain != mine.domain:
        _refuse(gate, "trust domain", mine.domain, spiffe.domain, opt_in)
    namespace = gate.facts.get("namespace")
    if namespace != mine.namespace:
        _refuse(gate, "namespace", mine.namespace, namespace, opt_in)
    creator = gate.facts.get("creator")
    if policy.adopt is Adopt.OWN and not _is_mine(creator, mine):
        wider = f"{opt_in}, or `adopt namespace`"
        _refuse(gate, "creator", mine.owner, creator, wider)


def _is_mine(creator: str | None, mine: Spiffe) -> bool:
    """A creator is told as an owner's name or as a client's whole SPIFFE id."""
    if creator is None:
        return False
    spiffe = parse_client(creator)
    if spiffe is None:
        return creator == mine.owner
    return (spiffe.domain, spiffe.namespace, spiffe.owner) == (
        mine.domain,
        mine.namespace,
        mine.owner,
    )


def _judge_listed(gate: Identity, fact: str, allowed: tuple[str, ...]) -> None:
    seen = gate.facts.get(fact)
    if allowed and seen not in allowed:
        opt_in = f"to accept it, add a line `{fact} {seen or '...'}` to `policy`"
        _refuse(gate, fact, " or ".join(allowed), seen, opt_in)


def _refuse(
    gate: Identity, fact: str, expected: str, seen: str | None, opt_in: str
) -> NoReturn:
    shown = "nothing (the fact is missing)" if seen is None else seen
    raise NotAdoptedError(
        f"{gate.uri or 'the peer'} is not adopted: {fact}: expected {expected}, "
        f"seen {shown}; {opt_in}"
    )


def _read_extensions(der: bytes) -> Iterator[tuple[str, bytes]]:
    """(object identifier, content) of each extension of an X.509 v3 certificate."""
    certificate = _der.read_sequence(_der.read_one(der))
    if len(certificate) != 3:
        raise _der.DerError("a certificate has three parts")
    body = _der.read_sequence(certificate[0])
    if not body or body[0] != _VERSION_3:
        raise _der.DerError("not X.509 version 3")
    holders = [element for element in body if element.tag == _TAG_EXTENSIONS]
    if len(holders) != 1 or body[-1] is not holders[0]:
        raise _der.DerError("extensions are missing or misplaced")
    for extension in _der.read_sequence(_der.read_one(holders[0].body)):
        yield _read_extension(_der.read_sequence(extension))


def _read_extension(parts: list[_der.Element]) -> tuple[str, bytes]:
    if len(parts) == 3 and not _der.read_boolean(parts[1]):
        raise _der.DerError("a default is spelt out")
    if len(parts) not in (2, 3) or parts[-1].tag != _der.OCTETS:
        raise _der.DerError("an extension is misshapen")
    return _der.read_oid(parts[0]), parts[-1].body


def _unique(pairs: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    seen = set()
    for oid, body in pairs:
        if oid in seen:
            raise _der.DerError(f"extension {oid} comes twice")
        seen.add(oid)
        yield oid, body


def _read_uri(extensions: Mapping[str, bytes]) -> str:
    if _SUBJECT_ALT_NAME not in extensions:
        raise IdentityError("its certificate has no subjectAltName, so no identity")
    names = _der.read_sequence(_der.read_one(extensions[_SUBJECT_ALT_NAME]))
    uris = [name.body for name in names if name.tag == _TAG_URI]
    if len(uris) != 1:
        raise IdentityError(f"its certificate has {len(uris)} URIs; exactly one counts")
    try:
        uri = uris[0].decode("ascii")
    except UnicodeDecodeError as error:
        raise IdentityError("its URI is not ASCII") from error
    if not uri.isprintable():
        raise IdentityError("its URI has control characters")
    return uri
