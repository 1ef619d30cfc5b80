"""`warded check`: what a start needs; and that a start refuses in the same words."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import NewGate, NewHome
from tests.support.facts import facts, failed
from tests.support.gate import Done, Gate, Home, program, run


@pytest.fixture
def home(new_home: NewHome) -> Path:
    """A home that was initialised; its slots' ids are no other gate's."""
    made = new_home()
    made.take_uids()
    return made.path


def warded(home: Path, *words: str) -> Done:
    """A command that may fail."""
    return Home(home).warded(*words, check=False)


def test_check_names_every_fact_and_layer(home: Path) -> None:
    table = facts(warded(home, "check"))
    for name in ("configuration", "user", "credentials", "digest key", "store"):
        assert table[name].startswith("ok ")
    for layer in ("user-namespace", "seccomp", "landlock", "cgroup-memory", "mounts"):
        assert f"sandbox: {layer}" in table
    assert table["TLS engine"] == "ok warded"


def remove_key(home: Path) -> None:
    """No credentials."""
    (home / "state/gate/key.pem").unlink()


def open_key(home: Path) -> None:
    """A key that others can read."""
    (home / "state/gate/key.pem").chmod(0o644)


def foreign_key(home: Path) -> None:
    """A key that belongs to another certificate."""
    shutil.copy(home / "profile/admin/key.pem", home / "state/gate/key.pem")
    os.chown(home / "state/gate/key.pem", 0, pwd.getpwnam("warded").pw_gid)
    (home / "state/gate/key.pem").chmod(0o640)


def client_certificate(home: Path) -> None:
    """Credentials that are a client's, not a gate's."""
    foreign_key(home)
    shutil.copy(home / "profile/admin/cert.pem", home / "state/gate/cert.pem")


BROKEN = [
    (remove_key, ["key.pem", "warded init"]),
    (open_key, ["key.pem", "chmod"]),
    (foreign_key, ["do not belong together", "not encrypted: `warded init` makes"]),
    (client_certificate, ["not for servers"]),
]


@pytest.mark.parametrize(("spoil", "says"), BROKEN)
def test_claim_04_check_names_what_is_wrong_with_credentials(
    home: Path, spoil: Callable[[Path], None], says: list[str]
) -> None:
    spoil(home)
    done = warded(home, "check")
    assert done.returncode == 1
    verdict = facts(done)["credentials"]
    assert verdict.startswith("FAIL ")
    assert [word for word in says if word not in verdict] == []


@pytest.mark.parametrize(("spoil", "says"), BROKEN)
def test_claim_04_start_refuses_by_cause_path_and_cure(
    home: Path, spoil: Callable[[Path], None], says: list[str]
) -> None:
    spoil(home)
    done = warded(home, "serve")
    assert done.returncode == 78, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("warded serve: gate: ")
    assert [word for word in says if word not in last] == []


def no_digest_key(path: Path) -> None:
    """It is lost."""
    path.unlink()


def short_digest_key(path: Path) -> None:
    """It was cut."""
    path.write_bytes(b"short")


def long_digest_key(path: Path) -> None:
    """It has grown."""
    path.write_bytes(b"x" * 33)


@pytest.mark.parametrize("name", ["warded.yaml", "state/gate/digest.key"])
@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_pipe_in_place_of_a_file_is_refused_at_once(
    home: Path, name: str, command: str
) -> None:
    (home / name).unlink()
    os.mkfifo(home / name, 0o600)
    done = warded(home, command)
    assert done.returncode != 0
    assert "no regular file" in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["list", "audit verify", "audit query"])
def test_a_pipe_in_place_of_the_store_is_refused_at_once(
    home: Path, command: str
) -> None:
    (home / "state/store/store.db").unlink()
    os.mkfifo(home / "state/store/store.db", 0o600)
    done = Home(home).tokctl(*command.split(), check=False)
    assert done.returncode == 5
    assert "no regular file" in done.stderr


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (no_digest_key, "is missing: put it back"),
        (short_digest_key, "must have 32"),
        (long_digest_key, "must have 32"),
    ],
)
def test_a_bad_digest_key_is_refused_alike_and_the_cure_cures(
    home: Path, spoil: Callable[[Path], None], says: str
) -> None:
    key = home / "state/gate/digest.key"
    spoil(key)
    verdict = facts(warded(home, "check"))["digest key"].removeprefix("FAIL ")
    done = warded(home, "serve")
    assert done.returncode == 78
    assert says in verdict
    assert done.stderr.splitlines()[-1] == f"warded serve: gate: {verdict}"
    cure = re.search(r"head -c 32 /dev/urandom >\S+(?=;)", verdict)
    assert cure is not None
    run("sh", "-c", cure.group())
    key.chmod(0o640)
    shutil.chown(key, "root", "warded")
    assert facts(warded(home, "check"))["digest key"].startswith("ok ")


def a_pipe(path: Path) -> None:
    """A FIFO in place of `path`."""
    path.unlink()
    os.mkfifo(path, 0o600)


EXPOSED_CA = [
    ("state/ca", lambda p: p.chmod(0o755), "chmod 0700"),
    ("state/ca", lambda p: p.chmod(0o710), "chmod 0700"),
    ("state/ca", lambda p: shutil.chown(p, "warded"), "chown 0"),
    ("state/ca/ca.key", lambda p: p.chmod(0o644), "chmod 0600"),
    ("state/ca/ca.key", lambda p: p.chmod(0o604), "chmod 0600"),
    ("state/ca/ca.key", lambda p: p.chmod(0o640), "chmod 0600"),
    ("state/ca/ca.key", lambda p: p.chmod(0o602), "chmod 0600"),
    ("state/ca/ca.key", lambda p: shutil.chown(p, "warded"), "chown 0"),
    ("state/ca/ca.key", a_pipe, "no regular file"),
]


@pytest.mark.parametrize(("name", "expose", "cure"), EXPOSED_CA)
def test_claim_04_check_and_start_refuse_a_ca_key_that_others_can_reach(
    home: Path, name: str, expose: Callable[[Path], None], cure: str
) -> None:
    expose(home / name)
    verdict = facts(warded(home, "check"))["CA"]
    assert verdict.startswith(f"FAIL {home / name} ")
    assert cure in verdict
    done = warded(home, "serve")
    assert done.returncode == 78
    said = done.stderr.splitlines()
    assert said == [f"warded serve: {verdict.removeprefix('FAIL ')}"]
    assert not (home / "run/address").exists()


def test_claim_04_a_gate_starts_without_a_ca_or_without_its_key(
    home: Path, new_gate: NewGate
) -> None:
    (home / "state/ca/ca.key").unlink()
    assert facts(warded(home, "check"))["CA"].startswith("ok ")
    shutil.rmtree(home / "state/ca")
    assert "not on this host" in facts(warded(home, "check"))["CA"]
    new_gate(Home(home))


def test_claim_04_the_gates_account_is_not_root(home: Path) -> None:
    config = home / "warded.yaml"
    text = config.read_text()
    config.write_text(re.sub(r"^user: .*", "user: root", text, flags=re.M))
    done = warded(home, "check")
    assert failed(done) == ["user"]
    verdict = facts(done)["user"].removeprefix("FAIL ")
    assert '"root" is root' in verdict
    assert facts(done)["credentials"].startswith("- not tried")
    started = warded(home, "serve")
    assert started.returncode == 78
    assert started.stderr == f"warded serve: {verdict}\n"


def test_check_beside_a_running_gate_says_so(gate: Gate) -> None:
    done = gate.home.warded("check")
    assert facts(done)["store"] == "ok in use by a running gate"
    assert f"process {gate.pid};" in facts(done)["running"]
    assert facts(done)["listen.url"].startswith("- not tried: 'warded serve' runs")
    assert f"'warded serve' runs here, as process {gate.pid}" in done.stdout
    assert "'warded serve' would start" not in done.stdout


def test_check_where_none_runs_says_that_it_would_start(home: Path) -> None:
    done = warded(home, "check")
    assert done.returncode == 0
    assert "running" not in facts(done)
    assert "'warded serve' would start" in done.stdout
    (home / "run/lock").write_text(f"{os.getpid()}\n")  # of one that was killed
    assert "running" not in facts(warded(home, "check"))


def as_nobody(home: Path, *words: str) -> Done:
    """A command by an ordinary account; the programs may be out of its reach."""
    for name in ("warded", "warded-slot"):
        shutil.copy(program(name), home.parent)
    account = pwd.getpwnam("nobody")
    ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
    own = home.parent / "warded"
    return run("setpriv", *ids, own, "--home", home, *words, check=False)


def test_check_by_who_may_not_is_one_failure_and_the_rest_is_not_tried(
    home: Path,
) -> None:
    done = as_nobody(home, "check")
    assert done.returncode == 1
    assert failed(done) == ["user"]
    assert "run this as root" in facts(done)["user"]
    untried = {"running", "credentials", "digest key", "store", "sandbox"}
    untried |= {"audit.export_dir"}
    assert {
        n for n, v in facts(done).items() if v.startswith("- not tried: ")
    } == untried
    assert "1 to mend" in done.stdout


def test_check_by_an_ordinary_account_names_each_cause_once(home: Path) -> None:
    mine = home.parent / "mine"
    mine.mkdir()
    shutil.chown(mine, "nobody")
    assert as_nobody(mine / "home", "init").returncode == 0
    done = as_nobody(mine / "home", "check")
    assert done.returncode == 1
    assert set(failed(done)) <= {"sandbox: user-namespace", "sandbox: cgroup-memory"}
    verdicts = facts(done)
    assert "run warded as root" in verdicts["sandbox: user-namespace"]
    assert verdicts["sandbox: seccomp"] == "- not tried: it takes user-namespace"
    assert done.stdout.count("Operation not permitted") == 1


def test_check_where_the_gate_cannot_go_is_one_failure(home: Path) -> None:
    (home / "state").chmod(0o700)
    done = warded(home, "check")
    assert failed(done) == ["user"]
    assert "chmod o+x" in facts(done)["user"]
