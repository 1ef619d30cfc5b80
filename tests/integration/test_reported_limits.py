"""What was reported of odd limits elsewhere (nanomsg/nng#857), before tokctl.

docs/testing.md, "Failures that were reported elsewhere", names the case and where
settings and clients are held to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.store import USAGE, WORDS, Store, new_store

NO_NUMBERS = ("-1", "", "NaN", "inf", "0x5", "1e3", "5.0", " 5", "+5", "5s")
TOO_MUCH = (str(2**63 - 1), str(2**63), str(2**64), str(2**64 + 5))
SPANS = ("-1", "0", "0s", "", "5", "5ms", "1.5h", "-5s", " 5s", "5s ", "NaN", "inf",
         f"{2**31}s", f"{2**63}s", "999999999d")  # fmt: skip
LIMITS = {
    "--ttl": SPANS,
    "--idle": SPANS,
    "--renewable": SPANS,
    "--uses": (*NO_NUMBERS, *TOO_MUCH, "0", str(2**40 + 1)),
    "--concurrency": (*NO_NUMBERS, *TOO_MUCH, "0", "4097", str(2**32 + 1)),
    "--rate": (
        "-1",
        "5",
        "5/",
        "/1m",
        "0/1m",
        "-1/1m",
        "5/0s",
        "5/-1s",
        "5/1",
        "5/60d",
    ),
    "--not-before": ("-1", "0", "5", "+31d", f"+{2**31}s", "1969-12-31", "999999999d"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("limits")
    yield new_store(folder / "store")


@pytest.mark.parametrize("option", LIMITS)
def test_an_odd_limit_of_a_token_is_refused_by_its_name(
    store: Store, option: str
) -> None:
    for value in LIMITS[option]:
        done = store.tokctl(
            "issue", "x", *WORDS, f"{option}={value}", exit_status=USAGE
        )
        named = option.strip("-").replace("-", "_")
        assert option in done.stderr or named in done.stderr, (value, done.stderr)
        assert done.stdout == ""
    assert store.json("list") == []


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("value", ["-1", "0", "5", "999999999d", "", "NaN"])
def test_an_odd_time_selects_no_rows_by_accident(
    store: Store, option: str, value: str
) -> None:
    store.tokctl("audit", "query", f"{option}={value}", exit_status=USAGE)


@pytest.mark.parametrize("value", ["-1", "0", "5", "", "0s", "1e3s", "NaN"])
def test_an_odd_timeout_is_refused(store: Store, value: str) -> None:
    done = store.tokctl("list", f"--timeout={value}", exit_status=USAGE)
    assert "--timeout" in done.stderr
