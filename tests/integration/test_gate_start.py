"""A gate that can't be trusted does not start, and says why and what to do."""

from __future__ import annotations

import shutil
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.gate import Home
from tests.support.stub_gate import RefusedError, StubGate

GATE = "state/gate"
REFUSED = "exit 78"
IN_USE = "exit 5"


def remove(home: Home, name: str) -> None:
    (home.path / name).unlink()


def chmod(home: Home, name: str, mode: int) -> None:
    (home.path / name).chmod(mode)


def write(home: Home, name: str, data: bytes) -> None:
    path = home.path / name
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda h: remove(h, f"{GATE}/cert.pem"), ["cert.pem", "warded init"]),
        (lambda h: remove(h, f"{GATE}/key.pem"), ["key.pem", "warded init"]),
        (lambda h: remove(h, f"{GATE}/ca.pem"), ["ca.pem", "warded init"]),
        (lambda h: remove(h, f"{GATE}/digest.key"), ["digest.key"]),
        (lambda h: chmod(h, f"{GATE}/key.pem", 0o644), ["key.pem"]),
        (lambda h: chmod(h, f"{GATE}/digest.key", 0o644), ["digest.key"]),
        (
            lambda h: write(h, f"{GATE}/digest.key", b"short"),
            ["digest.key", "32 bytes"],
        ),
        (lambda h: write(h, f"{GATE}/cert.pem", b"no PEM"), ["cert.pem", "PEM"]),
        (lambda h: write(h, f"{GATE}/deny", b"nonsense\n"), ["1"]),
        (lambda h: write(h, "state/store/store.db", b"x" * 4096), ["store"]),
        (lambda h: chmod(h, "state/store", 0o755), ["store"]),
        (lambda h: h.configure("identity:\n  deny_list: /no/such/list"), ["/no/such"]),
    ],
)
def test_claim_04_a_start_is_refused_with_its_cause(
    new_home: NewHome, spoil: Callable[[Home], None], words: list[str]
) -> None:
    home = new_home()
    spoil(home)
    gate = StubGate(home)
    with pytest.raises(RefusedError) as refused:
        gate.start()
    for word in words:
        assert word in str(refused.value)
    assert gate.ended == REFUSED
    gate.close()
    assert not (home.path / "run/address").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tokens SET revoked_ms = 0",
        "UPDATE tokens SET scopes = 'observe:** token:**'",
        "UPDATE tokens SET expires_ms = expires_ms + 1000000",
    ],
)
def test_claim_08_a_start_is_refused_when_the_tokens_are_not_those_of_the_trail(
    new_home: NewHome, statement: str
) -> None:
    home = new_home()
    token = home.profile("trainer", "observe:python_code") / "token"
    home.tokctl("revoke", token.read_text()[5:15])
    database = home.store / "store.db"
    with sqlite3.connect(database) as db:
        db.execute(statement)
    db.close()
    gate = StubGate(home)
    with pytest.raises(RefusedError, match=r"does not verify: token .*backup"):
        gate.start()
    assert gate.ended == REFUSED
    gate.close()


def test_two_gates_do_not_share_a_store(new_home: NewHome) -> None:
    home = new_home()
    with StubGate(home):
        second = StubGate(home)
        with pytest.raises(RefusedError, match=r"lock|process"):
            second.start()
        assert second.ended == IN_USE
        second.close()


def test_an_address_in_use_is_refused(new_home: NewHome) -> None:
    home = new_home()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = home.config.read_text()
        home.config.write_text(text.replace("127.0.0.1:0", f"127.0.0.1:{port}"))
        gate = StubGate(home)
        with pytest.raises(RefusedError, match=f"127.0.0.1:{port}"):
            gate.start()
        assert gate.ended == REFUSED
        gate.close()


def test_a_stale_address_is_removed_at_start(new_home: NewHome) -> None:
    home = new_home()
    stale: Path = home.path / "run/address"
    stale.write_text("127.0.0.1:1\n")
    shutil.chown(stale, "warded")
    remove(home, f"{GATE}/key.pem")
    gate = StubGate(home)
    with pytest.raises(RefusedError):
        gate.start()
    gate.close()
    assert not stale.exists()
