"""A strict reader of DER (X.690): what is not the one right encoding is refused."""

from __future__ import annotations

from dataclasses import dataclass

INTEGER, BOOLEAN, OCTETS, OID, UTF8 = 0x02, 0x01, 0x04, 0x06, 0x0C
SEQUENCE = 0x30


class DerError(ValueError):
    """Not DER, or not what was expected there."""


@dataclass(frozen=True)
class Element:
    """One tag and its content."""

    tag: int
    body: bytes


def read_one(data: bytes) -> Element:
    """The one element that `data` is; raises DerError when bytes follow it."""
    element, rest = _read(data)
    if rest:
        raise DerError(f"{len(rest)} bytes after the end")
    return element


def read_all(data: bytes) -> list[Element]:
    """The elements that `data` is a row of."""
    elements = []
    while data:
        element, data = _read(data)
        elements.append(element)
    return elements


def read_sequence(element: Element) -> list[Element]:
    """The members of a SEQUENCE."""
    if element.tag != SEQUENCE:
        raise DerError(f"tag {element.tag:#04x} where a SEQUENCE belongs")
    return read_all(element.body)


def read_oid(element: Element) -> str:
    """An OBJECT IDENTIFIER as dotted text; arcs may be of any size (2.25.<UUID>)."""
    body = element.body
    if element.tag != OID or not body or body[-1] & 0x80:
        raise DerError("not an object identifier")
    arcs: list[int] = []
    value, fresh = 0, True
    for byte in body:
        if fresh and byte == 0x80:
            raise DerError("an arc of an object identifier is padded")
        value = value << 7 | byte & 0x7F
        fresh = not byte & 0x80
        if fresh:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, [first, arcs[0] - 40 * first, *arcs[1:]]))


def read_boolean(element: Element) -> bool:
    """TRUE or FALSE, in DER's two encodings."""
    if element.tag != BOOLEAN or element.body not in (b"\x00", b"\xff"):
        raise DerError("not a boolean")
    return element.body == b"\xff"


def read_utf8(element: Element) -> str:
    """A UTF8String without NUL."""
    if element.tag != UTF8:
        raise DerError(f"tag {element.tag:#04x} where a UTF8String belongs")
    try:
        text = element.body.decode()
    except UnicodeDecodeError as error:
        raise DerError("text is not UTF-8") from error
    if "\0" in text:
        raise DerError("text has a NUL")
    return text


def _read(data: bytes) -> tuple[Element, bytes]:
    if len(data) < 2:
        raise DerError("cut short")
    if data[0] & 0x1F == 0x1F:
        raise DerError("tags above 30 have no place in a certificate")
    length, start = _read_length(data)
    if len(data) < start + length:
        raise DerError("cut short")
    return Element(data[0], data[start : start + length]), data[start + length :]


def _read_length(data: bytes) -> tuple[int, int]:
    """(length of the content, where it starts): definite and shortest form only."""
    first = data[1]
    if first < 0x80:
        return first, 2
    count = first & 0x7F
    if not 1 <= count <= 4 or len(data) < 2 + count:
        raise DerError("an indefinite or absurd length, or cut short")
    length = int.from_bytes(data[2 : 2 + count], "big")
    if length < 0x80 or length >> 8 * (count - 1) == 0:
        raise DerError("a length in a longer form than it needs")
    return length, 2 + count
