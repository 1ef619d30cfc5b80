"""tokctl for people and for pipes: order, cursors, widths, colours, questions, ends."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ctl import CLEAN, Ctl, on_terminal
from tests.support.gate import READY_S, Home, program, remove, run
from tests.support.store import (
    CONFLICT,
    FAILED,
    INTEGRITY,
    NOT_FOUND,
    OK,
    USAGE,
    Store,
    new_store,
)
from tests.support.stub_gate import StubGate

NAMES = ("bob", "ann", "eve", "dan")
MORE = re.compile(r"there are more: go on with (--cursor) '(.+)'\n")
GREEN = "\033[32m"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Four tokens, each ends earlier than the one before it."""
    made = new_store(tmp_path / "store")
    for hours, name in enumerate(NAMES):
        made.issue(name, "--owner", name, "--ttl", f"{9 - hours}h")
    return made


def names(store: Store, *words: str) -> list[str]:
    return store.tokctl("list", "--field", "name", *words).stdout.split()


# --- order, cursors, members --------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "order"),
    [
        ("created", "bob ann eve dan"),
        ("expires", "dan eve ann bob"),
        ("name", "ann bob dan eve"),
        ("owner", "ann bob dan eve"),
    ],
)
def test_claim_05_list_is_sorted_either_way(
    store: Store, field: str, order: str
) -> None:
    assert names(store, "--sort", field) == order.split()
    assert names(store, "--sort", f"-{field}") == order.split()[::-1]


@pytest.mark.parametrize("field", ["frob", "-", "--name", "name "])
def test_claim_05_order_that_is_none_is_refused(store: Store, field: str) -> None:
    store.tokctl("list", f"--sort={field}", exit_status=USAGE)


@pytest.mark.parametrize("limit", [1, 3, 4, 5])
def test_claim_05_cursors_lead_through_all_of_a_list_once(
    store: Store, limit: int
) -> None:
    found: list[str] = []
    cursor: list[str] = []
    for _ in range(len(NAMES) + 1):
        done = store.tokctl("list", "--limit", str(limit), "-o", "name", *cursor)
        found += done.stdout.split()
        more = MORE.fullmatch(done.stderr)
        assert bool(more) == (len(found) < len(NAMES)), done.stderr
        if more is None:
            break
        cursor = [more[1], more[2]]
    assert found == store.tokctl("list", "-o", "name").stdout.split()


def test_claim_05_cursor_that_is_none_is_refused(store: Store) -> None:
    store.tokctl("list", "--cursor", "frob", exit_status=USAGE)


def test_claim_05_field_is_a_member_alone(store: Store) -> None:
    assert names(store, "--owner", "ann") == ["ann"]
    done = store.tokctl("list", "--owner", "ann", "--field", "scopes")
    assert done.stdout == "observe:python_code\n"
    for absent in ("frob", "rate.frob", "name.frob"):
        refused = store.tokctl("list", "--field", absent, exit_status=FAILED)
        assert "there is no such member" in refused.stderr
        assert refused.stdout == ""
    assert store.tokctl("list", "--owner", "x", "--field", "frob").stdout == ""


def test_claim_05_titles_can_be_left_out(store: Store) -> None:
    for form in ("table", "wide", "csv"):
        whole = store.tokctl("list", "-o", form).stdout.splitlines()
        bare = store.tokctl("list", "-o", form, "--no-headers").stdout.splitlines()
        assert len(whole) == len(NAMES) + 1
        assert [line.split() for line in bare] == [line.split() for line in whole[1:]]


# --- what asks, and what only says --------------------------------------------------


@pytest.fixture(scope="module")
def gate() -> Iterator[StubGate]:
    """A gate over a stub executor, with the profile `boss`."""
    folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
    folder.chmod(0o755)  # for the gate's account
    home = Home.make(folder / "home")
    home.profile("boss", "token:**", "observe:**")
    with StubGate(home) as running:
        yield running
    remove(folder)


@pytest.fixture
def boss(gate: StubGate, tmp_path: Path) -> Ctl:
    """Who has issued three tokens to `ann`."""
    ctl = Ctl(gate.home.path / "profile/boss")
    ctl("revoke", "--owner", "root", "--scope", "observe:x", "--yes")
    for name in ("a", "b", "c"):
        words = ("issue", name, "--scope", "observe:x", "--unbound")
        ctl(*words, "--out", str(tmp_path / name))
    return ctl


BULK = ("revoke", "--filter", "scope=observe:x")


def active(ctl: Ctl) -> int:
    return len(ctl.json("list", "--state", "active", "--scope", "observe:x"))


def test_claim_05_bulk_work_without_a_terminal_needs_yes(boss: Ctl) -> None:
    done = boss(*BULK, status=USAGE)
    assert done.stderr == "tokctl revoke: revoke 3 tokens: say --yes\n"
    assert active(boss) == 3
    boss(*BULK, "--yes")
    assert active(boss) == 0


def test_claim_05_dry_run_says_and_does_nothing(boss: Ctl) -> None:
    assert boss.json(*BULK, "--dry-run")["revoked"] == 3
    assert active(boss) == 3


@pytest.mark.parametrize(
    "words", [("list",), ("issue", "x"), ("audit", "verify"), ("db", "backup", "x")]
)
def test_claim_05_verb_without_a_dry_run_refuses_it(
    store: Store, words: tuple[str, ...]
) -> None:
    assert "no --dry-run" in store.tokctl(*words, "--dry-run", exit_status=USAGE).stderr
    assert len(store.json("list")) == len(NAMES)


@pytest.mark.parametrize(
    ("answer", "status", "left"),
    [("y\n", OK, 0), ("n\n", USAGE, 3), ("\n", USAGE, 3), ("\x04", USAGE, 3)],
)
def test_claim_05_terminal_is_asked(
    boss: Ctl, answer: str, status: int, left: int
) -> None:
    words = (program("tokctl"), *BULK, "--profile", boss.profile)
    ended, shown = on_terminal(*words, answer=answer)
    assert "revoke 3 tokens? [y/N]" in shown
    assert (ended, active(boss)) == (status, left)


# --- terminals ----------------------------------------------------------------------


def test_claim_05_colour_is_for_terminals_that_want_it(store: Store) -> None:
    words = (program("tokctl"), "list", "--db", store.path)
    _, plain = on_terminal(*words, TERM="xterm")
    assert GREEN in plain
    assert GREEN in on_terminal(*words, TERM="xterm", NO_COLOR="")[1]
    assert "\033" not in on_terminal(*words, TERM="xterm", NO_COLOR="1")[1]
    assert "\033" not in on_terminal(*words, TERM="dumb")[1]
    assert "\033" not in store.tokctl("list").stdout


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_claim_05_table_fits_the_terminal(store: Store, columns: int) -> None:
    store.issue("long", *(f"--scope=observe:tool_{i}" for i in range(12)))
    words = (program("tokctl"), "list", "--db", store.path)
    _, shown = on_terminal(*words, columns=columns, NO_COLOR="1")
    lines = shown.splitlines()
    assert len(lines) == len(NAMES) + 2, shown
    assert max(map(len, lines)) <= columns
    assert all(re.match(r"ID |[0-9A-Za-z]{10} ", line) for line in lines)
    whole = store.tokctl("list").stdout
    assert "observe:tool_11" in whole, "a pipe gets all of it"


# --- ends ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of more rows than a pipe holds."""
    made = new_store(tmp_path_factory.mktemp("full") / "store")
    made.rows("fill", "2000")
    return made


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "name"])
def test_claim_05_reader_who_has_seen_enough_ends_it_quietly(
    full: Store, form: str
) -> None:
    command = (
        f"{program('tokctl')} audit query --limit 0 -o {form} --db {full.path}"
        f" | head -n 1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", command],
        env=CLEAN,
        capture_output=True,
        text=True,
        timeout=READY_S,
        check=True,
    )
    first, status = done.stdout.splitlines()
    assert first
    assert (status, done.stderr) == ("141", "")  # 128 + SIGPIPE


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("list",), OK),
        (("frob",), USAGE),
        (("list", "--frob"), USAGE),
        (("list", "-o", "xml"), USAGE),
        (("audit", "frob"), USAGE),
        (("show", "0123456789"), NOT_FOUND),
        (("audit", "show", "4000000"), NOT_FOUND),
        (("audit", "verify", "--witness", "none"), NOT_FOUND),
        (("list", "--field", "frob"), FAILED),
        (("issue", "x", "--scope", "a:b", "--unbound", "--out", "heads"), CONFLICT),
        (("audit", "verify", "--witness", "heads"), INTEGRITY),
    ],
)
def test_claim_05_exit_status_tells_what_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], status: int
) -> None:
    monkeypatch.chdir(store.path.parent)
    Path("heads").write_text(f"3 {'0' * 64}\n")
    store.tokctl(*words, exit_status=status)


def test_claim_05_every_exit_status_is_told_of() -> None:
    told = run(program("tokctl"), "help", "exit-codes", "-o", "name").stdout
    assert list(map(int, told.split())) == [*range(9), 130]
