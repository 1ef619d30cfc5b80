"""tokctl's options, each with what it does: of tokens, their lists and the trail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.calls import OBSERVE, batch
from tests.support.ctl import Ctl
from tests.support.raw_client import RawClient
from tests.support.store import CONFLICT, FAILED, INTEGRITY, USAGE, WORDS, Store

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 24 * 3_600_000
SCOPE = ("--scope", "observe:options", "--unbound", "-o", "json")


def issue(boss: Ctl, *words: str) -> str:
    """A token's id."""
    return str(json.loads(boss("issue", "t", *SCOPE, *words).stdout)["id"])


# --- issue --------------------------------------------------------------------------


def test_claim_05_limits_are_kept_as_they_were_asked_for(store: Store) -> None:
    words = ("--uses", "3", "--rate", "100/1m", "--concurrency", "4", "--ttl", "1h")
    token, _ = store.issue("t", *words, "--idle", "10m", "--renewable", "5d")
    told = store.json("show", token)
    assert (told["max_uses"], told["concurrency"]) == (3, 4)
    assert told["rate"] == {"calls": 100, "per_ms": MINUTE_MS}
    assert told["idle_ms"] == 10 * MINUTE_MS
    assert told["renewable_until_ms"] - told["not_before_ms"] == 5 * DAY_MS


# option, what is taken, what is not
BOUNDS = (
    ("--uses", ("1", str(2**40)), ("0", str(2**40 + 1), "-1")),
    ("--concurrency", ("1", "4096"), ("0", "4097")),
    ("--rate", ("1/1s", "1000000/1h"), ("5", "0/1m", "1000001/1h", "1/999ms", "/1m")),
    ("--idle", ("1m", "30d"), ("59s", "721h")),
    ("--renewable", ("1h", "30d"), ("59m", "721h")),
)


@pytest.mark.parametrize(("option", "taken", "refused"), BOUNDS)
def test_claim_05_limit_is_taken_up_to_its_bound(
    store: Store, option: str, taken: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    for value in taken:
        store.tokctl("issue", "a", *WORDS, f"{option}={value}")
    for value in refused:
        words = ("issue", "a", *WORDS, f"{option}={value}")
        done = store.tokctl(*words, exit_status=USAGE)
        assert option[2:].replace("uses", "") in done.stderr
    assert len(store.json("list")) == len(taken)


# --- list, show ---------------------------------------------------------------------


def test_claim_05_list_is_narrowed_by_kind_end_and_use(
    store: Store, tmp_path: Path
) -> None:
    soon, _ = store.issue("soon", "--ttl", "30m")
    late, _ = store.issue("late", "--ttl", "3h")
    out = str(tmp_path / "admin")
    store.tokctl("issue", "root", *WORDS, "--admin", "--ttl", "3h", "--out", out)
    admin = Path(out).read_text()[5:15]

    def ids(*words: str) -> set[str]:
        return set(store.tokctl("list", "-o", "name", *words).stdout.split())

    assert ids("--kind", "data") == {soon, late}
    assert ids("--kind", "admin") == {admin}
    assert ids("--kind", "wrap") == set()
    assert ids("--expiring", "1h") == {soon}
    assert ids("--expiring", "4h") == {soon, late, admin}
    assert ids("--unused", "1d") == {soon, late, admin}, "never is longer ago"
    store.tokctl("revoke", soon)
    assert ids("--expiring", "1h") == set(), "it has ended already"
    for words in (("--expiring", "soon"), ("--unused", "-1h"), ("--kind", "")):
        store.tokctl("list", *words, exit_status=USAGE)


def test_claim_05_show_tells_of_ourselves_and_of_children(boss: Ctl) -> None:
    me = boss.json("show", "--self")
    assert me["name"] == "boss"
    child = issue(boss)
    tree = boss.json("show", "--tree", me["id"])
    assert (child, 1) in [(row["id"], row["depth"]) for row in tree]
    assert boss.json("show", "--tree", child) == []
    token = (boss.profile / "token").read_text()
    assert boss.json("show", "-", text=token)["id"] == me["id"]
    for words in ((), ("--self", child), (child, "-")):
        boss("show", *words, status=USAGE)


# --- rotate, revoke -----------------------------------------------------------------


def test_claim_01_third_generation_is_a_conflict_unless_the_overlap_is_forced(
    boss: Ctl, tmp_path: Path
) -> None:
    token = issue(boss)
    rotate = ("rotate", token, "--out")
    boss(*rotate, str(tmp_path / "second"))
    done = boss(*rotate, str(tmp_path / "third"), status=CONFLICT)
    assert "overlap" in done.stderr
    assert not (tmp_path / "third").exists()
    boss(*rotate, str(tmp_path / "third"), "--force")
    states = [row["state"] for row in boss.json("show", "--usage", token)]
    assert states == ["retired", "retiring", "active"]


def test_claim_05_rotation_may_end_the_old_one_with_the_first_use(
    boss: Ctl, tmp_path: Path
) -> None:
    token = issue(boss)
    new = tmp_path / "new"
    boss("rotate", token, "--retire-on-first-use", "--out", str(new))
    assert boss.json("show", token)["state"] == "retiring"
    boss("whoami", "--token-file", str(new))
    assert boss.json("show", token)["state"] == "retired"


def test_claim_02_children_and_generations_are_revoked_when_asked_for(
    boss: Ctl, tmp_path: Path
) -> None:
    parent = tmp_path / "parent"
    scopes = ("--scope", "observe:options", "--scope", "token:issue", "--unbound")
    boss("issue", "parent", *scopes, "--out", str(parent))
    top = parent.read_text()[5:15]
    words = ("issue", "child", *SCOPE, "--token-file", str(parent))
    child = json.loads(boss(*words).stdout)["id"]
    boss("rotate", top, "--out", str(tmp_path / "next"))
    second = (tmp_path / "next").read_text()[5:15]
    done = boss.json("revoke", top, "--generations", "--children", "--dry-run")
    assert set(done["ids"]) == {top, second, child}
    assert boss.json("revoke", top, "--generations", "--yes")["revoked"] == 2
    assert boss.json("show", child)["state"] == "orphaned"
    assert boss.json("revoke", top, "--children", "--yes")["revoked"] == 1


# --- the trail ----------------------------------------------------------------------


def test_claim_05_trail_is_narrowed_by_each_filter(boss: Ctl) -> None:
    with RawClient(boss.profile) as raw:
        raw.call(OBSERVE, batch("one", same="t9"))

    def seqs(*words: str) -> list[int]:
        found = boss.json("audit", "query", "-n", "0", "--event", "call.*", *words)
        return [int(row["seq"]) for row in found]

    one = seqs("--trajectory", "t9")
    assert len(one) == 2
    assert set(one) <= set(seqs("--tool", "python_code"))
    assert set(one) <= set(seqs("--peer", "*/client/boss"))
    assert seqs("--trajectory", "t9", "--newest-first") == one[::-1]
    assert seqs("--trajectory", "t9", "--peer", "*/client/reader") == []
    for option in ("--session", "--episode", "--trajectory", "--tool"):
        assert seqs(option, "none") == []


def test_claim_05_counts_and_layers_are_a_line_each(boss: Ctl) -> None:
    boss("whoami")
    counts = boss.json("audit", "stats", "--counts")
    events = {row["value"]: row["rows"] for row in counts if row["what"] == "event"}
    assert events["call.begin"] >= 1
    layers = boss("health", "--layers", "-o", "csv").stdout.splitlines()
    assert layers[0].startswith("name,")


def test_claim_05_verification_begins_at_a_checkpoint_that_holds(
    boss: Ctl, tmp_path: Path
) -> None:
    file = tmp_path / "checkpoint"
    boss("audit", "checkpoint", "--now", "--out", str(file))
    boss("audit", "checkpoint", "--now", "--out", str(file), status=CONFLICT)
    seq = int(file.read_text().splitlines()[1])
    whole = boss.json("audit", "verify")
    since = boss.json("audit", "verify", "--checkpoint", str(file))
    assert since["ok"]
    assert since["rows"] < whole["rows"] + 10
    lines = file.read_text().splitlines()
    lines[1] = str(seq - 1)
    forged = tmp_path / "forged"
    forged.write_text("\n".join(lines) + "\n")
    boss("audit", "verify", "--checkpoint", str(forged), status=INTEGRITY)
    (tmp_path / "none").write_text("no checkpoint\n")
    done = boss("audit", "verify", "--checkpoint", str(tmp_path / "none"), status=USAGE)
    assert "checkpoint" in done.stderr
    boss("audit", "show", str(seq), "--field", "frob", status=FAILED)
