"""tokens: what a check costs, how fast a token is taken back, how long lists take."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from tests.bench import place
from tests.bench.figures import Figure, Figures
from tests.support.gate import Gate, Home

LIVE = 100_000  # tokens, where checks and revocations are measured
LISTED, LISTED_QUICK = 1_000_000, 100_000
REVOKED = 300
CHECK_US, PAGE_MS = 2.0, 1000.0
TELLING = 4.5  # |t| from which on two distributions are taken to differ
FILL_S = 1200.0
WORKER = "tests.bench.revoke_worker"
PROGRAM = place.RELEASE / "bin/bench_tokens"
NOTES = (
    "check: processor time, the digest included; of one token of all, drawn at random",
    "t: Welch's, of wrong secrets with so many characters right against none right; "
    "differences below |t| 4.5 are taken for none",
    "revoked: the gate's own times, of Token.Revoke by id, one after another",
)


def run(*, quick: bool) -> Figures:
    """Measure all of it."""
    with place.a_folder() as folder:
        figures = [*checks(folder / "live"), *revocations(folder / "home")]
        figures += pages(folder / "many", LISTED_QUICK if quick else LISTED)
    return Figures("tokens", figures, NOTES)


def measure(verb: str, store: Path, *more: str, user: int = 0) -> Any:
    """What bench_tokens prints. Raises PeerError."""
    account = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return place.ask([*account, PROGRAM, verb, store, *more], FILL_S)


def filled(store: Path, count: int, user: int = 0) -> None:
    """A store with so many tokens."""
    print(f"issuing {count} tokens", flush=True)
    measure("fill", store, str(count), user=user)


def checks(store: Path) -> list[Figure]:
    """The check, its memory, and what its time tells."""
    store.mkdir(mode=0o700)
    filled(store, LIVE)
    print("checking", flush=True)
    cost, told = measure("check", store), measure("secret", store)
    what = f"{LIVE} live tokens"
    return [
        Figure(f"check, {what}", cost["check_us"], "us", most=CHECK_US),
        Figure("the digest alone", cost["digest_us"], "us"),
        Figure(f"memory a token, {what}", cost["bytes_per_token"], "bytes"),
        Figure(f"start, {what}", cost["open_ms"], "ms"),
        *(
            Figure(f"t, {right} of 43 characters right", abs(t), "", most=TELLING)
            for right, t, _ in told["t"]
        ),
    ]


def revocations(path: Path) -> list[Figure]:
    """At a gate with as many tokens."""
    home = Home.make(path)
    boss = home.profile("boss", "token:**")
    filled(home.store, LIVE, user=home.store.stat().st_uid)
    texts = home.store / "texts"
    ids = [line[5:15] for line in texts.read_text().splitlines()[:REVOKED]]
    texts.unlink()
    print(f"revoking {REVOKED}", flush=True)
    with Gate(home):
        told = place.ask([sys.executable, "-m", WORKER, boss, *ids], FILL_S)
    figures = []
    for name, times in told.items():
        cuts = statistics.quantiles(times, n=100)
        figures += [
            Figure(f"revoked, {name}, p50", cuts[49], "ms"),
            Figure(f"revoked, {name}, p99", cuts[98], "ms"),
        ]
    return figures


def pages(store: Path, count: int) -> list[Figure]:
    """The first page and the count of what passes, of several filters and orders."""
    store.mkdir(mode=0o700)
    filled(store, count)
    print("listing", flush=True)
    return [
        Figure(f"{total} of {count}, {text or 'all'}, {sort}", ms, "ms", most=PAGE_MS)
        for text, sort, total, ms in measure("list", store)["pages"]
    ]
