"""DER as a tree whose elements can be dropped, doubled, moved, renamed, misencoded."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.fuzz.certificates import tlv

Random = random.Random


@dataclass(slots=True)
class Node:
    """An element; `long` asks for a length longer than need be."""

    tag: int
    data: bytes = b""
    children: list[Node] | None = None
    long: int = 0

    def encode(self) -> bytes:
        """The element's bytes, well formed or not."""
        content = self.data
        if self.children is not None:
            content += b"".join(child.encode() for child in self.children)
        if self.long == 0:
            return tlv(self.tag, content)
        size = len(content).to_bytes(self.long, "big")
        return bytes([self.tag, 0x80 | self.long]) + size + content


def parse(data: bytes) -> list[Node]:
    """Elements one after the other. ValueError: it is no DER."""
    nodes = []
    while data:
        if len(data) < 2:
            raise ValueError("cut off")
        tag, size, at = data[0], data[1], 2
        if size >= 0x80:
            at += size & 0x7F
            size = int.from_bytes(data[2:at], "big")
        if at + size > len(data):
            raise ValueError("longer than what is there")
        nodes.append(_node(tag, data[at : at + size]))
        data = data[at + size :]
    return nodes


def _node(tag: int, content: bytes) -> Node:
    if tag & 0x20 or (tag == 0x04 and content):
        try:
            return Node(tag, children=parse(content))
        except ValueError:
            pass
    return Node(tag, content)


def places(nodes: list[Node]) -> Iterator[tuple[list[Node], int]]:
    """Each element, as a list and its index there."""
    for index, node in enumerate(nodes):
        yield nodes, index
        yield from places(node.children or [])


def flip(rng: Random, data: bytes, most: int) -> bytes:
    """Change up to `most` bytes."""
    out = bytearray(data)
    for _ in range(rng.randint(1, most)):
        out[rng.randrange(len(out))] ^= rng.randint(1, 255)
    return bytes(out)


TAGS = (0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0C, 0x13, 0x16, 0x17, 0x18, 0x30, 0x31,
        0x81, 0x82, 0x86, 0x87, 0xA0, 0xA3, 0xA6)  # fmt: skip


def change(rng: Random, nodes: list[Node], index: int) -> None:
    """Do something to nodes[index], or near it."""
    node = nodes[index]
    match rng.randrange(9):
        case 0:
            del nodes[index]
        case 1:
            nodes.insert(rng.randint(0, len(nodes)), node)
        case 2:
            other = rng.randrange(len(nodes))
            nodes[index], nodes[other] = nodes[other], node
        case 3:
            node.tag = rng.choice(TAGS)
        case 4:
            node.long = rng.randint(2, 4)
        case 5 if node.data:
            node.data = flip(rng, node.data, 1)
        case 6:
            node.data += rng.choice((b"\0", b"\x05\0", rng.randbytes(2)))
        case 7:
            node.data = node.data[:-1]
        case _:
            nodes.append(Node(rng.choice(TAGS), rng.randbytes(rng.randint(0, 4))))
