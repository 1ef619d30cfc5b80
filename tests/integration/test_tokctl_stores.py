"""tokctl before stores that are not what they should be, and its help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gate import program, run
from tests.support.store import (
    CONFLICT,
    INTEGRITY,
    NOT_FOUND,
    USAGE,
    WORDS,
    Store,
)

# --- stores that are not what they should be -----------------------------------------


def test_absent_store_is_not_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for words in (("list",), ("issue", "a", *WORDS), ("audit", "verify")):
        done = store.tokctl(*words, exit_status=NOT_FOUND)
        assert "store" in done.stderr
    assert not (tmp_path / "store.db").exists()


def test_claim_09_a_newer_schema_is_refused(store: Store) -> None:
    store.sql("PRAGMA user_version = 99")
    for words in (("list",), ("issue", "a", *WORDS)):
        assert "schema 99" in store.tokctl(*words, exit_status=CONFLICT).stderr


@pytest.mark.parametrize("whole_pages", [0, 1])
def test_claim_09_a_corrupt_database_is_refused_with_what_to_do(
    store: Store, whole_pages: int
) -> None:
    file = store.path / "store.db"
    sound = file.read_bytes()[: whole_pages * 4096]
    file.write_bytes(sound + b"no database at all" * 5000)
    for words in (("list",), ("issue", "a", *WORDS), ("audit", "verify")):
        told = store.tokctl(*words, exit_status=INTEGRITY).stderr
        assert "damaged" in told
        assert "restore a backup" in told


def test_home_and_environment_name_the_store(store: Store, tmp_path: Path) -> None:
    (tmp_path / "home/state").mkdir(parents=True)
    store.path.rename(tmp_path / "home/state/store")
    home = tmp_path / "home"
    run(program("tokctl"), "--home", home, "list")
    run(program("tokctl"), "list", "--home", home)
    run("env", f"WARDED_HOME={home}", program("tokctl"), "list")
    run("env", f"WARDED_DB={home}/state/store", program("tokctl"), "list")
    run("env", "WARDED_DB=/nowhere", program("tokctl"), "--home", home, "list")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("issue",),
        ("list",),
        ("show",),
        ("revoke",),
        ("audit", "query"),
        ("audit", "tail"),
        ("audit", "verify"),
    ],
)
def test_help_of_every_verb_teaches(words: tuple[str, ...]) -> None:
    text = run(program("tokctl"), *words, "--help").stdout
    for asked in ((*words, "-h"), (*words, "help"), ("help", *words)):
        done = run(program("tokctl"), *asked)
        assert (done.stdout, done.stderr) == (text, "")
    assert "tokctl " + " ".join(words) in text
    assert "--db" in text
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize(
    "words",
    [("audit", "--help"), ("audit", "-h"), ("audit", "help"), ("help", "audit")],
)
def test_help_of_audit_lists_its_verbs(words: tuple[str, ...]) -> None:
    done = run(program("tokctl"), *words)
    assert done.stderr == ""
    assert [v for v in ("query", "tail", "verify") if f"audit {v}" in done.stdout] != []
    assert "issue" not in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("issue",), "Offline (--db) the gate must not be running"),
        (("revoke",), "Offline (--db) the gate must not be running"),
    ],
)
def test_help_of_what_a_gate_prevents_says_what_to_do(
    words: tuple[str, ...], says: str
) -> None:
    assert says in " ".join(run(program("tokctl"), *words, "--help").stdout.split())


@pytest.mark.parametrize("words", [("frob",), ("audit",), ("audit", "frob"), ("tail",)])
def test_unknown_verb_names_those_that_are(words: tuple[str, ...]) -> None:
    done = run(program("tokctl"), *words, check=False)
    assert done.returncode == USAGE
    assert "audit verify" in done.stderr
