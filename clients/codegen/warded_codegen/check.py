"""What is refused, and why: each fault a line that names the method and the cure."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

from . import names
from .model import File, Method, Rule, Schema, Service, Type

_AREA = r"[a-z][a-z0-9_-]*"
_SEGMENT = r"(?:[A-Za-z0-9._-]+|\*)"
_OBJECT = rf"{_SEGMENT}(?:/{_SEGMENT})*(?:/\*\*)?|\*\*|\{{[a-z][a-z0-9_]*\}}"
_SCOPE = re.compile(rf"{_AREA}:(?:{_OBJECT})")
_PLACEHOLDER = re.compile(rf"{_AREA}:\{{([a-z][a-z0-9_]*)\}}")
_SCOPE_BYTES = 128
_PATH_BYTES = 255  # of a call's method; see docs/protocol.md


def faults(schema: Schema) -> list[str]:
    """All faults of all files; empty: generate."""
    found = [
        f"{file.name}: {fault}"
        for file in schema.files
        for fault in _of_file(file, schema)
    ]
    return found + list(_of_c_names(schema))


def _of_file(file: File, schema: Schema) -> Iterator[str]:
    yield from _of_words(re.split(r"[/.]", file.name))
    yield from _of_stubs(file)
    yield from _of_module(file)
    yield from _of_optional(file, schema)
    for service in file.services:
        yield from _of_names(service)
        for method in service.methods:
            for fault in _of_method(method, schema):
                yield f"{service.full}.{method.name}: {fault}"


def _of_names(service: Service) -> Iterator[str]:
    seen: dict[str, str] = {}
    for method in service.methods:
        member = names.snake(method.name)
        other = seen.setdefault(member, method.name)
        if other != method.name:
            yield (
                f"{service.full}: {other} and {method.name} have the same name in C, "
                f"{member}: rename one"
            )
        if member in names.TAKEN_MEMBERS:
            yield f"{service.full}.{method.name}: {member} is taken in C: rename it"


def _of_c_names(schema: Schema) -> Iterator[str]:
    """C has one space of names for all services of a program."""
    owners: dict[str, Service] = {}
    for file in schema.files:
        for service in file.services:
            taken = [n for n in names.c_names(service) if n in owners]
            if taken:
                other = owners[taken[0]].full
                yield (
                    f"{file.name}: {other} and {service.full} both need the name "
                    f"{taken[0]} in C: rename one of the services"
                )
            owners.update(dict.fromkeys(names.c_names(service), service))


def _of_stubs(file: File) -> Iterator[str]:
    """A module has one name for one thing."""
    kinds = dict.fromkeys(file.extensions, "extension")
    for enum, values in file.enums:
        kinds[enum] = "enum"
        kinds.update(dict.fromkeys(values, f"value of enum {enum},"))
    kinds.update(dict.fromkeys(file.messages, "message"))
    for service in file.services:
        stub = names.python_stub(service.name)
        if stub in kinds:
            yield (
                f"{service.full}: its stub is {stub} in Python, as the {kinds[stub]} "
                f"{stub} is: rename one"
            )


def _of_module(file: File) -> Iterator[str]:
    """Names that the generated module has for what is its own."""
    enums = [name for enum, values in file.enums for name in (enum, *values)]
    for name in (*file.messages, *enums, *file.extensions):
        yield from _of_underscore(name)
    for name in file.messages:
        if name in names.TAKEN_MESSAGES:
            yield f"message {name}: {name} is taken in a stub in Python: rename it"


def _of_underscore(name: str) -> Iterator[str]:
    if name.startswith("_"):
        yield (
            f"{name} begins with an underscore, as names of the generated code do: "
            "rename it"
        )


def _of_optional(file: File, schema: Schema) -> Iterator[str]:
    """protobuf-c knows no optional fields of proto3."""
    for type_ in schema.types.values():
        if type_.file != file.name:
            continue
        for field in type_.optional:
            yield (
                f"{type_.full}.{field} is optional, which C does not know in proto3: "
                "use a oneof with one member"
            )


def _of_words(words: list[str]) -> Iterator[str]:
    """Names that a Python module, class or attribute cannot have."""
    for word in words:
        if keyword.iskeyword(word):
            yield f"{word} is a keyword of Python: rename it"


def _of_method(method: Method, schema: Schema) -> Iterator[str]:
    yield from _of_words([method.name])
    yield from _of_underscore(method.name)
    size = len(method.path.encode())
    if size > _PATH_BYTES:
        yield f"its path {method.path} is {size} bytes long: at most {_PATH_BYTES}"
    if method.client_streams:
        yield "streams its request: calls carry one message; send a repeated field"
    if method.rule is None:
        yield (
            "states no rule: import warded/v1/options.proto and say "
            'option (warded.v1.rule) = { scope: "area:object" };'
        )
    else:
        yield from _of_rule(method.rule, method.server_streams)
        for scope in (method.rule.scope, method.rule.grant):
            yield from _of_scope(scope)
            yield from _of_placeholder(scope, method.request, schema)
    yield from _of_type(method.request, schema)
    if method.reply != method.request:
        yield from _of_type(method.reply, schema)


def _of_rule(rule: Rule, streams: bool) -> Iterator[str]:
    if rule.mutates and not rule.audited:
        yield "mutates and says audited: false: what changes something is on record"
    if rule.grant and not rule.scope:
        yield f'grants "{rule.grant}" beside no scope: any live token opens it'
    if streams and not rule.not_built:
        yield "streams its reply, which is not built yet: say not_built: true"


def _of_scope(scope: str) -> Iterator[str]:
    if scope and not _SCOPE.fullmatch(scope):
        yield (
            f'scope "{scope}" is not of the form area:object: '
            "an area is [a-z][a-z0-9_-]*, an object is {name}, or segments "
            "[A-Za-z0-9._-]+ or * parted by /, the last may be **"
        )
    if len(scope) > _SCOPE_BYTES:
        yield f"scope is {len(scope)} bytes long: at most {_SCOPE_BYTES}"


def _of_placeholder(scope: str, request: Type, schema: Schema) -> Iterator[str]:
    """A scope "area:{name}" says where the request names its objects.

    A request without any field names none: then it is the reply that the service cuts
    down to what the token may see.
    """
    found = _PLACEHOLDER.fullmatch(scope)
    fields = {field for held in _held(request, schema) for field in held.fields}
    if found and fields and found[1] not in fields:
        yield (
            f'scope "{scope}" names no field of {request.full} or of the messages in '
            f"it, which have {', '.join(sorted(fields))}: put the field that names the "
            "object between the braces"
        )


def _held(start: Type, schema: Schema) -> list[Type]:
    """`start` and every message type that it may hold."""
    found = {start.full: start}
    unread = [start]
    while unread:
        parts = unread.pop().parts
        new = {
            p: schema.types[p] for p in parts if p in schema.types and p not in found
        }
        found.update(new)
        unread += new.values()
    return list(found.values())


def _of_type(start: Type, schema: Schema) -> Iterator[str]:
    """protobuf-c decodes by recursion without bound, so no message may hold itself."""
    done: set[str] = set()
    path: list[str] = []

    def find(full: str) -> str | None:
        if full in path:
            return " > ".join([*path[path.index(full) :], full])
        if full in done or full not in schema.types:
            return None
        done.add(full)
        path.append(full)
        for part in schema.types[full].parts:
            loop = find(part)
            if loop:
                return loop
        path.pop()
        return None

    yield from _of_words(start.local.split("."))
    for part in start.local.split("."):
        yield from _of_underscore(part)
    loop = find(start.full)
    if loop:
        yield f"{start.full} is recursive ({loop}): its decoding would have no bound"
