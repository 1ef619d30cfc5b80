"""A token where another word should be: no error of a client repeats it."""

from __future__ import annotations

import os
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warded
from warded import v1
from warded._quote import mask, quote

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate
from tests.client.pki import TOKEN, Authority, make_profile, make_token
from tests.support.gate import program

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]

SECRET = "ThisIsNotForOthersToKnow0123456789abcdefghi"
LEAKED = make_token(SECRET)
FILES = ("server", "ca.pem", "cert.pem", "key.pem", "policy", "token", "expires")
FORMS = (
    "{}",
    "{} {}",
    "a.{}:1",
    "{}:0",
    "[{}]:1",
    "{} as b:1",
    "a as {}",
    "tls+tcp://{}",
    "adopt {}",
    "gate {}",
    "gate spiffe://{}",
    "image {}",
    "image sha256:{}",
    "pool caf\u00e9{}",
)


def tells_nothing(text: str) -> bool:
    """No eight characters of the secret, in either case."""
    low, secret = text.lower(), LEAKED[15:].lower()
    return not any(secret[i : i + 8] in low for i in range(len(secret) - 7))


def said_by(call: Callable[[], Any]) -> str:
    """All that Python prints of an error, its causes too; "" when there is none."""
    try:
        call()
    except Exception as error:
        shown = traceback.format_exception(error)
        return "".join(line for line in shown if not line.startswith("  File"))
    return ""


@pytest.fixture
def folder(tmp_path: Path, authority: Authority) -> Path:
    """A good profile that dials nobody."""
    return make_profile(tmp_path / "p", authority, "127.0.0.1:1\n")


@pytest.mark.parametrize("name", FILES)
def test_a_token_in_any_file_of_a_profile_is_not_repeated(
    folder: Path, name: str
) -> None:
    (folder / name).touch(mode=0o600)
    for form in FORMS if name in ("server", "policy") else FORMS[:2]:
        (folder / name).write_text(form.format(LEAKED, LEAKED) + "\n")

        def ask() -> None:
            with warded.connect(folder) as channel:
                v1.HealthStub(channel).Check(v1.HealthCheckRequest(), timeout=5)

        assert tells_nothing(said_by(ask)), form
        with calling(folder) as caller:
            answer = caller.check()
        assert answer.reason != "ok"
        assert tells_nothing(f"{answer.message} {answer.cure}"), form


CALLS: list[Callable[[warded.Channel], Any]] = [
    lambda _: warded.connect(LEAKED),
    lambda _: warded.connect(f"/{LEAKED}/x"),
    lambda c: v1.HealthStub(c).Check(v1.HealthCheckRequest(), metadata={LEAKED: "x"}),
    lambda c: v1.HealthStub(c).Check(v1.HealthCheckRequest(), metadata=[LEAKED]),
    lambda c: v1.HealthStub(c).Check(v1.HealthCheckRequest(), metadata=LEAKED),
    lambda c: v1.HealthStub(c).Check(
        v1.HealthCheckRequest(), metadata={"k": f"{LEAKED}\0"}
    ),
    lambda c: v1.HealthStub(c).Check(v1.HealthCheckRequest(), timeout=LEAKED),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_token_in_any_argument_is_not_repeated(
    folder: Path, call: Callable[[warded.Channel], Any]
) -> None:
    with warded.connect(folder) as channel:
        try:
            call(channel)
        except warded.RpcError as error:
            assert tells_nothing(str(error))
            return
    pytest.fail("it was taken")


@pytest.mark.parametrize("place", ["word", "WARDED_PROFILE"])
def test_a_token_for_a_profile_is_not_repeated_by_c(place: str) -> None:
    words = [LEAKED] if place == "word" else []
    done = subprocess.run(
        [program("warded_whoami"), *words],
        env={**os.environ, "WARDED_PROFILE": LEAKED},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("NOT_FOUND [profile]: wdt1_\u2026: no such profile")
    assert tells_nothing(done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (TOKEN, "wdt1_\u2026"),
        (TOKEN.lower(), "wdt1_\u2026"),
        (TOKEN.upper(), "WDT1_\u2026"),
        (f"x{TOKEN}.y", "xwdt1_\u2026.y"),
        (TOKEN[:16], "wdt1_\u2026"),
        (TOKEN[:15], TOKEN[:15]),  # kind and id may be told
        (f"{TOKEN} {TOKEN}", "wdt1_\u2026 wdt1_\u2026"),
        (TOKEN * 2, "wdt1_\u2026"),
        ("wd21_" + "a" * 59, "wd21_" + "a" * 59),
        ("wdt2_" + "a" * 59, "wdt2_" + "a" * 59),
        ("wdt1-" + "a" * 59, "wdt1-" + "a" * 59),
        ("", ""),
    ],
)
def test_of_a_token_only_the_kind_is_left(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize("size", [39, 40, 41, 1000])
def test_what_is_quoted_is_cut_to_40_characters(size: int) -> None:
    more = "..." if size > 40 else ""
    assert quote("x" * size) == f"'{'x' * min(size, 40)}'{more}"


@pytest.mark.parametrize("wrong", ["xx", ["ab"], 7, [("k",)], [("k", "v", "w")], [7]])
def test_metadata_of_another_shape_is_an_invalid_call(folder: Path, wrong: Any) -> None:
    with warded.connect(folder) as channel:
        stub = v1.HealthStub(channel)
        with pytest.raises(warded.InvalidCall, match=r"pairs \(KEY, VALUE\)"):
            stub.Check(v1.HealthCheckRequest(), metadata=wrong)
