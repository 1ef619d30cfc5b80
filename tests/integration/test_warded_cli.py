"""The commands of `warded`: what they make, with which modes, and what they refuse."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.facts import facts
from tests.support.gate import Done, Home, program, run

TOKEN = re.compile(r"wd[ta]1_[0-9A-Za-z]{59}")


def init(path: Path, *words: str) -> Done:
    """Init that may fail."""
    return run(program("warded"), "--home", path, "init", *words, check=False)


@pytest.fixture
def home(new_home: NewHome) -> Path:
    """A home that was initialised."""
    return new_home().path


@pytest.fixture
def folder(home: Path) -> Path:
    """A folder that the gate's account can reach."""
    return home.parent


def warded(home: Path, *words: str) -> Done:
    """A command that may fail."""
    return Home(home).warded(*words, check=False)


def describe(path: Path) -> str:
    """Mode and owner, as ls tells them."""
    st = path.lstat()
    owner = pwd.getpwuid(st.st_uid).pw_name
    group = pwd.getpwuid(st.st_gid).pw_name  # groups of the same names
    return f"{stat.filemode(st.st_mode)} {owner} {group}"


MODES = {
    ".": "drwxr-xr-x root root",
    "warded.yaml": "-rw-r--r-- root root",
    "state": "drwxr-xr-x root root",
    "state/ca": "drwx------ root root",
    "state/ca/ca.key": "-rw------- root root",
    "state/gate": "drwxr-x--- root warded",
    "state/gate/key.pem": "-rw-r----- root warded",
    "state/gate/digest.key": "-rw-r----- root warded",
    "state/store": "drwx------ warded warded",
    "state/store/store.db": "-rw------- warded warded",
    "state/store/lock": "-rw------- warded warded",
    "state/store/reserve": "-rw------- warded warded",
    "run": "drwxrwx--T root warded",
    "profile/admin": "drwx------ root root",
    "profile/admin/key.pem": "-rw------- root root",
    "profile/admin/token": "-rw------- root root",
}


def test_init_makes_everything_with_its_mode_and_owner(home: Path) -> None:
    assert {name: describe(home / name) for name in MODES} == MODES
    assert (home / "state/gate/digest.key").stat().st_size == 32


def test_init_says_what_it_made_and_tells_no_secret(folder: Path) -> None:
    done = init(folder / "new")
    assert "profile new trainer" in done.stdout
    assert "serve" in done.stdout
    assert not TOKEN.search(done.stdout + done.stderr)
    assert TOKEN.fullmatch((folder / "new/profile/admin/token").read_text())


def test_init_twice_overwrites_nothing(home: Path) -> None:
    before = {p: p.read_bytes() for p in home.rglob("*") if p.is_file()}
    done = init(home)
    assert done.returncode == 5
    assert "nothing was overwritten" in done.stderr
    assert {p: p.read_bytes() for p in home.rglob("*") if p.is_file()} == before


def test_init_over_a_lone_ca_overwrites_nothing(folder: Path) -> None:
    (folder / "new/state/ca").mkdir(parents=True)
    done = init(folder / "new")
    assert done.returncode == 5
    assert "new/state/ca" in done.stderr
    assert "there without a configuration" in done.stderr


def test_init_by_an_ordinary_account_makes_all_its_own(folder: Path) -> None:
    mine = folder / "mine"
    mine.mkdir()
    account = pwd.getpwnam("nobody")
    os.chown(mine, account.pw_uid, account.pw_gid)
    own = shutil.copy(program("warded"), mine)  # the build may be out of its reach
    done = subprocess.run(
        [own, "--home", mine / "home", "init"],
        user="nobody",
        group=account.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    home = mine / "home"
    assert {p.stat().st_uid for p in home.rglob("*")} == {account.pw_uid}
    secrets = ("state/gate/key.pem", "state/gate/digest.key", "state/ca/ca.key")
    assert {(home / s).stat().st_mode & 0o777 for s in secrets} == {0o600}
    assert "\nuser: nobody\n" in (home / "warded.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--user", "nobody-here"], "no account"),
        (["--user", "root"], "is root"),
        (["--owner", "Not A Segment"], "owner"),
        (["--gate-id", "x" * 80], "gate"),
        (["--listen", "tcp://127.0.0.1:1"], "tls+tcp://HOST:PORT"),
        (["--admin-ttl", "31d"], "at most 30d"),
        (["--admin-ttl", "soon"], "such as 90s"),
        (["surplus"], "unexpected"),
    ],
)
def test_an_init_that_fails_leaves_nothing(
    folder: Path, words: list[str], says: str
) -> None:
    done = init(folder / "new", *words)
    assert done.returncode != 0
    assert says in done.stderr
    assert not (folder / "new").exists()


def test_init_where_the_gate_cannot_go_names_the_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    done = init(tmp_path / "home")
    assert done.returncode == 1
    assert "may not enter" in done.stderr
    assert "--home elsewhere" in done.stderr
    assert not (tmp_path / "home").exists()


def test_the_configuration_that_init_writes_names_every_key_and_holds(
    home: Path,
) -> None:
    text = (home / "warded.yaml").read_text()
    for key in ("in_flight", "deny_list", "uid_base", "output_bytes", "level"):
        assert re.search(rf"^#? *{key}:", text, re.M)
    # Every key as if its # were taken away, but for those that have no default.
    bare = re.sub(r"^#(?= *[a-z_0-9]+:)", "", text, flags=re.M)
    kept = [x for x in bare.splitlines() if not x.lstrip().startswith("#")]
    kept = [x for x in kept if not x.endswith("...")]
    opened = [*kept[1:], "end:"]
    full = [x for x, y in zip(kept, opened, strict=True) if not empty_group(x, y)]
    (home / "warded.yaml").write_text("\n".join(full))
    assert "uid_base: 1879048192" in "\n".join(full)
    assert "configuration" in warded(home, "check").stdout


def test_one_setting_needs_the_line_of_its_group_as_the_file_says(home: Path) -> None:
    settings = home / "warded.yaml"
    text = settings.read_text()
    assert "take the # from its line and from that of its group: '#sandbox:'" in text
    both = text.replace("\n#sandbox:", "\nsandbox:")
    both = both.replace("\n#  uid_base: 1879048192", "\n  uid_base: 1879048256")
    settings.write_text(both)
    assert facts(warded(home, "check"))["configuration"].startswith("ok")
    settings.write_text(text.replace("\n#  uid_base: ", "\n  uid_base: "))
    done = warded(home, "check")  # the group's line is a comment still
    assert done.returncode == 78
    assert "uid_base" in done.stdout + done.stderr


def empty_group(line: str, after: str) -> bool:
    """A group whose every key was taken out."""

    def depth(text: str) -> int:
        return len(text) - len(text.lstrip())

    return line.endswith(":") and depth(after) <= depth(line)


def test_a_profile_is_whole_and_its_owners_alone(home: Path) -> None:
    done = warded(home, "profile", "new", "trainer", "--scope", "observe:python_code")
    assert done.returncode == 0, done.stderr
    made = home / "profile/trainer"
    assert describe(made) == "drwx------ root root"
    assert describe(made / "key.pem") == "-rw------- root root"
    assert describe(made / "token") == "-rw------- root root"
    assert TOKEN.fullmatch((made / "token").read_text())
    assert (made / "token").read_text() not in done.stdout
    gate = re.search(r"spiffe://\S+/gate/\S+", (made / "policy").read_text())
    assert gate is not None
    assert (made / "policy").read_text() == f"gate {gate.group()}\n"
    assert (made / "ca.pem").read_text() == (home / "state/ca/ca.pem").read_text()
    assert "/client/trainer" in done.stdout
    assert describe(home / "state/store/store.db") == "-rw------- warded warded"


def test_a_profile_names_the_server_when_the_port_is_fixed(folder: Path) -> None:
    assert init(folder / "new", "--listen", "tls+tcp://[::1]:7999").returncode == 0
    admin = folder / "new/profile/admin/server"
    assert admin.read_text() == "[::1]:7999\n"


@pytest.mark.parametrize(
    ("scope", "warns"),
    [
        ("observe:python_cod", True),
        ("observe:python_code/x", True),
        ("observe:python_code", False),
        ("observe:*", False),
        ("audit:read", False),
    ],
)
def test_a_scope_that_allows_no_tool_is_made_with_a_warning(
    home: Path, scope: str, warns: bool
) -> None:
    done = warded(home, "profile", "new", "x", "--scope", scope, "--scope", "env:*")
    assert done.returncode == 0
    assert (home / "profile/x/token").exists()
    assert (f"warning: --scope {scope} " in done.stderr) == warns
    assert ("which has: observe:python_code\n" in done.stderr) == warns


def test_a_profile_goes_where_and_to_whom_it_is_told(home: Path) -> None:
    out = home / "elsewhere"
    words = ["--scope", "observe:*", "--ttl", "7d", "--out", str(out)]
    done = warded(home, "profile", "new", "t", *words, "--chown", "warded")
    assert done.returncode == 0, done.stderr
    assert describe(out) == "drwx------ warded warded"
    assert describe(out / "token") == "-rw------- warded warded"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["new"], 2, "profile new NAME"),
        (["old", "x"], 2, "profile new NAME"),
        (["new", "x"], 2, "--scope is missing"),
        (["new", "x", "y", "--scope", "observe:*"], 2, "unexpected: y"),
        (["new", "x", "--scope", "observe"], 2, "AREA:OBJECT"),
        (["new", "X", "--scope", "observe:*"], 2, "a-z 0-9"),
        (["new", "x", "--scope", "observe:*", "--ttl", "31d"], 2, "at most 30d"),
        (["new", "x", "--scope", "observe:*", "--ttl", "0s"], 2, "such as 90s"),
        (["new", "x", "--scope", "observe:*", "--chown", "me?"], 2, "no account"),
        (["new", "x", "--scope", "observe:*", "--out", "/nowhere/x"], 1, "/nowhere/x"),
        (["new", "admin", "--scope", "observe:*"], 5, "nothing was overwritten"),
    ],
)
def test_a_profile_that_is_refused_leaves_nothing(
    home: Path, words: list[str], code: int, says: str
) -> None:
    done = warded(home, "profile", *words)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert [p.name for p in (home / "profile").iterdir()] == ["admin"]


def test_a_profile_without_the_ca_names_it(home: Path) -> None:
    (home / "state/ca/ca.key").unlink()
    done = warded(home, "profile", "new", "x", "--scope", "observe:*")
    assert done.returncode != 0
    assert str(home / "state/ca") in done.stderr


@pytest.mark.parametrize("command", ["check", "serve", "profile new x --scope a:b"])
def test_a_refused_configuration_is_78_with_file_line_and_key(
    home: Path, command: str
) -> None:
    (home / "warded.yaml").write_text("user: warded\nlimits:\n  in_flight: 0\n")
    done = warded(home, *command.split())
    assert done.returncode == 78
    assert f"{home}/warded.yaml:3: limits.in_flight" in done.stderr
    assert "1 to 65536 (calls)" in done.stderr


@pytest.mark.parametrize("command", ["check", "serve", "profile new x --scope a:b"])
def test_without_a_configuration_the_cure_is_init(tmp_path: Path, command: str) -> None:
    done = warded(tmp_path, *command.split())
    assert done.returncode == 78
    assert "warded init" in done.stderr


def test_a_configuration_that_others_can_write_is_refused(home: Path) -> None:
    (home / "warded.yaml").chmod(0o666)
    done = warded(home, "serve")
    assert done.returncode == 78
    assert "chmod o-w" in done.stderr
