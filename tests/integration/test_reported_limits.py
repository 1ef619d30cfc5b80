"""What was reported of odd limits and times elsewhere, before tokctl and warded.

docs/testing.md, "Failures that were reported elsewhere", names the cases, and
where settings and clients are held to them.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from tests.client.c_caller import calling
from tests.support.gate import Home, program, remove
from tests.support.skew import off
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


# --- PeculiarVentures/x509#73: the same of times -------------------------------------

AGES = (
    "2038-01-19T03:14:06",
    "2049-12-31T12:00:00",
    "2106-02-07T06:28:14",
    "9998-06-01T00:00:00",
)


def in_the_age_of(at: str) -> dict[str, str]:
    """The environment of a program whose clock says so, in an odd time zone."""
    then = dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC)
    ahead = then - dt.datetime.now(dt.UTC)
    skew = off(int(ahead.total_seconds()))
    return {**os.environ, **skew, "TZ": "Pacific/Kiritimati"}


def run_then(at: str, name: str, *words: str | Path) -> str:
    """A program's output in that age."""
    return subprocess.run(
        [program(name), *words],
        env=in_the_age_of(at),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("at", AGES)
def test_times_of_another_age_are_told_right(tmp_path: Path, at: str) -> None:
    path = new_store(tmp_path / "store").path
    where = ("--db", path)
    run_then(at, "tokctl", *where, "issue", "x", *WORDS, "--ttl", "1d")
    (token,) = json.loads(run_then(at, "tokctl", *where, "list", "-o", "json"))
    began = dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC)
    ends = dt.datetime.fromtimestamp(token["expires_ms"] / 1000, dt.UTC)
    day, hour = dt.timedelta(days=1), dt.timedelta(hours=1)
    assert abs(ends - began - day) < hour
    shown = run_then(at, "tokctl", *where, "show", token["id"])
    assert ends.strftime("%Y-%m-%dT%H:%M:%S") in shown
    (row,) = json.loads(
        run_then(
            at,
            "tokctl",
            *where,
            "audit",
            "query",
            "--event",
            "token.issue",
            "-o",
            "json",
        )
    )
    assert abs(row["wall_ms"] / 1000 - began.timestamp()) < hour.total_seconds()
    assert json.loads(run_then(at, "tokctl", *where, "audit", "verify", "-o", "json"))[
        "ok"
    ]


def test_a_profile_of_another_age_is_read_by_c(home: Home) -> None:
    """Its files bear dates that no count of nanoseconds holds."""
    profile = home.path / "profile/trainer"
    for path in profile.iterdir():
        os.utime(path, (2**38, 2**38))
    (profile / "server").write_text("127.0.0.1:1\n")
    with calling(profile) as caller:
        assert caller.check().phase == "connect"


@pytest.fixture
def home_folder() -> Iterator[Path]:
    """Where a home can be; the gate's account can reach it."""
    folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder / "home"
    remove(folder)


@pytest.mark.parametrize("at", AGES[:3])
def test_certificates_of_another_age_say_so(home_folder: Path, at: str) -> None:
    """Made before 2050 and valid after it, or made after it."""
    home = home_folder
    listen = ("--listen", "tls+tcp://127.0.0.1:0")
    run_then(at, "warded", "--home", home, "init", *listen)
    made = dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC)
    for name in ("state/ca/ca.pem", "state/gate/cert.pem", "profile/admin/cert.pem"):
        found = x509.load_pem_x509_certificate((home / name).read_bytes())
        assert abs(found.not_valid_before_utc - made) < dt.timedelta(hours=3), name
        assert found.not_valid_after_utc > made, name
