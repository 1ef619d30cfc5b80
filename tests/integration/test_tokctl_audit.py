"""tokctl audit: queries that forge nothing, and a trail that can be believed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest

from tests.support.gate import program, run
from tests.support.store import (
    INTEGRITY,
    USAGE,
    Store,
    killed_after,
    new_store,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return new_store(tmp_path / "store")


# --- audit ---------------------------------------------------------------------------


def test_audit_query_filters_and_pages(store: Store) -> None:
    store.rows("fill", "30")
    assert len(store.json("audit", "query", "--event", "call.end")) == 15
    assert len(store.json("audit", "query", "--principal", "spiffe://x/a")) == 10
    assert store.json("audit", "query", "--since", "+1h") == []
    assert store.json("audit", "query", "--until", "1h") == []
    assert len(store.json("audit", "query", "--since", "1h")) == 30
    page = store.tokctl("audit", "query", "--limit", "7", "-o", "jsonl")
    assert len(page.stdout.splitlines()) == 7
    assert page.stderr == "there are more: go on with --from 8\n"
    rest = store.json("audit", "query", "--from", "8", "--limit", "0")
    assert [row["seq"] for row in rest] == list(range(8, 31))


def test_audit_query_of_more_than_a_page_has_no_gap(store: Store) -> None:
    store.rows("fill", "2500")
    rows = store.json("audit", "query", "--limit", "2400")
    assert [row["seq"] for row in rows] == list(range(1, 2401))


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "x"),
        ("--limit", "-1"),
        ("--from", "0"),
        ("--from", "99999999999999999999"),
        ("--since", "yesterday"),
        ("--event", "x" * 200),
        ("--frob",),
        ("word",),
    ],
)
def test_audit_query_refuses(store: Store, words: tuple[str, ...]) -> None:
    done = store.tokctl("audit", "query", *words, exit_status=USAGE)
    assert done.stderr != ""


def test_a_wrong_limit_is_told_what_help_says(store: Store) -> None:
    done = store.tokctl("audit", "query", "--limit", "x", exit_status=USAGE)
    assert "--limit x: a whole number of 0 to 1000000000" in done.stderr
    assert "0: all of them" in store.tokctl("audit", "query", "--help").stdout
    done = store.tokctl("audit", "tail", "-n", "0", exit_status=USAGE)
    assert "a whole number of 1 to 1000" in done.stderr


def test_audit_verify_names_a_fault_only_where_there_is_one(store: Store) -> None:
    store.rows("fill", "3")
    shown = store.tokctl("audit", "verify").stdout
    assert "verifies" in shown
    assert "fault" not in shown
    assert "bad row" not in shown


def test_audit_tail_shows_the_newest_last(store: Store) -> None:
    store.rows("fill", "50")
    rows = store.json("audit", "tail", "-n", "3")
    assert [row["seq"] for row in rows] == [48, 49, 50]
    assert len(store.json("audit", "tail")) == 20
    store.tokctl("audit", "tail", "-n", "1001", exit_status=USAGE)


HOSTILE = [
    "a\r\nseq=9 event=token.issue",
    "\x1b]0;owned\x07\x1b[2J",
    "'; DROP TABLE audit; --",
    "abc\u202edef\u2028ghi",
    "=cmd|' /C calc'!A0",
    "tab\there\x7f",
    "\u0085\u009b31m",
    "a\u2066b\u2069c\u061cd\u200be\ufeff",
    "\U000e0041\U000e007f",
]
# Controls, separators of lines, marks of direction, what nobody sees.
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_text_forges_nothing_in_any_format(store: Store, value: str) -> None:
    store.rows("text", value)
    table = store.tokctl("audit", "query").stdout
    assert len(table.splitlines()) == 2
    assert not UNSAFE.search(table)
    (row,) = store.json("audit", "query")
    assert (row["principal"], row["tool"]) == (value, value)
    lines = store.tokctl("audit", "query", "-o", "jsonl").stdout.split("\n")
    assert not UNSAFE.search(lines[0])
    assert json.loads(lines[0])["principal"] == value
    assert not UNSAFE.search(store.tokctl("audit", "query", "-o", "json").stdout)
    assert lines[1:] == [""]
    sheet = store.tokctl("audit", "query", "-o", "csv").stdout
    assert not UNSAFE.search(sheet.replace("\r\n", "\n"))
    _, cells = csv.reader(io.StringIO(sheet))
    assert not any(cell.startswith(tuple("=+-@")) for cell in cells)
    store.tokctl("audit", "verify")


def test_numbers_keep_every_digit(store: Store) -> None:
    store.rows("fill", "1")
    (row,) = store.json("audit", "query")
    assert row["bytes_in"] == 2**53 + 1


def test_closed_pipe_is_quiet(store: Store) -> None:
    store.rows("fill", "3000")
    query = f"{program('tokctl')} --db {store.path} audit query --limit 0 -o jsonl"
    done = run("sh", "-c", f"{query} | head -1")
    assert done.stderr == ""
    assert json.loads(done.stdout)["seq"] == 1


# --- verify --------------------------------------------------------------------------


def test_claim_08_verify_says_what_it_checked(store: Store, tmp_path: Path) -> None:
    store.rows("fill", "40")
    report = store.json("audit", "verify")
    assert (report["ok"], report["rows"], report["head_seq"]) == (True, 40, 40)
    assert report["bad_seq"] == 0
    (last,) = store.json("audit", "query", "--from", "40")
    assert report["head_hash"] == last["hash"]
    part = store.json("audit", "verify", "--from", "10", "--to", "19")
    assert part["rows"] == 10


@pytest.mark.parametrize(
    ("statement", "fault", "row"),
    [
        (
            "UPDATE audit SET principal = 'spiffe://x/c' WHERE seq = 17",
            "row_changed",
            17,
        ),
        ("DELETE FROM audit WHERE seq = 17", "row_missing", 17),
        ("DELETE FROM audit WHERE seq = 1", "row_missing", 1),
    ],
)
def test_claim_08_verify_names_the_first_bad_row(
    store: Store, statement: str, fault: str, row: int
) -> None:
    store.rows("fill", "40")
    store.sql(statement)
    done = store.tokctl("audit", "verify", "-o", "json", exit_status=INTEGRITY)
    report = json.loads(done.stdout)
    assert (report["ok"], report["fault"], report["bad_seq"]) == (False, fault, row)
    assert f"audit row {row} " in done.stderr


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE tokens SET revoked_ms = 0", "is live in the tokens table"),
        ("UPDATE tokens SET scopes = 'observe:** token:**'", "its scopes"),
        ("UPDATE tokens SET expires_ms = expires_ms + 100000", "its expires_ms"),
        ("DELETE FROM tokens", "is gone from the tokens table"),
    ],
)
def test_claim_08_verify_compares_the_tokens_with_the_trail(
    store: Store, statement: str, words: str
) -> None:
    token_id, _ = store.issue()
    store.tokctl("revoke", token_id)
    assert store.json("audit", "verify")["tokens"] == 1
    store.sql(statement)
    done = store.tokctl("audit", "verify", "-o", "json", exit_status=INTEGRITY)
    report = json.loads(done.stdout)
    assert (report["ok"], report["fault"]) == (False, "tokens")
    assert token_id in done.stderr
    assert words in done.stderr


def test_claim_08_verify_names_the_file_of_a_damaged_index(store: Store) -> None:
    store.rows("fill", "400")
    path = store.path / "store.db"
    content = bytearray(path.read_bytes())
    places = [found.start() for found in re.finditer(rb"call-7", content)]
    leaf = next(at for at in places if content[at // 4096 * 4096] == 0x0A)
    content[leaf] ^= 1  # every row is as it was: only the index lies
    path.write_bytes(content)
    done = store.tokctl("audit", "verify", "-o", "json", exit_status=INTEGRITY)
    report = json.loads(done.stdout)
    assert (report["ok"], report["fault"], report["bad_seq"]) == (False, "damaged", 0)
    assert report["rows"] == 400
    assert f"{path} is damaged: " in done.stderr
    assert "audit_call" in done.stderr


def test_claim_08_two_swapped_rows_are_found(store: Store) -> None:
    store.rows("fill", "40")
    store.sql("UPDATE audit SET seq = -seq WHERE seq IN (20, 21)")
    store.sql("UPDATE audit SET seq = 41 + seq WHERE seq < 0")
    done = store.tokctl("audit", "verify", exit_status=INTEGRITY)
    assert "audit row 20 was changed" in done.stderr


def test_claim_08_cut_tail_is_found_with_witnesses(
    store: Store, tmp_path: Path
) -> None:
    store.rows("fill", "40")
    heads = tmp_path / "heads"
    heads.mkdir()
    rows = store.json("audit", "query")
    torn = f"39 {rows[38]['hash'][:30]}"  # was being written
    (heads / "1.heads").write_text(f"# seen\n12 {rows[11]['hash']}\n\n{torn}")
    (heads / "2.heads").write_text(f"30 {rows[29]['hash'].upper()}\n")
    (heads / "folder").mkdir()
    assert store.json("audit", "verify", "--witness", str(heads))["witnessed"] == 2
    store.sql("DELETE FROM audit WHERE seq > 25")
    assert store.json("audit", "verify")["ok"]
    done = store.tokctl("audit", "verify", "-w", str(heads), exit_status=INTEGRITY)
    assert "audit row 26 is missing and everything after it" in done.stderr


# --- kill -9 -------------------------------------------------------------------------

KILLS = 200 if os.environ.get("WARDED_LONG") else 20


def test_claim_08_kill_9_loses_no_acknowledged_row(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    witness = tmp_path / "witness"
    witness.touch()
    command = [str(program("store_rows")), str(store.path), "run"]
    for number in range(KILLS):
        lines = 50 + 37 * number % 400
        acknowledged = killed_after(command, witness, lines)
        assert acknowledged >= 50, "the writer ended by itself"
    report = store.json("audit", "verify", "--witness", str(witness))
    assert report["ok"]
    assert report["witnessed"] == len(witness.read_text().splitlines())
