#!/usr/bin/env python3
"""make_corpus.py OUT - writes every fuzz target's seeds to OUT/TARGET/, always alike.

A seed is a good input, so that mutations begin behind the first check. What once broke
a target lives beside it for good, as hexadecimal text: tests/fuzz/found/TARGET/*.hex.
"""

from __future__ import annotations

import base64
import string
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

# The script's own folder, also when it is run by its path.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz.certificates import certificates
from tests.fuzz.schema_seeds import payload_seeds, varint

FOUND = Path(__file__).resolve().parent / "found"
CALL_ID = bytes.fromhex("017f22e279b07cc398c4dc0c0c07398f")
CLIENT = "spiffe://test.example/ns/default/owner/ann/client/trainer"
GATE = "spiffe://test.example/ns/default/owner/ann/pool/p1/gate/g1"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase

Seeds = Iterator[bytes]


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*values: int | str | bytes | None) -> bytes:
    """A message of fields 1, 2, 3, ...; None leaves one out."""
    numbered = enumerate(values, 1)
    return b"".join(field(n, v) for n, v in numbered if v is not None)


def sp_stream() -> Seeds:
    """One byte how, four how to cut; then a stream, or the lengths of its messages."""
    body = struct.pack(">I", 0x80000001) + b"hello"
    frame = struct.pack(">Q", len(body)) + body
    yield b"\0\0\0\0\7" + b"\0SP\0\0\x30\0\0" + frame + struct.pack(">Q", 0) + frame * 3
    yield b"\0\0\0\0\1" + b"\0SP\0\0\x30\0\0" + b"\xff" * 12
    for lengths in ((0, 1, 7), (16312, 16313, 16320), (1, 32640, 60000)):
        yield b"\1\0\0\0\3" + b"".join(struct.pack(">I", n) for n in lengths)


def request() -> Seeds:
    """Requests of each kind, and one whose every field comes twice."""
    entry = message("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7-01")
    call = message(
        1, CALL_ID, 2, "/warded.v1.Health/Check", 1500, "wdt1_", None, entry, b"\n\3pad"
    )
    yield call
    yield call + field(8, message("run", "7")) + field(99, b"later")
    yield call + call
    yield message(1, CALL_ID, None, None, None, "t", 1)
    yield message(1, CALL_ID, None, None, None, "t", 2)


def reply() -> Seeds:
    """An answer, a refusal, and one from before the request could be read."""
    head = message(7, bytes(range(32)))
    entry = message("k", "v")
    yield message(
        CALL_ID, None, None, None, None, None, entry, head, b"\n\3pad", 1 << 40
    )
    yield message(CALL_ID, 8, 15, "queue full", 250, b"d", entry, head, None, 1 << 40)
    yield message(None, 3, 20, "not protobuf")
    yield message(CALL_ID) + field(8, message(1)) + field(8, message(None, bytes(32)))


def items() -> bytes:
    """The payload of GetObservation."""
    limits = message(1000, 1000, 1 << 26, 8, 1 << 20, 4096)
    plain = message("t1", "<python>print(1)</python>", None, None, b"in", None, None)
    whole = plain + field(3, "python_code") + field(8, limits) + field(11, '{"a":[1]}')
    return field(1, plain) + field(1, whole) + field(1, message("t2") + field(9, 1))


def payload() -> Seeds:
    """Of every method what the schema has, and more of those that mean something."""
    content = message("stdout", "text/plain", "1\n")
    result = message(1, 0, "m", content, 1)
    row = message(1, "chain", 2, 3, "call.begin", "ok", 0, "R", CLIENT)
    issue = message("name", "data", "owner", "why", "", "observe:python_code")
    yield from payload_seeds({
        "/warded.v1.Observation/GetObservation": [
            items(),
            field(1, b"") * 300,  # 88 times its size in memory
        ],
        "/warded.v1.Observation/GetObservation=": [field(1, result) * 2],
        "/warded.v1.Token/Issue": [issue + field(7, f"uri:{CLIENT}") + field(8, 60000)],
        "/warded.v1.Token/Revoke": [field(1, "0123456789") * 3, field(6, "owner=ann")],
        "/warded.v1.Token/List": [field(1, "state=active name=a*")],
        "/warded.v1.Audit/Query": [message(1, 9, 5)],
        "/warded.v1.Audit/Query=": [field(1, row) * 3],
    })  # fmt: skip


def jobs() -> Seeds:
    """A byte for the way, one for cuts and bounds; then frames."""

    def frames(*parts: bytes) -> bytes:
        return b"".join(struct.pack(">I", len(p)) + p for p in parts)

    limits = message(1000, 1000, 1 << 26, 8, 1 << 20, 4096)
    run = message(7, "python_code", b"print(1)", b"in", limits, 1 << 30, 1 << 31)
    yield b"\1\7" + frames(field(1, run), field(2, message(7)), field(1, run))
    ready = message("namespaces", message("seccomp", 1, "on"), 3)
    out = message("caf\u00e9 \u20ac\n".encode() * 40, 9000, 300, 180)
    done = message(7, 1, 0, 256, out, message(b"\xff\0x", 3, 3), 10, 20, "m", 1)
    yield b"\0\0" + frames(field(1, ready), field(2, message(7)), field(3, done))
    yield b"\0\0" + frames(field(4, message("canary")), b"", b"\x0a")
    yield b"\1\0" + struct.pack(">I", 33 << 20)


def names() -> Seeds:
    """A name on the first line, a deny list behind it."""
    yield f"{CLIENT}\n# comment\nserial 0A:1B\nspiffe://test.example/ns/default\n".encode()
    yield f"{GATE}\n{GATE}\nserial 00ff # x\n".encode()
    yield f"spiffe://a/ns/b/owner/c/gate/d\nspiffe://{'x' * 2030}\n".encode()


def token() -> Seeds:
    """A byte for the way; then text, or what one is made of."""
    body = "wdt1_" + "a" * 10 + "B" * 43
    crc, check = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        check = BASE62[digit] + check
    yield b"\0" + (body + check).encode()
    yield b"\0" + b"0123456789"
    yield b"\1\1\x05x" + bytes(range(80))


def config() -> Seeds:
    """The configuration with everything in it, with little, and odd YAML."""
    yield (
        Path(__file__).resolve().parent / "corpus/config/everything.yaml"
    ).read_bytes()
    yield b"listen: {url: 'tls+tcp://[::1]:0', tls12: true}\n"
    yield b"tools:\n  - name: a\n    tags: []\n  - name: b\n    limits: {wall_ms: 10}\n"
    yield b"sandbox: {mode: external, reason: gVisor, roots: [/usr], slots: 1}\n"
    yield b"log: &a {format: json}\nuser: *a\n"
    yield b"tools: []\n"


def routing() -> Seeds:
    """A byte for the tool's name, then the action."""
    yield b"\0think\n<python>\nprint(1)\n</python> so <py>x</py>"
    yield b"\1```python\nprint(1)\n```\n```py x```"
    yield b"\0```pyx\n```py\n y\n```<calc>1+1</calc>"
    yield b"\2<calc>\n\n  caf\xc3\xa9\r\n</calc>"
    yield b"\0" + b"<py></py>" * 400


def scope() -> Seeds:
    """Three lines."""
    yield b"observe:*\nobserve:python_code\nobserve:**"
    yield b"env:a/*/c\nenv:a/**\nenv:a/b/c"
    yield b"token:issue\naudit:read\nhealth:watch"


def utf8() -> Seeds:
    """A byte for the place of the cut, then text or nearly."""
    yield b"\5" + "a\u00e9\u20ac\U0001f600z".encode()
    yield b"\2\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe2\x82"


def witness() -> Seeds:
    """Heads, a comment, an unfinished line."""
    head = "12 " + "0af7" * 16
    odd = f"13 {'AB' * 32}\r\n999999999999999999 {'0' * 64}\n14 0a"
    yield f"# seen\n{head}\n\n{odd}".encode()
    yield f"{head}\n".encode() * 70


def audit_row() -> Seeds:
    """A byte for the type, one for the column, then the value."""
    yield b"\0\0call.begim"
    yield b"\0\x0f" + b'{"cut_bytes": 9}\0\xff'
    yield b"\1\0" + struct.pack(">q", -1)
    yield b"\2\1" + bytes(32)
    yield b"\2\0"


def identity() -> Seeds:
    """Certificates, as a CA of ours would sign them and as none would."""
    yield from certificates()


TARGETS = (
    audit_row, config, identity, jobs, names, payload, reply, request, routing, scope,
    sp_stream, token, utf8, witness,
)  # fmt: skip

# Whose decoders no unit test gives every prefix of an input and every byte changed.
BROKEN = (config, jobs)


def broken(seed: bytes) -> Seeds:
    """Every prefix, and the whole with each byte changed, two ways."""
    for place in range(len(seed)):
        yield seed[:place]
        for change in (0x01, 0xFF):
            yield seed[:place] + bytes([seed[place] ^ change]) + seed[place + 1 :]


def main(out: Path) -> None:
    """Write them all."""
    for seeds in TARGETS:
        folder = out / seeds.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds()):
            (folder / f"seed-{number:02}").write_bytes(seed)
            for at, data in enumerate(broken(seed) if seeds in BROKEN else ()):
                (folder / f"seed-{number:02}-{at:05}").write_bytes(data)
        for path in sorted((FOUND / seeds.__name__).glob("*.hex")):
            data = base64.b16decode("".join(path.read_text().split()).upper())
            (folder / path.stem).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
