"""Every method of the schema, and payloads that no client of ours would send."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import warded.v1  # noqa: F401  # enters the files below into the pool
from google.protobuf import descriptor_pool

from tests.support.gate import ROOT

PROTOS = ROOT / "proto"
UNKNOWN_ID = "0123456789"
UNKNOWN_CALL = "01900000-0000-7000-8000-000000000000"
TEXTS = ("x", UNKNOWN_ID, UNKNOWN_CALL, "*", "é\n\t%s", "/", "a" * 5000)
BYTES = (b"x", b"\xff" * 40, bytes(5000))


@dataclass(frozen=True, slots=True)
class Method:
    """One of the schema's, by its path."""

    path: str
    request: Any  # its descriptor
    built: bool

    def __str__(self) -> str:
        return self.path.removeprefix("/warded.v1.")


def methods() -> list[Method]:
    """All of proto/warded/v1, so that a new one is among them by itself."""
    pool: Any = descriptor_pool.Default()
    found = []
    for path in sorted((PROTOS / "warded/v1").glob("*.proto")):
        name = path.relative_to(PROTOS).as_posix()
        for service in pool.FindFileByName(name).services_by_name.values():
            found += [_method(service, method) for method in service.methods]
    return found


def _method(service: Any, method: Any) -> Method:
    options = method.GetOptions()
    rule = next(v for f, v in options.ListFields() if f.full_name == "warded.v1.rule")
    path = f"/{service.full_name}/{method.name}"
    return Method(path, method.input_type, not rule.not_built)


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def wrong_types(request: Any) -> Iterator[bytes]:
    """Each field once with every wire type that is not its own, also the odd ones."""
    contents = {0: b"\1", 1: bytes(8), 2: b"\2\xff\xff", 3: b"", 4: b"", 5: bytes(4)}
    for field in request.fields:
        own = _wire_type(field)
        for wire_type in range(8):
            packed = wire_type == 2 and _repeated(field)
            if wire_type != own and not packed:
                key = varint(field.number << 3 | wire_type)
                yield key + contents.get(wire_type, b"\1")


def _wire_type(field: Any) -> int:
    if field.cpp_type in (field.CPPTYPE_STRING, field.CPPTYPE_MESSAGE):
        return 2
    return {field.CPPTYPE_DOUBLE: 1, field.CPPTYPE_FLOAT: 5}.get(field.cpp_type, 0)


def odd_payloads(request: Any) -> Iterator[bytes]:
    """Well-formed, and hardly what is meant: each field by itself, then all at once."""
    fields = list(request.fields)
    for field in fields:
        for turn in range(len(TEXTS)):
            yield _message(request, [field], turn).SerializeToString()
    for turn in range(len(TEXTS)):
        yield _message(request, fields, turn).SerializeToString()


def noise(request: Any, rng: random.Random) -> Iterator[bytes]:
    """Bytes that are no message, or hardly one."""
    for size in (1, 2, 3, 7, 20, 100, 4000):
        yield rng.randbytes(size)
    for field in request.fields:
        yield varint(field.number << 3 | 2) + b"\xff\xff\xff\xff\x07x"


Put = Callable[[bytes], bytes]


def leaves(message: Any, kind: int) -> Iterator[tuple[str, int, Put]]:
    """The fields of one type, at any depth: name, number, and what puts the bytes of
    such a field where it belongs."""
    for field in message.fields:
        if field.type == kind:
            yield f"{message.name}.{field.name}", field.number, bytes
        elif field.message_type is not None:
            for name, number, put in leaves(field.message_type, kind):
                yield name, number, _inside(field.number, put)


def _inside(number: int, put: Put) -> Put:
    """As a part of the message that has the field `number`."""

    def wrapped(data: bytes) -> bytes:
        content = put(data)
        return varint(number << 3 | 2) + varint(len(content)) + content

    return wrapped


def payload_of(request: Any, **fields: object) -> bytes:
    """A message with these fields."""
    data: bytes = request._concrete_class(**fields).SerializeToString()
    return data


def _repeated(field: Any) -> bool:
    return bool(field.label == field.LABEL_REPEATED)


def _message(kind: Any, fields: list[Any], turn: int) -> Any:
    message = kind._concrete_class()
    for field in fields:
        _fill(message, field, turn)
    return message


def _fill(message: Any, field: Any, turn: int) -> None:
    if field.message_type is not None:
        inner = _message(field.message_type, list(field.message_type.fields), turn)
        if _repeated(field):
            getattr(message, field.name).append(inner)
        else:
            getattr(message, field.name).CopyFrom(inner)
    elif _repeated(field):
        getattr(message, field.name).extend([_value(field, turn)] * (1, 1100)[turn % 2])
    else:
        setattr(message, field.name, _value(field, turn))


def _value(field: Any, turn: int) -> Any:
    if field.type == field.TYPE_STRING:
        return TEXTS[turn]
    if field.type == field.TYPE_BYTES:
        return BYTES[turn % len(BYTES)]
    if field.type == field.TYPE_BOOL:
        return True
    if field.type == field.TYPE_ENUM:
        return (1, 99, -1)[turn % 3]
    most = _most(field)
    return (1, most, most // 2 + 1, 2, 1000, 60_000, most - 1)[turn]


def _most(field: Any) -> int:
    bits = {
        field.CPPTYPE_INT32: 31,
        field.CPPTYPE_UINT32: 32,
        field.CPPTYPE_INT64: 63,
        field.CPPTYPE_UINT64: 64,
    }
    return int(2 ** bits[field.cpp_type] - 1)
