"""tokctl on a store of its own: tokens, by every verb and every exit status."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.gate import program, run
from tests.support.store import (
    CONFLICT,
    FAILED,
    NOT_FOUND,
    TOKEN,
    TRAINER,
    USAGE,
    WORDS,
    Store,
)

# --- issue ---------------------------------------------------------------------------


def test_issue_tells_the_secret_once_and_the_id_apart(store: Store) -> None:
    token_id, secret = store.issue()
    assert TOKEN.fullmatch(secret)
    assert secret[5:15] == token_id
    assert secret[15:] not in json.dumps(store.json("list"))
    assert secret[15:].encode() not in (store.path / "store.db").read_bytes()


def test_issue_writes_the_secret_to_a_private_file(
    store: Store, tmp_path: Path
) -> None:
    out = tmp_path / "token"
    done = store.tokctl("issue", "a", *WORDS, "--out", str(out))
    assert done.stdout == ""
    assert TOKEN.fullmatch(out.read_text().rstrip("\n"))
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_issue_overwrites_nothing(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "token"
    out.write_text("mine")
    done = store.tokctl("issue", "a", *WORDS, "--out", str(out), exit_status=CONFLICT)
    assert "File exists" in done.stderr
    assert out.read_text() == "mine"
    assert store.json("list") == []


def test_issue_that_fails_leaves_no_file(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "token"
    store.tokctl("issue", "a b", *WORDS, "--out", str(out), exit_status=USAGE)
    assert not out.exists()


def test_issue_of_an_admin_token_never_goes_into_a_pipe(
    store: Store, tmp_path: Path
) -> None:
    done = store.tokctl("issue", "root", *WORDS, "--admin", exit_status=USAGE)
    assert "--out" in done.stderr
    assert store.json("list") == []
    out = tmp_path / "token"
    store.tokctl("issue", "root", *WORDS, "--admin", "--out", str(out))
    assert out.read_text().startswith("wda1_")
    (token,) = store.json("list")
    assert token["kind"] == "admin"
    assert token["expires_ms"] - token["created_ms"] == 15 * 60 * 1000


def test_issue_keeps_what_was_asked(store: Store) -> None:
    words = ("--scope", "env:*", "--ttl", "2h", "--not-before", "+1h", "--owner", "ann")
    token_id, _ = store.issue(
        "a.b-c", *words, "--purpose", "ünïcode", "--audience", "s*"
    )
    token = store.json("show", token_id)
    assert token["scopes"] == ["observe:python_code", "env:*"]
    assert token["expires_ms"] - token["not_before_ms"] == 2 * 3600 * 1000
    assert abs(token["not_before_ms"] - token["created_ms"] - 3600 * 1000) < 10000
    assert (token["owner"], token["purpose"], token["audience"]) == (
        "ann",
        "ünïcode",
        "s*",
    )
    assert (token["state"], token["bind"]) == ("not_yet", TRAINER)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "NAME is missing"),
        (("a",), "--bind"),
        (("a", "--bind", TRAINER), "scopes: 0 given"),
        (("a", "b", *WORDS), "one NAME"),
        (("a", *WORDS, "--unbound"), "not both"),
        (("a", *WORDS, "--ttl", "1"), "--ttl"),
        (("a", *WORDS, "--ttl", "0s"), "--ttl"),
        (("a", *WORDS, "--ttl", "31d"), "there is no never"),
        (("a", *WORDS, "--not-before", "soon"), "--not-before"),
        (("a", *WORDS, "--not-before", "2026-02-31"), "--not-before"),
        (("a", *WORDS, "--scope", "observe"), "area:object"),
        (("a", "--scope", "a:b", "--bind", "cert:00"), "spiffe://"),
        (("a", "--scope", "a:b", "--bind", "unbound"), "--unbound"),
        (("a", *WORDS, "--frob"), "unrecognized"),
        (("a\nb", *WORDS), "name"),
        (("a", *WORDS, "-o", "xml"), "table, wide, json, jsonl, csv or name"),
    ],
)
def test_issue_refuses_by_cause(
    store: Store, words: tuple[str, ...], says: str
) -> None:
    done = store.tokctl("issue", *words, exit_status=USAGE)
    assert says in done.stderr
    assert done.stdout == ""
    assert store.json("list") == []


POOL = "spiffe://*/ns/*/owner/*/pool/blue/gate/*"


def test_claim_05_pool_is_an_audience_by_name(store: Store) -> None:
    blue, _ = store.issue("blue", "--pool", "blue")
    store.issue("free")
    assert store.json("show", blue)["audience"] == POOL
    found = store.tokctl("list", "--pool", "blue", "-o", "name").stdout
    assert found.split() == [blue]
    assert store.json("list", "--pool", "green") == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--pool", "blue", "--audience", POOL), "not both"),
        (("--pool", "a/b"), "--pool a/b"),
        (("--pool", "*"), "--pool *"),
        (("--pool", "a,b"), "--pool a,b"),
        (("--pool", "x" * 64), "1 to 63"),
        (("--bind", "self"), "bind: must be uri:"),
    ],
)
def test_claim_05_pool_or_self_that_can_not_be_is_refused(
    store: Store, words: tuple[str, ...], says: str
) -> None:
    done = store.tokctl("issue", "a", *WORDS, *words, exit_status=USAGE)
    assert says in done.stderr
    assert store.json("list") == []


def test_unbound_token_is_flagged_for_ever(store: Store) -> None:
    done = store.tokctl("issue", "a", "--scope", "a:b", "--unbound")
    token_id = done.stderr.split()[1]
    assert store.json("show", token_id)["bind"] == "unbound"


def test_issue_and_revoke_are_on_record_without_the_secret(store: Store) -> None:
    token_id, secret = store.issue()
    store.tokctl("revoke", token_id, "--reason", "stolen")
    issued, revoked = store.json("audit", "query", "--event", "token.*")
    who = f"local:{os.getuid()}"
    assert (issued["event"], issued["principal"]) == ("token.issue", who)
    assert (revoked["event"], revoked["principal"]) == ("token.revoke", who)
    assert issued["token_id"] == revoked["token_id"] == token_id
    assert json.loads(revoked["detail"]) == {"reason": "stolen"}
    assert json.loads(issued["detail"])["scopes"] == ["observe:python_code"]
    assert secret[15:] not in issued["detail"]


# --- list, show, revoke --------------------------------------------------------------


def test_list_filters_and_formats(store: Store) -> None:
    first, _ = store.issue("one", "--owner", "ann")
    second, _ = store.issue("two", "--owner", "bob")
    store.tokctl("revoke", second)
    assert [t["id"] for t in store.json("list")] == [first, second]
    assert [t["id"] for t in store.json("list", "--owner", "ann")] == [first]
    assert [t["id"] for t in store.json("list", "--state", "revoked")] == [second]
    lines = store.tokctl("list", "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["one", "two"]
    table = store.tokctl("list").stdout.splitlines()
    assert table[0].split()[:3] == ["ID", "NAME", "KIND"]
    assert table[1].split()[0] == first
    store.tokctl("list", "--state", "odd", exit_status=USAGE)
    store.tokctl("list", "extra", exit_status=USAGE)


def test_list_of_nothing_is_valid_in_every_format(store: Store) -> None:
    assert store.json("list") == []
    assert store.tokctl("list", "-o", "jsonl").stdout == ""
    assert store.tokctl("list").stderr == ""


def test_show_answers_all_of_it_or_not_found(store: Store) -> None:
    token_id, _ = store.issue()
    assert f"id               {token_id}\n" in store.tokctl("show", token_id).stdout
    assert store.json("show", token_id)["state"] == "active"
    done = store.tokctl("show", "nosuchtokn", exit_status=NOT_FOUND)
    assert "nosuchtokn" in done.stderr
    store.tokctl("show", exit_status=USAGE)
    store.tokctl("show", token_id, token_id, exit_status=USAGE)


def test_a_whole_token_as_an_argument_is_refused_unechoed(store: Store) -> None:
    _, secret = store.issue()
    for verb in ("show", "revoke"):
        done = store.tokctl(verb, secret, exit_status=USAGE)
        assert secret[15:] not in done.stderr


def test_revoke_takes_back_and_says_what_was_live(store: Store) -> None:
    first, _ = store.issue()
    second, _ = store.issue()
    store.tokctl("revoke", first)
    both = store.json("revoke", first, second, "--reason", "tidy")
    assert (both["revoked"], both["already"]) == (1, 1)
    assert both["ids"] == [second]
    assert store.json("show", first)["revoked_reason"] == ""  # the first one's stays
    assert store.json("show", second)["revoked_reason"] == "tidy"


def test_revoke_of_an_unknown_id_revokes_none(store: Store) -> None:
    token_id, _ = store.issue()
    store.tokctl("revoke", token_id, "nosuchtokn", exit_status=NOT_FOUND)
    assert store.json("show", token_id)["state"] == "active"
    store.tokctl("revoke", exit_status=USAGE)
    store.tokctl("revoke", token_id, "--reason", "x" * 300, exit_status=USAGE)


# --- the lock ------------------------------------------------------------------------


def test_changing_verbs_end_with_5_while_another_holds_the_store(store: Store) -> None:
    token_id, _ = store.issue()
    hold = [str(program("store_rows")), str(store.path), "hold"]
    pipe = subprocess.PIPE
    with subprocess.Popen(hold, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        for words in (("issue", "b", *WORDS), ("revoke", token_id)):
            done = store.tokctl(*words, exit_status=CONFLICT)
            assert f"process {holder.pid} " in done.stderr
        assert store.json("show", token_id)["state"] == "active"
        assert len(store.json("list")) == 1
        store.tokctl("audit", "tail")
        store.tokctl("audit", "verify")
        holder.stdin.close()
        assert holder.wait() == 0
    store.tokctl("revoke", token_id)


# --- output -------------------------------------------------------------------------


def test_a_secret_that_goes_nowhere_is_told_with_how_to_take_it_back(
    store: Store,
) -> None:
    command = f"{program('tokctl')} --db {store.path} -q issue t {' '.join(WORDS)}"
    done = run("sh", "-c", f"{command} > /dev/full", check=False)
    [row] = store.json("list")
    assert done.returncode == FAILED
    assert f"token {row['id']} stays good" in done.stderr
    assert f"'tokctl revoke {row['id']}'" in done.stderr


def test_full_output_is_a_failure(store: Store) -> None:
    store.issue()
    command = f"{program('tokctl')} --db {store.path} list -o json > /dev/full"
    done = run("sh", "-c", command, check=False)
    assert done.returncode == FAILED
    assert "standard output" in done.stderr
