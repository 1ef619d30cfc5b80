"""The command line of `warded`: what it teaches, and what is too much."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.gate import Done, Home, program, run


def warded(home: Path, *words: str) -> Done:
    """A command that may fail."""
    return Home(home).warded(*words, check=False)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["dance"],
        ["--hoem", "x"],
        ["init", "now"],
        ["check", "now"],
        ["serve", "now"],
        ["serve", "--fast"],
        ["health", "now"],
        ["profile", "new", "x", "now", "--scope", "observe:*"],
        ["help", "dance"],
        ["gate"],
    ],
)
def test_a_wrong_command_line_is_2(tmp_path: Path, words: list[str]) -> None:
    done = warded(tmp_path, *words)
    assert done.returncode == 2
    assert done.stderr


VERBS = [
    ["warded"],
    *(["warded", name] for name in ("init", "profile", "check", "serve", "health")),
    ["tokctl"],
    *(["tokctl", name] for name in ("issue", "list", "show", "revoke")),
    *(["tokctl", "audit", name] for name in ("query", "tail", "verify")),
]


def options(verb: list[str]) -> list[str]:
    """The options of a command that take a value, as its help names them."""
    done = run(program(verb[0]), *verb[1:], "--help")
    return sorted(set(re.findall(r"--([a-z-]+)=", done.stdout)))


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_an_option_with_an_empty_value_is_a_usage_error_that_names_it(
    verb: list[str],
) -> None:
    command: list[str | Path] = [program(verb[0]), *verb[1:]]
    for name in options(verb):
        for words in ([f"--{name}="], [f"--{name}", ""]):
            done = run(*command, *words, check=False)
            assert (done.returncode, done.stdout) == (2, ""), words
            assert f"--{name} has an empty value" in done.stderr
    for words in ([""], ["new", ""], ["--", ""]):
        assert run(*command, *words, check=False).returncode == 2, words


def test_every_value_of_every_command_was_tried() -> None:
    found = {name for verb in VERBS for name in options(verb)}
    assert {"home", "db", "listen", "scope", "ttl", "principal", "witness"} <= found
    assert len(found) > 25


@pytest.mark.parametrize("words", [["-H", ""], ["--home", ""], ["--home="]])
@pytest.mark.parametrize("name", ["warded", "tokctl"])
def test_an_empty_home_is_no_home(name: str, words: list[str]) -> None:
    verb = {"warded": "check", "tokctl": "list"}[name]
    done = run(program(name), *words, verb, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{words[0].rstrip('=')} has an empty value" in done.stderr


def test_an_empty_word_behind_the_options_is_named_as_one() -> None:
    done = run(program("tokctl"), "--", "", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'an empty word after "--"' in done.stderr


@pytest.mark.parametrize("server", ["127.0.0.1:99999", "[::", "a b", "127.0.0.1:0"])
def test_a_server_that_is_no_address_is_a_usage_error(server: str) -> None:
    done = run(program("tokctl"), "--server", server, "list", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tokctl: --server: ")


def test_an_empty_variable_is_as_good_as_none() -> None:
    names = ("WARDED_HOME", "WARDED_DB")
    empty = [f"{name}=" for name in names]
    unset = [word for name in names for word in ("-u", name)]
    said = [
        run("env", *words, program("tokctl"), "list", check=False).stderr
        for words in (empty, unset)
    ]
    assert said[0] == said[1] != ""


COMMANDS = [[], ["init"], ["profile"], ["check"], ["serve"], ["health"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: "".join(words) or "-")
@pytest.mark.parametrize("word", ["-h", "--help", "help"])
def test_help_is_asked_for_in_any_way(
    tmp_path: Path, command: list[str], word: str
) -> None:
    done = warded(tmp_path, *command, word)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: " + " ".join(["warded", *command]))
    if word == "help":
        assert warded(tmp_path, "help", *command).stdout == done.stdout


def test_help_teaches_the_first_run(tmp_path: Path) -> None:
    text = warded(tmp_path, "--help").stdout
    for word in ("init", "profile", "check", "serve", "health", "observe:python_code"):
        assert word in text
    assert not re.search(r"^  gate", text, re.M)


@pytest.mark.parametrize("name", ["h\n2", "h\x1b[31m", "h\x7f"])
@pytest.mark.parametrize("verb", ["init", "check", "serve"])
def test_a_home_with_a_control_character_in_its_name_is_refused(
    verb: str, name: str, tmp_path: Path
) -> None:
    done = run(program("warded"), "--home", tmp_path / name, verb, check=False)
    assert done.returncode not in (0, 1)
    assert "--home: a name with a control character" in done.stderr
    assert list(tmp_path.iterdir()) == []
