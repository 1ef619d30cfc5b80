"""The profile's `policy` file: which gates this client trusts."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass

from warded._quote import quote
from warded._spiffe import gate_glob_ok, glob_matches, parse_gate


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
                f"line {number}: {quote(line.strip())}; a line is `adopt "
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
    """A value that no gate can have would be a rule that never holds."""
    cure = _CURES[word]
    if not _FITS[word](value):
        raise ValueError(f"line {number}: {word} {quote(value)}{cure}")


def _is_gate(value: str) -> bool:
    return parse_gate(value) is not None or ("*" in value and gate_glob_ok(value))


_FITS: dict[str, Callable[[str], object]] = {
    "adopt": {adopt.value for adopt in Adopt}.__contains__,
    "gate": _is_gate,
    "image": re.compile(r"sha256:[0-9a-f]{64}").fullmatch,
    "pool": re.compile(r"[!-~]{1,512}").fullmatch,  # as the fact of a certificate
}
_CURES = {
    "adopt": "; it is own, namespace or never",
    "gate": ": no gate's SPIFFE id is so; write "
    "spiffe://DOMAIN/ns/NS/owner/OWNER[/pool/POOL]/gate/ID in lower case, `*` for any "
    "part of a segment, `**` for anything",
    "image": ": no image's digest is so; write sha256: and its 64 hexadecimal digits "
    "in lower case",
    "pool": ": no pool is called so; write 1 to 512 printable ASCII characters",
}
