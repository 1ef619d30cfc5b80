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

_MAX_URI = 1024  # characters; proto/c/limits.h
_Place = tuple[str, bool]
"""Which characters may stand at a place of a SPIFFE id; whether there may be none."""
_FIRST = "abcdefghijklmnopqrstuvwxyz0123456789"


def _spread(form: str) -> list[_Place]:
    """A form as text, where `$` stands for a segment, as places."""
    segment = [(_FIRST, False), *[(_FIRST + "._-", True)] * 62]
    places: list[_Place] = []
    for char in form:
        places += segment if char == "$" else [(char, False)]
    return places


_FORMS = [
    _spread(f"spiffe://$/ns/$/owner/$/{holder}")
    for holder in ("gate/$", "pool/$/gate/$")
]


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


def gate_glob_ok(glob: str) -> bool:
    """Whether there is a gate's SPIFFE id that the glob matches."""
    return len(glob) <= _MAX_URI and any(_meets(glob, form) for form in _FORMS)


def _meets(glob: str, places: list[_Place]) -> bool:
    reach = {0}  # so many places may stand before what of the glob is left
    for part in re.findall(r"\*+|[^*]", glob):
        if not part.startswith("*"):
            reach = {i + 1 for i in reach if i < len(places) and part in places[i][0]}
        for i, (chars, may_lack) in enumerate(places):
            starred = part.startswith("**") or (part == "*" and chars != "/")
            if i in reach and (starred or may_lack):
                reach.add(i + 1)
    return len(places) in reach


def _translate(part: str) -> str:
    if part == "*":
        return "[^/]*"
    return ".*" if part.startswith("**") else re.escape(part)


def _parse(pattern: re.Pattern[str], uri: str) -> Spiffe | None:
    match = pattern.fullmatch(uri)
    if match is None:
        return None
    return Spiffe(uri, **{k: v or "" for k, v in match.groupdict().items()})
