"""tokctl: who answers it, what it refuses before it dials, how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.client.fake_gate import FakeGate
from tests.client.pki import GATE, OTHER_GATE, Authority, Leaf, make_profile
from tests.conftest import NewHome
from tests.support.ctl import CLEAN, Ctl
from tests.support.gate import program
from tests.support.store import (
    CONFLICT,
    DENIED,
    FAILED,
    NOT_FOUND,
    UNREACHABLE,
    USAGE,
)
from tests.support.stub_gate import StubGate

TRAINER = "uri:spiffe://warded.local/ns/default/owner/root/client/trainer"


# --- who answers --------------------------------------------------------------------


def test_pieces_of_a_profile_are_options_and_variables(
    asked: StubGate, tmp_path: Path
) -> None:
    profile = asked.home.path / "profile/boss"
    policy = tmp_path / "policy"
    policy.write_text("adopt own\n")
    pieces = {
        "server": asked.address,
        "ca": profile / "ca.pem",
        "cert": profile / "cert.pem",
        "key": profile / "key.pem",
        "token-file": profile / "token",
        "policy": policy,
    }
    options = [f"--{name}={value}" for name, value in pieces.items()]
    variables = {
        f"WARDED_{name.upper().replace('-', '_')}": str(value)
        for name, value in pieces.items()
    }
    none: dict[str, str] = {}
    for words, env in ((options, none), ([], variables)):
        done = subprocess.run(
            [str(program("tokctl")), "whoami", "--field", "token.name", *words],
            env={**CLEAN, **env, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "boss\n"


def test_gate_and_store_at_once_are_refused(boss: Ctl, tmp_path: Path) -> None:
    done = boss("list", "--db", str(tmp_path), status=USAGE)
    assert "not with --profile" in done.stderr
    assert "only a gate" in offline(tmp_path, "whoami", status=USAGE).stderr


def offline(
    folder: Path, *words: str, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """tokctl --db."""
    command = [str(program("tokctl")), *words, "--db", str(folder)]
    done = subprocess.run(
        command, env=CLEAN, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def test_running_gate_has_the_store_and_is_named(asked: StubGate) -> None:
    words = ("issue", "x", "--scope", "observe:x", "--bind", TRAINER)
    done = offline(asked.home.store, *words, status=CONFLICT)
    assert str(asked.pid) in done.stderr


def test_no_profile_is_unreachable_and_says_how_to_make_one(tmp_path: Path) -> None:
    done = Ctl(tmp_path / "none")("list", status=UNREACHABLE)
    assert "warded profile new" in done.stderr


@pytest.mark.parametrize("name", ["token", "key.pem"])
def test_loose_permissions_are_refused(
    asked: StubGate, tmp_path: Path, name: str
) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    for file in (asked.home.path / "profile/boss").iterdir():
        if file.is_file():
            copy = profile / file.name
            copy.write_bytes(file.read_bytes())
            copy.chmod(0o600)
    (profile / name).chmod(0o640 if name == "token" else 0o604)
    (profile / name).chmod(0o604)
    done = Ctl(profile)("whoami", status=DENIED)
    assert name in done.stderr


def test_closed_port_is_unreachable(asked: StubGate, boss: Ctl) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = boss("whoami", "--server", f"127.0.0.1:{port}", status=UNREACHABLE)
    assert "UNREACHABLE" in done.stderr


def test_claim_05_impostor_gets_no_byte_of_the_token(tmp_path: Path) -> None:
    authority = Authority()
    folder = tmp_path / "gate"
    folder.mkdir()
    authority.issue(Leaf(uris=(OTHER_GATE,))).write(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    with FakeGate(folder) as impostor:
        profile = make_profile(tmp_path / "profile", authority, impostor.server_line)
        (profile / "policy").write_text(f"gate {GATE}\n")
        done = Ctl(profile)("revoke", "0123456789", status=UNREACHABLE)
        impostor.wait_for(lambda seen: len(seen.refusals) + seen.closed == 1)
        assert impostor.seen.bytes_after_handshake == 0
    assert OTHER_GATE in done.stderr


def test_time_that_is_up_is_unreachable(tmp_path: Path) -> None:
    authority = Authority()
    folder = tmp_path / "gate"
    folder.mkdir()
    authority.issue(Leaf()).write(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    with FakeGate(folder, lambda gate, request: None) as mute:
        profile = make_profile(tmp_path / "profile", authority, mute.server_line)
        done = Ctl(profile)("whoami", "--timeout", "1s", status=UNREACHABLE)
    assert "may have run" in done.stderr


def test_method_that_the_gate_does_not_have_is_a_failure(reader: Ctl) -> None:
    done = reader("audit", "prune", "--to", "1", "--yes", status=DENIED)
    assert "SCOPE_MISSING" in done.stderr or "METHOD_UNKNOWN" in done.stderr


def test_interrupt_removes_what_was_half_made(tmp_path: Path) -> None:
    authority = Authority()
    folder = tmp_path / "gate"
    folder.mkdir()
    authority.issue(Leaf()).write(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    out = tmp_path / "secret"
    with FakeGate(folder, lambda gate, request: None) as mute:
        profile = make_profile(tmp_path / "profile", authority, mute.server_line)
        words = ("issue", "x", "--scope", "a:b", "--out", str(out))
        with subprocess.Popen(
            [str(program("tokctl")), *words, "--profile", str(profile)],
            env=CLEAN,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            mute.wait_for(lambda seen: len(seen.requests) == 1)
            assert out.exists()
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in stderr
    assert not out.exists()


def test_db_backup_of_a_running_gate_is_a_store_that_verifies(
    asked: StubGate, boss: Ctl, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    boss("whoami")
    done = offline(asked.home.store, "db", "backup", str(copy), "-o", "json")
    assert json.loads(done.stdout)["pages"] > 0
    assert copy.stat().st_mode & 0o777 == 0o700
    report = json.loads(offline(copy, "audit", "verify", "-o", "json").stdout)
    assert report["ok"]
    assert report["rows"] >= 2
    offline(asked.home.store, "db", "backup", str(copy), status=CONFLICT)
    offline(tmp_path / "none", "db", "backup", str(tmp_path / "b"), status=NOT_FOUND)
    assert not (tmp_path / "b").exists()


def test_failed_output_is_a_failure(boss: Ctl) -> None:
    command = f"{program('tokctl')} whoami --profile {boss.profile} > /dev/full"
    done = subprocess.run(["sh", "-c", command], env=CLEAN, check=False)
    assert done.returncode == FAILED


def test_home_without_a_gate_still_answers(new_home: NewHome) -> None:
    home = new_home()
    assert "[]" in home.tokctl("list", "--owner", "nobody", "-o", "json").stdout
