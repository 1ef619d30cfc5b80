"""How a protobuf name looks in C and in Python; by the rules of protoc-c."""

from __future__ import annotations

import re

from .model import Service

# Names that a member cannot have: C's, and the one that every service has.
_WORDS = """
    asm auto break case char const continue default do double else enum extern float for
    goto if inline int long register restrict return self short signed sizeof static
    struct switch typedef typeof union unsigned void volatile while
"""
TAKEN_MEMBERS = frozenset(_WORDS.split())

# What a generated stub says beside the messages of its module.
TAKEN_MESSAGES = frozenset({"self", "channel"})


def snake(name: str) -> str:
    """`GetObservation` -> `get_observation`, `SQLQuery` -> `sql_query`."""
    spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", spaced).lower()


def prefix(full: str) -> str:
    """`acme.echo.v1.Echo` -> `wd_acme_echo_v1_echo`: how our names of it start."""
    return "wd_" + "_".join(snake(part) for part in full.split("."))


def c_names(service: Service) -> list[str]:
    """All that a service defines in C, for servers and for clients."""
    own = prefix(service.full)
    members = [snake(method.name) for method in service.methods]
    verbs = ("invoke", "reply", "call")
    return [own, f"{own}_service", f"{own}_methods"] + [
        f"{own}_{verb}_{member}" for member in members for verb in verbs
    ]


def protoc_c_type(full: str) -> str:
    """protoc-c's struct: `acme.echo.v1.SayRequest` -> `Acme__Echo__V1__SayRequest`."""
    return "__".join(_camel(part) for part in full.split("."))


def protoc_c_descriptor(full: str) -> str:
    """Its descriptor: `acme__echo__v1__say_request__descriptor`."""
    return "__".join(_lower(part) for part in full.split(".")) + "__descriptor"


def _camel(part: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in part.split("_"))


def _lower(part: str) -> str:
    return re.sub(r"(?<=[^A-Z])([A-Z])", r"_\1", part).lower()


def python_module(file: str) -> str:
    """`acme/echo/v1/echo.proto` -> `acme.echo.v1.echo_wd`; protobuf's own: `_pb2`."""
    base = file.removesuffix(".proto").replace("-", "_").replace("/", ".")
    return base + ("_pb2" if file.startswith("google/protobuf/") else "_wd")


def python_stub(service: str) -> str:
    """The class whose objects call the service."""
    return f"{service}Stub"


def python_alias(file: str) -> str:
    """The name under which a generated module imports another."""
    return "_" + re.sub(r"[^A-Za-z0-9]", "_", file.removesuffix(".proto"))
