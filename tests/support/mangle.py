"""Protobuf messages as nobody writes them: cut, flipped, each of their parts wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.schema import varint

ELEVEN = b"\x80" * 10 + b"\x01"  # a number of more bytes than any has
NO_TYPES = (3, 4, 6, 7)  # groups, which nobody writes any more, and what there is not
LENGTHS = (varint(0x7FFFFFFF), varint(0xFFFFFFFF), ELEVEN)


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a message: its tag, and where things stand."""

    number: int
    wire: int
    at: int  # the tag
    value: int  # what follows the tag: a length, or a number
    content: int  # what follows the length
    end: int


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def parts(data: bytes) -> Iterator[Part]:
    """The fields of a good message, one level deep."""
    at = 0
    while at < len(data):
        tag, value = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        size, content = 0, value
        if wire in (1, 5):
            size = {1: 8, 5: 4}[wire]
        elif wire == 0:
            _, content = read_varint(data, value)
        else:
            size, content = read_varint(data, value)
        yield Part(number, wire, at, value, content, content + size)
        at = content + size


def broken(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What each part can be that no message has."""
    for part in parts(data):
        before, after = data[: part.at], data[part.end :]
        body = data[part.value : part.end]
        name = f"field {part.number}"
        for wire in NO_TYPES:
            yield (
                f"{name} of wire type {wire}",
                before + varint(part.number << 3 | wire) + body + after,
            )
        yield f"{name} with number 0", before + varint(part.wire) + body + after
        tag = data[part.at : part.value]
        if part.wire == 0:
            yield f"{name} of eleven bytes", before + tag + ELEVEN + after
        if part.wire == 2:
            content = data[part.content : part.end]
            for length in LENGTHS:
                yield (
                    f"{name} with length {length.hex()}",
                    before + tag + length + content + after,
                )


def cuts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every beginning of it."""
    for size in range(len(data)):
        yield f"cut at {size}", data[:size]


def flips(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every bit the other way."""
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit}", bytes(flipped)
