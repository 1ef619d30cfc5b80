"""A service that Warded has never heard of: generated, compiled, served, called.

tests/support/acme/echo/v1/echo.proto is the schema; the build made C tables and Python
stubs of it with protoc-gen-warded; tests/support/echo_server.c serves it.
"""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import warded
from warded.v1 import audit_wd

from tests.support.gate import Home

BUILD = Path(os.environ.get("WARDED_BUILD", "build/asan")).absolute()
BIN = BUILD / "bin"
PATIENCE_S = 60.0


def run(*command: str | Path) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


class Served:
    """A home with the echo server running in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        run(BIN / "warded", "--home", home, "init")

    def profile(self, name: str, *scopes: str) -> Path:
        """A caller's profile."""
        out = self.home / "profile" / name
        words = [word for scope in scopes for word in ("--scope", scope)]
        run(BIN / "warded", "--home", self.home, "profile", "new", name, *words)
        return out

    def start(self, log: Path) -> subprocess.Popen[bytes]:
        """Start it; back when it is ready."""
        (self.home / "run").mkdir(exist_ok=True)
        path = self.home / "ready"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(path))
            ready.settimeout(PATIENCE_S)
            with log.open("wb") as file:
                process = subprocess.Popen(
                    [BIN / "echo_server", self.home],
                    env={**os.environ, "NOTIFY_SOCKET": str(path)},
                    stdout=file,
                    stderr=file,
                )
            try:
                assert ready.recv(100) == b"READY=1"
            except TimeoutError:
                process.kill()
                pytest.fail(f"never ready\n{log.read_text(errors='replace')}")
        return process

    def events(self, method: str) -> set[str]:
        """What the audit trail tells of a method, as the admin reads it."""
        stub = audit_wd.AuditStub(warded.connect(self.home / "profile/admin"))
        reply = stub.Query(
            audit_wd.QueryRequest(
                filter=audit_wd.AuditFilter(method=method), limit=1000
            )
        )
        return {row.event for row in reply.rows}


@pytest.fixture(scope="module")
def echo() -> ModuleType:
    """The generated Python module."""
    sys.path.insert(0, str(BUILD / "echo_python"))
    try:
        return importlib.import_module("acme.echo.v1.echo_wd")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The echo server, with profiles of three callers."""
    home = Path(tempfile.mkdtemp(prefix="wd-echo-", dir="/tmp"))
    home.chmod(0o755)
    try:
        it = Served(home)
        it.profile("caller", "echo:say")
        it.profile("neighbour", "echo:other")
        it.profile("stranger", "observe:python_code")
        process = it.start(home / "log")
        try:
            yield it
        finally:
            process.terminate()
            status = process.wait(PATIENCE_S)
        log = (home / "log").read_text(errors="replace")
        assert status == 0, log
        assert "Sanitizer" not in log, log
    finally:
        shutil.rmtree(home)


def stub(echo: ModuleType, served: Served, name: str) -> Any:
    """A stub that calls with the profile of that name."""
    return echo.EchoStub(warded.connect(served.home / "profile" / name))


def test_claim_03_unknown_proto_is_served_and_called(
    echo: ModuleType, served: Served
) -> None:
    request = echo.SayRequest(text="h\u00e9llo", moods=[echo.SayRequest.Mood()] * 2)
    reply = stub(echo, served, "caller").Say(request, timeout=5)
    assert (reply.text, reply.moods) == ("h\u00e9llo", 2)


def test_claim_03_its_rules_hold_at_the_gate(echo: ModuleType, served: Served) -> None:
    caller = stub(echo, served, "caller")
    neighbour = stub(echo, served, "neighbour")
    stranger = stub(echo, served, "stranger")
    text, empty, mood = (
        echo.SayRequest(text="x"),
        echo.SayRequest(),
        echo.SayRequest.Mood(name="say"),
    )
    refused = {
        "no scope of the area": (stranger.Say, text, 5, "METHOD_UNKNOWN"),
        "another scope": (neighbour.Say, text, 5, "SCOPE_MISSING"),
        "timeout": (caller.Say, text, 6, "FIELD_INVALID"),
        "handler": (caller.Say, empty, 5, "FIELD_INVALID"),
        "another object": (neighbour.Whisper, mood, 5, "SCOPE_MISSING"),
        "no object": (caller.Whisper, echo.SayRequest.Mood(), 5, "SCOPE_MISSING"),
        "no handler": (caller.Whisper, mood, 5, "NOT_BUILT"),
        "narrower scope": (caller.Listen, caller.Listen.request(), 5, "SCOPE_MISSING"),
    }
    for name, (method, request, timeout, reason) in refused.items():
        with pytest.raises(warded.RpcError) as raised:
            method(request, timeout=timeout)
        assert raised.value.reason.name == reason, name


def test_claim_03_what_it_audits_and_what_not(echo: ModuleType, served: Served) -> None:
    caller = stub(echo, served, "caller")
    caller.Say(echo.SayRequest(text="for the record"), timeout=5)
    first, second = (caller.Ping(echo.PingRequest()).count for _ in range(2))
    assert second == first + 1
    assert {"call.begin", "call.end"} <= served.events("/acme.echo.v1.Echo/Say")
    assert served.events("/acme.echo.v1.Echo/Ping") == set()


def test_claim_03_a_gate_refuses_a_record_that_nobody_plans(served: Served) -> None:
    """Whisper says `record: BATCH`; this server gives it no planner."""
    home = served.home / "unplanned"
    run(BIN / "warded", "--home", home, "init")
    (home / "run").mkdir(exist_ok=True)
    Home(home).take_uids()
    done = subprocess.run(
        [BIN / "echo_server", home, "unplanned"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode != 0
    assert "/acme.echo.v1.Echo/Whisper has record: BATCH" in done.stderr
    assert "wd_registry_place()" in done.stderr
