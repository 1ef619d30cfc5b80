"""protoc's descriptors into the model."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from .model import DEFAULT_TIMEOUT_MS, File, Method, Record, Rule, Schema, Service, Type

RULE = "warded.v1.rule"
_MESSAGE = FieldDescriptorProto.TYPE_MESSAGE
_SERVICE_PATH = 6  # FileDescriptorProto.service
_METHOD_PATH = 2  # ServiceDescriptorProto.method


def read(request: CodeGeneratorRequest) -> Schema:
    """The schema of one run."""
    types = {t.full: t for file in request.proto_file for t in _types_of(file)}
    rules = _RuleReader(request)
    wanted = set(request.file_to_generate)
    by_name = {file.name: file for file in request.proto_file}
    files = (
        _file(f, _imports(f, by_name), types, rules)
        for f in request.proto_file
        if f.name in wanted
    )
    return Schema(tuple(files), types)


def _imports(
    file: FileDescriptorProto, by_name: dict[str, FileDescriptorProto]
) -> tuple[str, ...]:
    """What `file` may name: its imports, and what they import publicly, and so on."""
    found = dict.fromkeys(file.dependency)  # a set that keeps the order
    unread = list(found)
    while unread:
        other = by_name[unread.pop(0)]
        public = [other.dependency[i] for i in other.public_dependency]
        unread += [name for name in public if name not in found]
        found.update(dict.fromkeys(public))
    return tuple(found)


class _RuleReader:
    """Reads (warded.v1.rule) with the definition that came along in the request.

    So the plugin needs no generated code of its own, and never disagrees with the
    options.proto that it compiles for.
    """

    def __init__(self, request: CodeGeneratorRequest) -> None:
        pool = descriptor_pool.DescriptorPool()
        for file in request.proto_file:
            pool.AddSerializedFile(file.SerializeToString())
        self._rule: Any = None
        try:
            self._rule = pool.FindExtensionByName(RULE)
        except KeyError:  # nothing imports options.proto: no method has a rule
            return
        options = pool.FindMessageTypeByName("google.protobuf.MethodOptions")
        self._options = _message_class(pool, options)
        _message_class(pool, self._rule.message_type)

    def of(self, method: MethodDescriptorProto) -> Rule | None:
        if self._rule is None:
            return None
        options = self._options.FromString(method.options.SerializeToString())
        if not options.HasExtension(self._rule):
            return None
        stated = options.Extensions[self._rule]
        return Rule(
            scope=stated.scope,
            grant=stated.grant,
            mutates=stated.mutates,
            max_timeout_ms=stated.max_timeout_ms or DEFAULT_TIMEOUT_MS,
            audited=stated.audited if stated.HasField("audited") else True,
            record=Record(stated.record),
            lane=stated.lane,
            own=stated.own,
            not_built=stated.not_built,
        )


def _message_class(pool: Any, descriptor: Any) -> Any:
    factory: Any = message_factory
    if hasattr(factory, "GetMessageClass"):  # protobuf >= 4.22
        return factory.GetMessageClass(descriptor)
    return factory.MessageFactory(pool).GetPrototype(descriptor)


def _types_of(file: FileDescriptorProto) -> list[Type]:
    package = f"{file.package}." if file.package else ""
    found: list[Type] = []

    def walk(message: DescriptorProto, local: str) -> None:
        parts = tuple(f.type_name[1:] for f in message.field if f.type == _MESSAGE)
        fields = tuple(f.name for f in message.field)
        optional = tuple(f.name for f in message.field if f.proto3_optional)
        found.append(Type(package + local, file.name, local, fields, parts, optional))
        for nested in message.nested_type:
            walk(nested, f"{local}.{nested.name}")

    for message in file.message_type:
        walk(message, message.name)
    return found


def _file(
    file: FileDescriptorProto,
    imports: tuple[str, ...],
    types: dict[str, Type],
    rules: _RuleReader,
) -> File:
    info = file.source_code_info
    comments = {tuple(at.path): at.leading_comments.strip() for at in info.location}
    return File(
        name=file.name,
        imports=imports,
        messages=tuple(m.name for m in file.message_type),
        enums=tuple((e.name, tuple(v.name for v in e.value)) for e in file.enum_type),
        extensions=tuple(e.name for e in file.extension),
        services=tuple(
            _service(file, i, types, rules, comments) for i in range(len(file.service))
        ),
        serialized=_embedded(file),
    )


def _service(
    file: FileDescriptorProto,
    index: int,
    types: dict[str, Type],
    rules: _RuleReader,
    comments: dict[tuple[int, ...], str],
) -> Service:
    service: ServiceDescriptorProto = file.service[index]
    full = f"{file.package}.{service.name}" if file.package else service.name
    at = (_SERVICE_PATH, index)
    methods = (
        Method(
            name=method.name,
            path=f"/{full}/{method.name}",
            request=types[method.input_type[1:]],
            reply=types[method.output_type[1:]],
            rule=rules.of(method),
            client_streams=method.client_streaming,
            server_streams=method.server_streaming,
            comment=comments.get((*at, _METHOD_PATH, i), ""),
        )
        for i, method in enumerate(service.method)
    )
    return Service(service.name, full, tuple(methods), comments.get(at, ""))


def _embedded(file: FileDescriptorProto) -> bytes:
    """The descriptor as protoc's own Python output embeds it, so that both agree."""
    bare = FileDescriptorProto()
    bare.CopyFrom(file)
    bare.ClearField("source_code_info")
    for message in bare.message_type:
        _clear_json_names(message)
    for extension in bare.extension:
        extension.ClearField("json_name")
    serialized: bytes = bare.SerializeToString(deterministic=True)
    return serialized


def _clear_json_names(message: DescriptorProto) -> None:
    for field in (*message.field, *message.extension):
        if field.json_name == _default_json_name(field.name):
            field.ClearField("json_name")
    for nested in message.nested_type:
        _clear_json_names(nested)


def _default_json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
