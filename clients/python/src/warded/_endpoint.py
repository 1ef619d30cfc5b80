"""Endpoints: how `server` lines and certificates name a gate's address."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from warded._quote import quote

DEFAULT_PORT = 7443
_SCHEME = "tls+tcp://"
_BRACKETED = re.compile(r"\[(?P<host>[0-9A-Fa-f:.%]+)\](?::(?P<port>\d+))?")
_PLAIN = re.compile(r"(?P<host>[0-9A-Za-z._-]+)(?::(?P<port>\d+))?")
_HOSTS = (
    "write an IPv4 address of four numbers, an IPv6 address, or a name of labels of 1 "
    "to 63 characters, 253 in all, that does not end in a number"
)
_MAX_ASSERTED = 8
_MAX_SERVERS = 64


@dataclass(frozen=True)
class Endpoint:
    """A host and a port; the host in its one normal form."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class Server:
    """One line of a profile's `server` file: where to dial, whom to expect."""

    dial: Endpoint
    expect: Endpoint


def parse_endpoint(text: str) -> Endpoint:
    """`[tls+tcp://]HOST[:PORT]`, port 7443 when absent. Raises ValueError."""
    host, port = _split(text.removeprefix(_SCHEME))
    return Endpoint(host, DEFAULT_PORT if port is None else port)


def parse_servers(text: str) -> tuple[Server, ...]:
    """A `server` file: `ENDPOINT` or `ADDRESS as ENDPOINT`, one a line.

    Raises ValueError: line number, what is wrong, what may stand there.
    """
    servers: list[Server] = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 1 and (len(words) != 3 or words[1] != "as"):
            raise ValueError(
                f"line {number}: {quote(line.strip())}; a line is `HOST:PORT`, or "
                "`ADDRESS as HOST:PORT` to dial the one and expect the other"
            )
        if len(servers) == _MAX_SERVERS:
            raise ValueError(f"more than {_MAX_SERVERS} gates")
        try:
            servers.append(Server(_parse_host(words[0]), _parse_host(words[-1])))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    if not servers:
        raise ValueError("it names no gate; write a line `HOST:PORT`")
    return tuple(servers)


def _parse_host(word: str) -> Endpoint:
    """An endpoint that there can be.

    What ends in a number is an IPv4 address or nothing, though resolvers guess: 127.1
    is 127.0.0.1.
    """
    endpoint = parse_endpoint(word)
    labels = endpoint.host.split(".")
    is_address = ":" in endpoint.host or _is_ipv4(endpoint.host)
    if not is_address and (not all(labels) or labels[-1].isdigit()):
        raise ValueError(f"{quote(word)} is no host; {_HOSTS}")
    return endpoint


def asserts(fact: str, endpoint: Endpoint) -> bool:
    """Whether the endpoint fact (up to 8 `host[:port]`) covers `endpoint`.

    Raises ValueError: the fact is not of that form.
    """
    words = fact.split(" ")
    if len(words) > _MAX_ASSERTED:
        raise ValueError(f"{len(words)} endpoints; at most {_MAX_ASSERTED}")
    pairs = [_split(word) for word in words]
    return any(
        host == endpoint.host and port in (None, endpoint.port) for host, port in pairs
    )


def _split(text: str) -> tuple[str, int | None]:
    match = _BRACKETED.fullmatch(text) or _PLAIN.fullmatch(text)
    if match is None and text.count(":") > 1:
        return _normal(text), None  # an IPv6 address without brackets
    if match is None:
        raise ValueError(f"{quote(text)} is not HOST:PORT")
    port = match["port"]
    if port is not None and not 1 <= int(port) <= 65535:
        raise ValueError(f"{quote(text)}: a port is 1 to 65535")
    return _normal(match["host"]), None if port is None else int(port)


def _is_ipv4(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


def _normal(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if ":" in host:
        raise ValueError(f"{quote(host)} is not an IPv6 address")
    if len(host) > 253 or max(map(len, host.split("."))) > 63:
        raise ValueError(f"{quote(host)} is no host; {_HOSTS}")
    return host.lower().removesuffix(".")
