"""The command line of `warded`: what it teaches, and what is too much."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.gate import Done, Home


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
