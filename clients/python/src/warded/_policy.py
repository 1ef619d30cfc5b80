"""The profile's `policy` file: which gates this client trusts."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from warded._spiffe import glob_matches, parse_gate


class Adopt(enum.Enum):
    """Which gates pass without being named by a `gate` line."""

    OWN = "own"  # creator and namespace are mine
    NAMESPACE = "namespace"  # namespace is mine
    NEVER = "never"  # none


@dataclass(frozen=True)
class Policy:
    """A policy file, read. `images` and `pools`: when given, one of them must fit."""

    adopt: Adopt = Adopt.OWN
    gates: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()

    def names(self, uri: str) -> bool:
        """Whether a `gate` line names this gate."""
        return any(glob_matches(glob, uri) for glob in self.gates)


def parse_policy(text: str) -> Policy:
    """Read a policy file. Blank lines and `#` comments are skipped.

    Where a `gate` line stands and no `adopt` line, only the named gates pass: a
    stranger of the same owner has to be let in by `adopt own`, in writing.

    Raises ValueError: line number, what is wrong, what may stand there.
    """
    found: dict[str, list[str]] = {"adopt": [], "gate": [], "image": [], "pool": []}
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in found:
            raise ValueError(
                f"line {number}: {line.strip()!r}; a line is `adopt "
                "own|namespace|never`, `gate GLOB`, `image sha256:HEX` or `pool NAME`"
            )
        _check_value(number, words[0], words[1])
        found[words[0]].append(words[1])
    return Policy(
        adopt=_choose_adopt(found["adopt"], bool(found["gate"])),
        gates=tuple(found["gate"]),
        images=tuple(found["image"]),
        pools=tuple(found["pool"]),
    )


def _choose_adopt(lines: list[str], gates_named: bool) -> Adopt:
    if len(lines) > 1:
        raise ValueError("more than one `adopt` line; keep the one you mean")
    if lines:
        return Adopt(lines[0])
    return Adopt.NEVER if gates_named else Adopt.OWN


def _check_value(number: int, word: str, value: str) -> None:
    if word == "adopt" and value not in {a.value for a in Adopt}:
        raise ValueError(f"line {number}: adopt {value}; it is own, namespace or never")
    if word == "gate" and "*" not in value and parse_gate(value) is None:
        raise ValueError(f"line {number}: {value} is not a gate's SPIFFE id or a glob")
    if word == "image" and not value.startswith("sha256:"):
        raise ValueError(f"line {number}: image {value}; it starts with sha256:")
