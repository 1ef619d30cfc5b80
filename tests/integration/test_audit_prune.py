"""Retention: rows are exported, then go; by a gate itself, as asked, and offline."""

from __future__ import annotations

import hashlib
import json
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from warded.v1 import PruneReply, PruneRequest

from tests.conftest import NewHome
from tests.support.calls import reason
from tests.support.gate import Done, Home, program, run
from tests.support.raw_client import RawClient
from tests.support.store import (
    DENIED,
    INTEGRITY,
    NOT_FOUND,
    PARTIAL,
    USAGE,
    Store,
    new_store,
)
from tests.support.stub_gate import StubGate

DAYS_3 = str(3 * 86400)
PRUNE = "/warded.v1.Audit/Prune"


def fill(store: Store, segments: int) -> None:
    """Sealed segments of ten rows, three days old; one row of now is left over."""
    store.rows("fill", "1", DAYS_3)
    for left in reversed(range(segments)):
        store.rows("fill", "9", DAYS_3)
        store.rows("fill", "1", *([DAYS_3] if left else []))
        store.rows("seal")


def whole(folder: Path) -> list[Path]:
    """The segments that are not pruned."""
    return sorted(folder.glob("audit/*.db"))


def sound(exports: Path) -> int:
    """How many rows are in the exports, each of which its digest fits."""
    n = 0
    for path in exports.glob("*.jsonl"):
        data = path.read_bytes()
        digest = (path.parent / f"{path.name}.sha256").read_text().split()
        assert digest == [hashlib.sha256(data).hexdigest(), path.name]
        n += len([json.loads(line) for line in data.splitlines()])
    return n


# --- offline -------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Rows 1 to 31: three sealed segments, and an open one."""
    made = new_store(tmp_path / "store")
    fill(made, 3)
    return made


def test_claim_07_prune_exports_and_leaves_tombstones(store: Store) -> None:
    exports = store.path / "exports"
    older = ("audit", "prune", "--older-than", "2d")
    would = store.tokctl(*older, "--dry-run")
    assert would.stderr.startswith("would: 20 rows")
    assert len(whole(store.path)) == 3
    assert not exports.exists()
    store.tokctl(*older, exit_status=USAGE)  # it asks
    gone = json.loads(store.tokctl(*older, "--yes", "-r", "tidy", "-o", "json").stdout)
    assert [(gap["first_seq"], gap["last_seq"]) for gap in gone] == [(1, 10), (11, 20)]
    assert [path.name for path in whole(store.path)] == ["21-30.db"]
    assert sound(exports) == 20
    rows = store.json("audit", "query", "--event", "audit.prune")
    assert [row["seq"] for row in rows] == [gap["tombstone_seq"] for gap in gone]
    assert rows[0]["principal"] == f"local:{os.getuid()}"
    assert json.loads(rows[0]["detail"])["why"] == "tidy"
    assert json.loads(rows[0]["detail"])["sha256"] == gone[0]["sha256"]
    assert store.json("audit", "verify")["tombstones"] == 2


def test_claim_07_answers_tell_of_what_was_pruned(store: Store) -> None:
    store.tokctl("audit", "prune", "--to", "20", "--yes")
    done = store.tokctl("audit", "query", "--limit", "0")
    assert done.stderr.count("were exported and pruned") == 2
    assert "rows 11 to 20 were exported" in done.stderr
    late = store.tokctl("audit", "query", "--from", "21", "--limit", "0")
    assert late.stderr == ""
    shown = store.tokctl("audit", "show", "15", exit_status=NOT_FOUND)
    assert "-11-20.jsonl and pruned, see row 33" in shown.stderr
    store.tokctl("audit", "show", "99", exit_status=NOT_FOUND)


def test_claim_08_verify_names_an_export_that_is_not_there(store: Store) -> None:
    store.tokctl("audit", "prune", "--to", "20", "--yes")
    kept = next((store.path / "exports").glob("*-11-20.jsonl"))
    kept.rename(store.path.parent / kept.name)
    done = store.tokctl("audit", "verify", "-o", "json", exit_status=INTEGRITY)
    told = json.loads(done.stdout)
    assert (told["fault"], told["bad_seq"]) == ("export_missing", 11)
    assert kept.name in done.stderr
    store.tokctl("audit", "verify", "--exports-elsewhere")
    for path in (store.path / "exports").glob("*.jsonl"):
        path.rename(store.path.parent / path.name)
    store.tokctl("audit", "verify", "--exports", str(store.path.parent))


def test_claim_08_heads_of_pruned_rows_that_can_not_be_checked_are_said_so(
    store: Store,
) -> None:
    heads = store.path.parent / "heads"
    heads.write_text(
        "".join(
            f"{row['seq']} {row['hash']}\n"
            for row in store.json("audit", "query", "--limit", "0")
        )
    )
    store.tokctl("audit", "prune", "--to", "20", "--yes")
    words = ("audit", "verify", "--witness", str(heads))
    assert store.json(*words)["witnessed"] == 31
    part = store.tokctl(
        *words, "--exports-elsewhere", "-o", "json", exit_status=PARTIAL
    )
    told = json.loads(part.stdout)
    assert (told["ok"], told["witnessed"], told["unchecked"]) == (True, 11, 20)
    assert "20 of the heads that were seen are of rows that were pruned" in part.stderr
    heads.write_text("15 " + "0" * 64 + "\n")
    wrong = json.loads(store.tokctl(*words, "-o", "json", exit_status=INTEGRITY).stdout)
    assert (wrong["fault"], wrong["bad_seq"]) == ("forked", 15)


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ((), USAGE, "--older-than SPAN, or --to SEQ"),
        (("--to", "0"), USAGE, "a whole number of 1"),
        (("--to", "21"), USAGE, "rows up to 20 can be pruned"),
        (("--to", "31"), USAGE, "what is not sealed is not pruned"),
        (("--older-than", "59m"), USAGE, "last hour"),
        (("--older-than", "x"), USAGE, "--older-than"),
        (("--to", "10", "-r", "x" * 257), USAGE, "at most 256"),
    ],
)
def test_claim_07_prune_refuses(
    store: Store, words: tuple[str, ...], status: int, told: str
) -> None:
    done = store.tokctl("audit", "prune", *words, "--yes", exit_status=status)
    assert told in done.stderr
    assert len(whole(store.path)) == 3


# --- a gate --------------------------------------------------------------------------


def old_home(new_home: NewHome, settings: str) -> Home:
    """A home whose trail has three sealed segments of three days ago."""
    home = new_home()
    settings = settings.replace("HERE", str(home.path / "elsewhere"))
    home.configure(f"audit:\n{settings}")
    home.profile("boss", "audit:*", "token:**")
    home.profile("auditor", "audit:read")
    home.profile("keeper", "token:**")
    fill(Store(home.store), 3)
    run("chown", "-R", "--reference", home.store, home.store / "audit")
    return home


@pytest.fixture(scope="module")
def stub(module_home: Home) -> Iterator[StubGate]:
    with StubGate(old_home(lambda: module_home, "  segment_ms: 600000\n")) as gate:
        yield gate


def ctl(gate: StubGate, who: str, *words: str, status: int = 0) -> Done:
    profile = gate.home.path / "profile" / who
    done = run(program("tokctl"), *words, "--profile", profile, check=False)
    assert done.returncode == status, done.stderr
    return done


def prune(raw: RawClient, **fields: object) -> PruneReply:
    reply = raw.call(PRUNE, PruneRequest(**fields).SerializeToString())
    assert reply.code == 0, reply.message
    return PruneReply.FromString(reply.payload)


def test_claim_07_who_reads_or_administers_may_not_prune(stub: StubGate) -> None:
    for who in ("auditor", "keeper"):
        words = ("audit", "prune", "--to", "1", "--yes")
        ctl(stub, who, *words, status=DENIED)
    assert len(whole(stub.home.store)) == 3


def test_claim_07_a_gate_prunes_as_asked_and_tells_who_asked(stub: StubGate) -> None:
    first = whole(stub.home.store)[0]
    last = int(first.stem.split("-")[1])
    with RawClient(stub.home.path / "profile/boss") as boss:
        request = PruneRequest(to_seq=1 << 40).SerializeToString()
        refused = boss.call(PRUNE, request)
        assert reason(refused) == "FIELD_INVALID"
        would = prune(boss, to_seq=last, dry_run=True)
        assert would.rows == last
        gone = prune(boss, to_seq=last, reason="a move")
    assert (gone.rows, gone.bytes) == (would.rows, would.bytes)
    (gap,) = gone.pruned
    exported = stub.home.store / "exports" / gap.export
    assert hashlib.sha256(exported.read_bytes()).hexdigest() == gap.sha256
    assert exported.stat().st_uid == stub.home.store.stat().st_uid
    assert not first.exists()
    row = json.loads(
        ctl(
            stub, "auditor", "audit", "show", str(gap.tombstone_seq), "-o", "json"
        ).stdout
    )
    assert row["event"] == "audit.prune"
    assert row["principal"].endswith("/client/boss")
    assert json.loads(row["detail"])["why"] == "a move"
    ctl(stub, "auditor", "audit", "show", str(last), status=NOT_FOUND)
    ctl(stub, "auditor", "audit", "show", "2")  # of a token: it is kept
    ctl(stub, "auditor", "audit", "verify")
    stats = ctl(stub, "auditor", "audit", "stats", "-o", "json").stdout
    assert json.loads(stats)["tombstones"] == 1


def test_claim_07_exports_is_a_word_for_stores(stub: StubGate) -> None:
    done = ctl(stub, "boss", "audit", "verify", "--exports", "/x", status=USAGE)
    assert "audit.export_dir" in done.stderr


def wait_until(gate: StubGate, what: str, count: int) -> None:
    """Until the gate has said so in its log, or has so many segments."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if len(whole(gate.home.store)) == count and what in gate.log:
            return
        select.select([], [], [], 0.02)
    raise AssertionError(f"{whole(gate.home.store)}\n{gate.log}")


def test_claim_07_a_gate_prunes_by_itself_where_it_can(new_home: NewHome) -> None:
    settings = (
        "  segment_ms: 600000\n  export_dir: HERE\n  retention:\n    age_ms: 86400000\n"
    )
    home = old_home(new_home, settings)
    exports = home.path / "elsewhere"
    exports.write_text("not a folder")
    with StubGate(home) as gate:
        wait_until(gate, "audit.prune_failed", 3)
        stats = ctl(gate, "auditor", "audit", "stats", "-o", "json").stdout
        assert "could not open the folder" in json.loads(stats)["retention_problem"]
        health = ctl(gate, "auditor", "health", "-o", "json").stdout
        assert json.loads(health)["status"] == "serving"
        assert "retention" in json.loads(health)["warnings"][0]
    exports.unlink()
    exports.mkdir()
    run("chown", "--reference", home.store, exports)
    with StubGate(home) as gate:
        wait_until(gate, "", 1)
        ctl(gate, "auditor", "audit", "verify")
        stats = ctl(gate, "auditor", "audit", "stats", "-o", "json").stdout
        assert json.loads(stats)["retention_problem"] == ""
    assert sound(exports) >= 20


def test_claim_07_retention_is_read_again_on_reload(new_home: NewHome) -> None:
    home = old_home(new_home, "  segment_ms: 600000\n")
    settings = home.config.read_text()
    with StubGate(home) as gate:
        wait_until(gate, "", 3)
        limited = settings + "  retention:\n    age_ms: 86400000\n"
        home.config.write_text(limited.replace("86400000", "1"))
        gate.do("reload")  # less than an hour: all stays as it was
        wait_until(gate, "gate.reload_failed", 3)
        home.config.write_text(limited)
        gate.do("reload")
        wait_until(gate, "retention: age_ms 86400000, bytes 0", 1)
        stats = ctl(gate, "auditor", "audit", "stats", "-o", "json").stdout
        assert json.loads(stats)["tombstones"] == 2
        ctl(gate, "auditor", "audit", "verify")
