"""protoc's request in, protoc's response out."""

from __future__ import annotations

from typing import BinaryIO

from google.protobuf.compiler.plugin_pb2 import (
    CodeGeneratorRequest,
    CodeGeneratorResponse,
)

from . import c, c_client, check, py
from .model import File
from .read import read

_LANGUAGES = {
    "c": (c.render,),
    "c-client": (c_client.render,),
    "python": (py.render,),
    "": (c.render, py.render),
}


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """One run: protoc's request from `source`, the answer to `sink`."""
    request = CodeGeneratorRequest.FromString(source.read())
    sink.write(answer(request).SerializeToString())


def answer(request: CodeGeneratorRequest) -> CodeGeneratorResponse:
    """The generated files, or one error text that lists every fault."""
    response = CodeGeneratorResponse()
    # protoc then asks us, and it is check that refuses it, with the cure
    response.supported_features = CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL
    language = request.parameter.removeprefix("lang=")
    if language not in _LANGUAGES:
        response.error = (
            f'option "{request.parameter}" is unknown: say lang=c, lang=c-client or '
            "lang=python"
        )
        return response

    schema = read(request)
    faults = check.faults(schema)
    if faults:
        response.error = "\n".join(faults)
        return response

    for file in schema.files:
        for name, content in _render(file, language):
            response.file.add(name=name, content=content)
    return response


def _render(file: File, language: str) -> list[tuple[str, str]]:
    return [made for render in _LANGUAGES[language] for made in render(file)]
