"""A good payload of every method, read from the schema: a new method has one by itself.

Nothing is known here of protobuf's Python: the seeds are made where there is none.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROTOS = Path(__file__).resolve().parents[2] / "proto/warded/v1"
DEPTH = 4
NUMBERS = {"bool": 1, "int32": 7, "uint32": 7, "int64": 7, "uint64": 60000}
TEXTS = {"id": "0123456789", "call_id": "01900000-0000-7000-8000-000000000000"}
LINE = re.compile(
    r"\s*(?:(?P<opens>message|enum|oneof|service) (?P<name>\w+) \{(?P<shut>\})?"
    r"|rpc (?P<rpc>\w+)\((?P<asks>\w+)\) "
    r"returns \((?:stream )?(?P<says>\w+)\) \{(?P<one>.*\})?"
    r"|(?P<many>repeated )?(?P<type>\w+) (?P<field>\w+) = (?P<number>\d+);"
    r"|(?P<closes>\})"
    r"|(?P<other>[^{}]*\{\s*$))"
)


@dataclass(slots=True)
class Schema:
    """Fields of messages by name, and methods by path with request and reply."""

    messages: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)
    enums: set[str] = field(default_factory=set)
    methods: dict[str, tuple[str, str]] = field(default_factory=dict)


def read_schema() -> Schema:
    """All of proto/warded/v1."""
    schema = Schema()
    for path in sorted(PROTOS.glob("*.proto")):
        _read(path.read_text(), schema)
    return schema


def _read(text: str, schema: Schema) -> None:
    inside: list[tuple[str, str]] = []  # kind and name, outermost first
    for line in re.sub(r"//.*", "", text).splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        if found["opens"]:
            _open(found, inside, schema)
        elif found["rpc"]:
            path = f"/warded.v1.{inside[-1][1]}/{found['rpc']}"
            schema.methods[path] = (found["asks"], found["says"])
            if not found["one"]:
                inside.append(("rpc", found["rpc"]))
        elif found["other"]:
            inside.append(("other", ""))
        elif found["closes"]:
            inside.pop()
        elif inside and found["field"] and inside[-1][0] in ("message", "oneof"):
            owner = next(n for kind, n in reversed(inside) if kind == "message")
            schema.messages[owner].append(
                (found["type"], found["field"], int(found["number"]))
            )


def _open(found: re.Match[str], inside: list[tuple[str, str]], schema: Schema) -> None:
    if found["opens"] == "message":
        schema.messages.setdefault(found["name"], [])
    elif found["opens"] == "enum":
        schema.enums.add(found["name"])
    if not found["shut"]:
        inside.append((found["opens"], found["name"]))


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def whole(schema: Schema, name: str, depth: int = DEPTH) -> bytes:
    """A message with every field set, and those of its messages."""
    out = b""
    for kind, label, number in schema.messages[name]:
        if kind in NUMBERS or kind in schema.enums:
            out += varint(number << 3) + varint(NUMBERS.get(kind, 1))
        elif kind == "double":
            out += varint(number << 3 | 1) + struct.pack("<d", 0.5)
        elif kind in ("string", "bytes") or (kind in schema.messages and depth):
            data = TEXTS.get(label, label).encode()
            if kind in schema.messages:
                data = whole(schema, kind, depth - 1)
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def payload_seeds(by_hand: dict[str, list[bytes]]) -> Iterator[bytes]:
    """For each method its request and reply, behind the byte that chooses them in
    payload.c: methods are counted by path. `by_hand`: more of some, by the method's
    path for a request, and with "=" behind it for a reply."""
    schema = read_schema()
    for number, path in enumerate(sorted(schema.methods)):
        for which, name in enumerate(schema.methods[path]):
            choice = bytes([2 * number + which])
            yield choice
            yield choice + whole(schema, name)
            for more in by_hand.pop(path + "=" * which, []):
                yield choice + more
    assert not by_hand, f"no such methods: {list(by_hand)}"
