"""tokctl scan, and a text that leaked: tokens found, named, revoked, in part."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.pki import make_token
from tests.support.ctl import Ctl
from tests.support.gate import Done, program, run
from tests.support.store import (
    CONFLICT,
    FAILED,
    NOT_FOUND,
    OK,
    PARTIAL,
    USAGE,
)

STRANGE = make_token("s" * 43)  # right digits, of no gate
TYPO = STRANGE[:-1] + ("0" if STRANGE[-1] != "0" else "1")
MOST = 1024  # tokens of one request to revoke
NOWHERE = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}

Issue = Callable[[str], str]


@pytest.fixture
def issue(boss: Ctl) -> Issue:
    """issue(NAME): a token of observe:scan, whole."""
    words = ("--scope", "observe:scan", "--unbound", "-q")
    return lambda name: boss("issue", name, *words).stdout.strip()


def scan(*words: str | Path, status: int = FAILED, **env: str) -> Done:
    """tokctl scan, which knows of no gate."""
    command = [str(program("tokctl")), "scan", *map(str, words)]
    done = subprocess.run(
        command, env={**NOWHERE, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def found(*words: str | Path) -> list[list[str]]:
    """Place, line and id of each find; nobody is asked."""
    lines = scan(*words, "-o", "csv", "--no-headers").stdout.splitlines()
    return [line.split(",")[:3] for line in lines]


# --- trees --------------------------------------------------------------------------


def test_claim_05_scan_tells_place_and_id_and_never_the_secret(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    log = tmp_path / "a/b/build.log"
    log.write_text(f"one\nkey='{STRANGE}';\n{TYPO}\n")
    (tmp_path / "bytes").write_bytes(b"\0\xff" * 40000 + STRANGE.encode() + b"\0")
    (tmp_path / "link").symlink_to(log)
    place = [str(log), "2", STRANGE[5:15]]
    assert sorted(found(tmp_path)) == [place, [f"{tmp_path}/bytes", "1", STRANGE[5:15]]]
    for form in ("table", "wide", "json", "jsonl", "csv", "name"):
        done = scan(tmp_path, "-o", form)
        assert STRANGE[15:] not in done.stdout + done.stderr
        assert (STRANGE[5:15] in done.stdout) == (form != "name")


def test_claim_05_scan_of_what_has_none_is_ok(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"{TYPO} {STRANGE[:-1]}\n")
    assert scan(tmp_path, "-o", "name", status=OK).stdout == ""
    scan(tmp_path / "none", status=NOT_FOUND)
    scan(status=USAGE)


def test_claim_05_scan_names_what_it_can_not_read_and_ends_with_8(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").write_text("nothing\n")
    memory = "/proc/self/mem"  # a file that is there, and whose first byte is not
    done = scan(tmp_path, memory, "-o", "name", status=PARTIAL)
    assert f"{memory}: Input/output error" in done.stderr


def test_claim_05_scan_ends_nowhere_short_of_all(tmp_path: Path) -> None:
    """More than one request may revoke are found all the same, but none is revoked."""
    tokens = [make_token(f"{number:043}") for number in range(MOST + 1)]
    (tmp_path / "many").write_text("\n".join(tokens))
    assert len(found(tmp_path)) == MOST + 1


# --- git ----------------------------------------------------------------------------


class Repository:
    """A git repository, and what was ever in it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.git("init", "-q")

    def git(self, *words: str) -> str:
        """What it prints."""
        who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=no")
        return run("git", "-C", self.path, *who, *words).stdout.strip()

    def commit(self, name: str, text: str, message: str = "a change") -> None:
        """A file with this text, and no more in it."""
        (self.path / name).write_text(text)
        self.git("add", name)
        self.git("commit", "-q", "-m", message)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With a token that was taken out again."""
    (tmp_path / "repo").mkdir()
    made = Repository(tmp_path / "repo")
    made.commit("src.py", f"x = 1\ntoken = '{STRANGE}'\n")
    made.commit("src.py", "x = 1\n")
    return made


def test_claim_05_scan_finds_what_git_still_has_offline(
    repository: Repository,
) -> None:
    assert scan(repository.path, status=OK).stdout.count("\n") <= 1
    blob = repository.git("rev-parse", "HEAD~1:src.py")
    place = [f"git:{blob[:12]}:src.py", "2", STRANGE[5:15]]
    assert found("--git", repository.path) == [place]
    done = scan("--git", repository.path)
    assert STRANGE[15:] not in done.stdout + done.stderr
    repository.git("gc", "-q")  # packed
    assert found("--git", repository.path) == [place]


def test_claim_05_scan_finds_messages_and_what_no_branch_has(
    repository: Repository,
) -> None:
    said, lost = (make_token(letter * 43) for letter in "mu")
    repository.commit("b", "b", f"with {said}")
    (repository.path / "c").write_text(lost)
    blob = repository.git("hash-object", "-w", "c")
    (repository.path / "c").unlink()
    commit = repository.git("rev-parse", "HEAD")
    places = {place for place, _, _ in found("--git", repository.path)}
    assert f"git:{commit[:12]}" in places
    assert f"git:{blob[:12]}" in places
    assert len(places) == 3


def test_claim_05_scan_without_git_or_a_repository_says_so(
    tmp_path: Path, repository: Repository
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    done = scan("--git", away, status=CONFLICT, GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert "is it a repository of ours?" in done.stderr
    done = scan("--git", repository.path, status=CONFLICT, PATH=str(away))
    assert "there is no git program" in done.stderr


# --- and revokes --------------------------------------------------------------------


def test_claim_05_scan_revokes_what_it_finds_in_git_too(
    boss: Ctl, issue: Issue, tmp_path: Path
) -> None:
    now, past = issue("now"), issue("past")
    (tmp_path / "repo").mkdir()
    repository = Repository(tmp_path / "repo")
    repository.commit("a", past)
    repository.commit("a", now)
    words = ("scan", "--git", "--revoke", str(repository.path))
    assert "say --yes" in boss(*words, status=USAGE).stderr
    assert "would revoke 2," in boss(*words, "--dry-run").stderr
    assert state(boss, now) == state(boss, past) == ("active", "")
    assert "revoked 2, 0 were not live" in boss(*words, "--yes").stderr
    assert state(boss, now) == state(boss, past) == ("revoked", "found by tokctl scan")
    assert "revoked 0, 2 were not live" in boss(*words, "--yes").stderr


def state(boss: Ctl, token: str) -> tuple[str, str]:
    told = boss.json("show", token[5:15])
    return told["state"], told["revoked_reason"]


def test_claim_05_scan_that_finds_a_strangers_token_revokes_ours_and_ends_with_8(
    boss: Ctl, issue: Issue, tmp_path: Path
) -> None:
    ours = issue("ours")
    (tmp_path / "log").write_text(f"{STRANGE}\n{ours}\n")
    done = boss("scan", "--revoke", "--yes", str(tmp_path), status=PARTIAL)
    assert "revoked 1, 0 were not live, 1 are not this gate's" in done.stderr
    assert state(boss, ours)[0] == "revoked"


def test_claim_05_scan_asks_for_states(boss: Ctl, issue: Issue, tmp_path: Path) -> None:
    live, ended = issue("live"), issue("ended")
    boss("revoke", ended[5:15])
    (tmp_path / "log").write_text(f"{live}\n{ended}\n{STRANGE}\n")
    words = ("scan", "--live", str(tmp_path), "--field", "state")
    assert boss(*words, status=FAILED).stdout.split() == [
        "active",
        "revoked",
        "unknown",
    ]


def test_claim_05_scan_revokes_none_where_it_can_not_revoke_all(
    boss: Ctl, issue: Issue, tmp_path: Path
) -> None:
    ours = issue("ours")
    many = [make_token(f"{number:043}") for number in range(MOST)]
    (tmp_path / "many").write_text("\n".join([ours, *many]))
    done = boss("scan", "--revoke", "--yes", str(tmp_path), status=FAILED)
    assert f"more than {MOST} tokens" in done.stderr
    assert "none was revoked" in done.stderr
    assert state(boss, ours)[0] == "active"


# --- a text that leaked -------------------------------------------------------------


def test_claim_02_pasted_text_is_searched_for_secrets_by_their_check_digits(
    boss: Ctl, issue: Issue
) -> None:
    quoted, linked, spoilt = (issue(name) for name in ("quoted", "linked", "spoilt"))
    typo = spoilt[:-1] + ("0" if spoilt[-1] != "0" else "1")
    text = f'> "{quoted}",\nhttps://host/?t={linked}&x=1\n{typo}\n'
    done = boss.json("revoke", "--leaked", "-", "--yes", text=text)
    assert (done["revoked"], done["leaked_unknown"]) == (2, 0)
    assert sorted(done["ids"]) == sorted([quoted[5:15], linked[5:15]])
    assert state(boss, spoilt)[0] == "active"


def test_claim_05_leaked_text_with_a_strangers_token_ends_with_8(
    boss: Ctl, issue: Issue, tmp_path: Path
) -> None:
    leaked = tmp_path / "leaked"
    leaked.write_text(f"{STRANGE} {issue('ours')}\n")
    words = ("revoke", "--leaked", str(leaked), "--yes", "-o", "csv", "--no-headers")
    done = boss(*words, status=PARTIAL)
    assert done.stdout.startswith("1,0,")
    boss("revoke", "--leaked", str(tmp_path / "none"), "--yes", status=NOT_FOUND)
    boss("revoke", "--leaked", "-", "--yes", text="no token\n", status=USAGE)
