"""SPIFFE ids in Warded's two forms, and globs over them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEGMENT = r"[a-z0-9][a-z0-9._-]{0,62}"
_GATE = re.compile(
    rf"spiffe://(?P<domain>{_SEGMENT})/ns/(?P<namespace>{_SEGMENT})"
    rf"/owner/(?P<owner>{_SEGMENT})(?:/pool/(?P<pool>{_SEGMENT}))?"
    rf"/gate/(?P<name>{_SEGMENT})"
)
_CLIENT = re.compile(
    rf"spiffe://(?P<domain>{_SEGMENT})/ns/(?P<namespace>{_SEGMENT})"
    rf"/owner/(?P<owner>{_SEGMENT})/client/(?P<name>{_SEGMENT})"
)


@dataclass(frozen=True)
class Spiffe:
    """A SPIFFE id, taken apart."""

    uri: str
    domain: str
    namespace: str
    owner: str
    name: str
    pool: str = ""


def parse_gate(uri: str) -> Spiffe | None:
    """spiffe://DOMAIN/ns/NS/owner/OWNER[/pool/POOL]/gate/ID; None for any other."""
    return _parse(_GATE, uri)


def parse_client(uri: str) -> Spiffe | None:
    """spiffe://DOMAIN/ns/NS/owner/OWNER/client/NAME; None for any other."""
    return _parse(_CLIENT, uri)


def glob_matches(glob: str, uri: str) -> bool:
    """`*` stands for any part of one path segment, `**` for anything, slashes too."""
    parts = re.split(r"(\*+)", glob)
    pattern = "".join(_translate(part) for part in parts)
    return re.fullmatch(pattern, uri, re.DOTALL) is not None


def _translate(part: str) -> str:
    if part == "*":
        return "[^/]*"
    return ".*" if part.startswith("**") else re.escape(part)


def _parse(pattern: re.Pattern[str], uri: str) -> Spiffe | None:
    match = pattern.fullmatch(uri)
    if match is None:
        return None
    return Spiffe(uri, **{k: v or "" for k, v in match.groupdict().items()})
