"""`tokctl audit query --sql`: any SELECT over the trail, and nothing but that."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ctl import Ctl
from tests.support.store import (
    DENIED,
    FAILED,
    INTEGRITY,
    NOT_FOUND,
    UNREACHABLE,
    USAGE,
    Store,
    new_store,
)

SEALED, OPEN = 40, 10
QUERY = ("audit", "query", "--sql")


@pytest.fixture(scope="module")
def trail(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Rows in a sealed segment, and in the open one."""
    folder: Path = tmp_path_factory.mktemp("sql")
    made = new_store(folder / "store")
    made.rows("fill", str(SEALED))
    made.rows("seal")
    made.rows("fill", str(OPEN))
    made.rows("text", 'it\'s; "odd"\n\x1b[2J')
    return made


@pytest.fixture(scope="module")
def oracle(trail: Store) -> Iterator[sqlite3.Connection]:
    """The same rows in a database of Python's: what SQL says of them."""
    rows = trail.json("audit", "query", "-n", "0")
    names = list(rows[0])
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE audit ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        values = [[None if v == "" else v for v in row.values()] for row in rows]
        db.executemany(f"INSERT INTO audit VALUES ({marks})", values)
        yield db
    db.close()


def ask(trail: Store, sql: str, *words: str) -> Any:
    return trail.json(*QUERY, sql, "-n", "0", *words)


# --- answers ------------------------------------------------------------------------

# The others: tests/unit/store/test_store_sql.c.
SELECTS = (
    "SELECT count(*) AS n, min(seq) AS a, max(seq) AS z FROM audit",
    "SELECT seq FROM audit ORDER BY seq DESC LIMIT 3 OFFSET 20",
    "SELECT count(*) AS n FROM audit a JOIN audit b ON b.seq = a.seq + 1"
    " WHERE a.hash = b.prev_hash",
    "SELECT 1 AS one, 2.5 AS two, NULL AS three, 'x' AS four, x'00ff' AS five",
)


def plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


@pytest.mark.parametrize("sql", SELECTS)
def test_claim_05_select_answers_as_sqlite_does(
    trail: Store, oracle: sqlite3.Connection, sql: str
) -> None:
    cursor = oracle.execute(sql)
    names = [column[0] for column in cursor.description]
    rows = [[plain(value) for value in row] for row in cursor]
    assert [list(row.values()) for row in ask(trail, sql)] == rows
    if rows:
        assert list(ask(trail, sql)[0]) == names


def test_claim_05_columns_of_sql_are_the_members_of_a_row(trail: Store) -> None:
    (row,) = ask(trail, "SELECT * FROM audit WHERE seq = 45")
    (same,) = trail.json("audit", "query", "--from", "45", "--to", "45")
    assert {k: v if v is not None else "" for k, v in row.items()} == same


@pytest.mark.parametrize("form", ["table", "wide", "json", "jsonl", "csv", "name"])
def test_claim_05_sql_is_told_in_each_format(trail: Store, form: str) -> None:
    sql = "SELECT tool, max(a.seq), seq FROM audit a WHERE tool LIKE 'it%'"
    text = trail.tokctl(*QUERY, sql, "-o", form).stdout
    assert "\x1b" not in text
    last = SEALED + OPEN + 1
    odd = 'it\'s; "odd"\n\x1b[2J'
    match form:
        case "json":
            assert json.loads(text) == [{"tool": odd, "max(a.seq)": last, "seq": last}]
        case "jsonl":
            assert json.loads(text)["tool"] == odd
        case "csv":
            names, cells = csv.reader(io.StringIO(text))
            assert names == ["tool", "max(a.seq)", "seq"]
            assert cells[1:] == [str(last)] * 2
        case _:
            assert 'it\'s; "odd"\\n' in text
            assert text.count(str(last)) == (0 if form == "name" else 2)


def test_claim_05_sql_may_have_no_rows(trail: Store) -> None:
    assert ask(trail, "SELECT seq FROM audit WHERE seq < 0") == []


# --- bounds -------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "more"), [(29, True), (30, False), (31, False)])
def test_claim_05_sql_tells_so_many_rows_and_that_there_are_more(
    trail: Store, limit: int, more: bool
) -> None:
    sql = "SELECT seq FROM audit WHERE seq <= 30"
    done = trail.tokctl(*QUERY, sql, "-n", str(limit), "-o", "name")
    assert done.stdout.split() == [str(n + 1) for n in range(min(limit, 30))]
    assert done.stderr == (
        f"there are more rows than {limit}: --limit, or a LIMIT of its own with an "
        "OFFSET\n"
        if more
        else ""
    )


def test_claim_05_sql_tells_a_hundred_rows_unless_asked(trail: Store) -> None:
    done = trail.tokctl(*QUERY, "SELECT a.seq FROM audit a, audit b", "-o", "name")
    assert len(done.stdout.split()) == 100
    assert "there are more rows than 100" in done.stderr


def test_claim_05_select_that_does_not_end_is_ended(trail: Store) -> None:
    sql = "SELECT count(*) FROM audit a, audit b, audit c, audit d, audit e"
    words = (*QUERY, sql, "--timeout", "1s")
    done = trail.tokctl(*words, exit_status=UNREACHABLE)
    assert "--sql: it is not done in the time given" in done.stderr
    assert done.stdout == ""


# --- refusals -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "status", "says"),
    [
        ("DELETE FROM audit", DENIED, "it may only SELECT"),
        ("ATTACH '/etc/passwd' AS s", DENIED, "it asks for ATTACH"),
        ("SELECT load_extension('x')", DENIED, "the function load_extension"),
        ("SELECT * FROM tokens", USAGE, "no such table: tokens"),
        ("SELECT 'wdt1_" + "0" * 59, USAGE, "unrecognized token"),
        ("SELECT replace(hex(printf('%500000d', 1)), '2', 'yyyyyy')", FAILED, "1 MiB"),
    ],
)
def test_claim_05_what_is_no_select_is_refused_and_changes_nothing(
    trail: Store, sql: str, status: int, says: str
) -> None:
    files = {p: p.read_bytes() for p in trail.path.rglob("*") if p.is_file()}
    done = trail.tokctl(*QUERY, sql, exit_status=status)
    assert done.stdout == ""
    assert done.stderr.startswith("tokctl audit query: --sql: ")
    assert says in done.stderr
    assert "wdt1_00000000000" not in done.stderr
    assert {p: p.read_bytes() for p in files} == files


@pytest.mark.parametrize(
    "words",
    [
        ("--owner", "ann"),
        ("--since", "1h"),
        ("--event", "call.*"),
        ("--code", "0"),
        ("--from", "5"),
        ("--cursor", "5"),
        ("--to", "5"),
        ("--newest-first",),
    ],
)
def test_claim_05_sql_stands_alone(trail: Store, words: tuple[str, ...]) -> None:
    done = trail.tokctl(*QUERY, "SELECT 1", *words, exit_status=USAGE)
    assert "--sql says itself which rows" in done.stderr


def test_claim_05_no_gate_takes_sql(reader: Ctl) -> None:
    done = reader(*QUERY, "SELECT 1", status=USAGE)
    assert "--sql is for --db and --home" in done.stderr


def test_claim_05_sql_needs_a_store_that_is_whole(tmp_path: Path) -> None:
    Store(tmp_path / "none").tokctl(*QUERY, "SELECT 1", exit_status=NOT_FOUND)
    store = new_store(tmp_path / "store")
    store.rows("fill", "500")
    db = store.path / "store.db"
    data = bytearray(db.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    db.write_bytes(data)
    sql = "SELECT count(*) FROM audit WHERE detail IS NOT NULL"
    assert store.tokctl(*QUERY, sql, exit_status=INTEGRITY).stdout == ""
