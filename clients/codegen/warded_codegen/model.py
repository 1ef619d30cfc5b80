"""What is generated, as plain frozen data: files, services, methods, rules."""

from __future__ import annotations

import enum
from dataclasses import dataclass

DEFAULT_TIMEOUT_MS = 30_000  # of a rule that states none


class Record(enum.Enum):
    """How many records a call leaves in the audit trail."""

    CALL = 0
    ITEM = 1
    BATCH = 2


@dataclass(frozen=True)
class Rule:
    """The option (warded.v1.rule) of one method; see options.proto for each field."""

    scope: str = ""
    grant: str = ""
    mutates: bool = False
    max_timeout_ms: int = DEFAULT_TIMEOUT_MS
    audited: bool = True
    record: Record = Record.CALL
    lane: bool = False
    own: bool = False
    not_built: bool = False


@dataclass(frozen=True)
class Type:
    """A message type: where it stands, what it is made of."""

    full: str  # "acme.echo.v1.Outer.Inner"
    file: str  # "acme/echo/v1/echo.proto"
    local: str  # "Outer.Inner": the name within its file
    fields: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()  # full names of the message types of its fields
    optional: tuple[str, ...] = ()  # fields that proto3 calls optional


@dataclass(frozen=True)
class Method:
    """One rpc of a service."""

    name: str  # "Say"
    path: str  # "/acme.echo.v1.Echo/Say"
    request: Type
    reply: Type
    rule: Rule | None  # None: the method states none
    client_streams: bool
    server_streams: bool
    comment: str


@dataclass(frozen=True)
class Service:
    """One service of a file."""

    name: str  # "Echo"
    full: str  # "acme.echo.v1.Echo"
    methods: tuple[Method, ...]
    comment: str


@dataclass(frozen=True)
class File:
    """One .proto file that is to be generated."""

    name: str  # "acme/echo/v1/echo.proto"
    imports: tuple[str, ...]  # with what those import publicly
    messages: tuple[str, ...]  # top level
    enums: tuple[tuple[str, tuple[str, ...]], ...]  # top level, with their values
    extensions: tuple[str, ...]  # top level
    services: tuple[Service, ...]
    serialized: bytes  # its FileDescriptorProto


@dataclass(frozen=True)
class Schema:
    """All that one run of the plugin sees."""

    files: tuple[File, ...]  # to be generated
    types: dict[str, Type]  # every message type of these files and their imports
