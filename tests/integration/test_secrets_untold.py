"""A token where another word should be: neither `warded` nor `tokctl` repeats it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.client.pki import make_token
from tests.support.gate import program, run
from tests.support.store import USAGE, Store

SECRET = "ThisIsNotForOthersToKnow0123456789abcdefghi"
TOKEN = make_token(SECRET)
INSIDE = f"x/{TOKEN}"  # a token that no check of words takes for one
SETTINGS = ("PROFILE", "SERVER", "CA", "CERT", "KEY", "TOKEN_FILE", "POLICY",
            "TIMEOUT", "DB", "HOME", "OUTPUT")  # fmt: skip

OPTION = re.compile(r"^ +(?:-\w, )?--([a-z-]+)=", re.MULTILINE)
COMMAND = re.compile(r"^  ([a-z]+(?: [a-z-]+)?)  +\S", re.MULTILINE)
TITLE = re.compile(r'^\.S[HS] "?(?:tokctl )?(.*?)"?$')
VALUED = re.compile(r"\\fB--([a-z-]+)\\fR=")
QUICK = {"ASAN_OPTIONS": "detect_leaks=0"}  # these are many, and told from their words


def tells_nothing(text: str) -> bool:
    """No eight characters of the secret, in either case."""
    low, secret = text.lower(), TOKEN[15:].lower()
    return not any(secret[i : i + 8] in low for i in range(len(secret) - 7))


def told(name: str, *words: str, **env: str) -> tuple[int, str]:
    """Exit status and all that a program says."""
    done = subprocess.run(
        [program(name), *words],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **QUICK, **env},
    )
    return done.returncode, done.stdout + done.stderr


def commands(name: str) -> list[list[str]]:
    """Each command that --help tells, as words."""
    text = run(program(name), "--help").stdout
    found = COMMAND.findall(text[text.index("Commands:") :])
    assert len(found) > 4
    return [words.split() for words in found if not words.startswith("help")]


def each_once(options: Iterable[tuple[list[str], str]]) -> list[list[str]]:
    """Every option that has a value, behind the last command that takes it."""
    last = {option: command for command, option in options}
    assert len(last) > 3
    return [[*command, f"--{option}={INSIDE}"] for option, command in last.items()]


def options_of_warded(*before: str) -> Iterator[tuple[list[str], str]]:
    for command in commands("warded"):
        text = run(program("warded"), *command, "--help", check=False).stdout
        for option in OPTION.findall(text):
            yield [*before, *command], option


def options_of_tokctl() -> Iterator[tuple[list[str], str]]:
    """As its man page has them, those that all verbs share behind `list`."""
    command = ["list"]
    for line in run(program("tokctl"), "man").stdout.replace("\\-", "-").splitlines():
        if (title := TITLE.match(line)) is not None:
            words = [word for word in title[1].split() if word.islower()]
            command = words or ["list"]
        elif (option := VALUED.search(line)) is not None:
            yield command, option[1]


def check_all(name: str, asked: list[list[str]], **env: str) -> None:
    """None of these tells the secret."""
    with ThreadPoolExecutor(2) as pool:
        for words, (_, said) in zip(
            asked, pool.map(lambda w: told(name, *w, **env), asked), strict=True
        ):
            assert tells_nothing(said), (words, said)


@pytest.mark.parametrize("name", ["warded", "tokctl"])
def test_a_word_that_begins_as_a_token_is_refused_untold(
    tmp_path: Path, name: str
) -> None:
    forms = (
        [TOKEN],
        [f"--{TOKEN}"],
        [f"--home={TOKEN}", "health"],
        ["--home", TOKEN, "health"],
        ["help", TOKEN],
        [TOKEN, ""],
        ["--home", str(tmp_path), TOKEN.lower()],
        ["check", TOKEN],
        ["profile", "new", TOKEN],
        ["audit", "show", TOKEN],
        [f"--{INSIDE}"],
        [f"--frob{TOKEN}=x", "health"],
        ["health", f"--{INSIDE}"],
    )
    for words in forms:
        status, said = told(name, *words)
        assert status == USAGE, words
        assert "is a token, a secret that others on this host can read" in said
        assert tells_nothing(said), words


def test_warded_tells_no_token_of_any_word(tmp_path: Path) -> None:
    home = ["--home", str(tmp_path / "none")]
    asked = [[*home, "init", INSIDE], [*home, "profile", "new", "a", INSIDE],
             [*home, "profile", INSIDE], [*home, "profile", "new", INSIDE],
             [*home, INSIDE], ["--home", INSIDE, "check"]]  # fmt: skip
    check_all("warded", asked)
    check_all("warded", each_once(options_of_warded(*home)))


def test_tokctl_tells_no_token_of_any_word(tmp_path: Path, store: Store) -> None:
    env = {"WARDED_DB": str(store.path), "WARDED_PROFILE": str(tmp_path)}
    words = commands("tokctl")
    asked = [[*command, INSIDE] for command in words if command != ["issue"]]
    check_all("tokctl", asked, **env)


def test_tokctl_tells_no_token_of_any_option(tmp_path: Path, store: Store) -> None:
    env = {"WARDED_DB": str(store.path), "WARDED_PROFILE": str(tmp_path)}
    check_all("tokctl", each_once(options_of_tokctl()), **env)


def test_tokctl_tells_no_token_of_its_environment() -> None:
    for setting in SETTINGS:
        env = {f"WARDED_{setting}": TOKEN}
        _, said = told("tokctl", "list" if setting == "DB" else "whoami", **env)
        assert tells_nothing(said), (setting, said)


# (option, value, what is allowed)
FILTERS = [
    ("--token", "nope", "10 characters"),
    ("--family", "nope", "10 characters"),
    ("--call", "nope", "UUID"),
    ("--outcome", "maybe", "ok, refused or failed"),
    ("--reason", "BOGUS", "TOKEN_EXPIRED"),
    ("--code", "17", "0 to 16"),
    ("--method", "Token/Issue", "/SERVICE/METHOD"),
    ("--principal", "trainer", "spiffe://"),
    ("--event", "CALL.END", "token.*"),
    ("--trace", "abc", "32 hexadecimal"),
    ("--token", INSIDE, "10 characters"),
    ("--owner", "a\nb", "printable"),
]


@pytest.mark.parametrize("verb", ["query", "tail"])
def test_a_filter_that_no_row_can_pass_is_refused_by_its_option(
    store: Store, verb: str
) -> None:
    for option, value, allowed in FILTERS:
        done = store.tokctl("audit", verb, option, value, exit_status=USAGE)
        assert option in done.stderr
        assert allowed in done.stderr
        assert done.stdout == ""
        assert tells_nothing(done.stderr)


def test_a_shell_that_tokctl_does_not_complete_is_told_so(store: Store) -> None:
    for words in ((), ("--home", str(store.path)), ("--db", str(store.path))):
        status, said = told("tokctl", *words, "completion", "ksh")
        assert status == USAGE
        assert "ksh: bash, zsh or fish" in said
