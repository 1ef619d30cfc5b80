"""tokctl's man page: all verbs and options of its --help, no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.ctl import options, told, verbs
from tests.support.gate import BUILD, program, run

# --- the man page -------------------------------------------------------------------

MACROS = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".nf", ".fi", '.\\"'}


def sections(page: str, macro: str) -> dict[str, str]:
    """Each title and what follows it."""
    parts = re.split(rf'^\{macro} "?(.*?)"?$', page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_claim_05_man_page_has_every_verb_and_option() -> None:
    page = told("man")
    parts = sections(page, ".SH")
    found = sections(parts["COMMANDS"], ".SS")
    shared = parts["OUTPUT OPTIONS"] + parts["WHO ANSWERS"]
    assert next(iter(parts)) == "NAME"
    for verb, (title, text) in zip(verbs(), found.items(), strict=True):
        assert f"{title} ".startswith(f"tokctl {verb} ")
        for option in options(verb):
            name = f"\\-\\-{option.replace('-', chr(92) + '-')}\\fR"
            assert name in text + shared, f"{verb} --{option}"


def test_claim_05_man_page_is_roff_that_nothing_escapes() -> None:
    page = told("man")
    for line in page.splitlines():
        if line.startswith((".", "'")):
            assert line.split()[0] in MACROS, line
    assert "\v" not in page
    assert page.count("\n.nf\n") == page.count("\n.fi\n")
    escapes = set(re.findall(r"\\.", page))
    assert escapes <= {"\\-", "\\f", "\\e", "\\&", '\\"'}


@pytest.mark.parametrize("shell", ["", "tcsh", "bash zsh"])
def test_claim_05_shell_that_is_none_is_refused(shell: str) -> None:
    words = ("completion", *shell.split())
    assert run(program("tokctl"), *words, check=False).returncode == 2


# --- what is installed --------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("share/man/man1/tokctl.1", ("man",)),
        ("share/bash-completion/completions/tokctl", ("completion", "bash")),
        ("share/zsh/site-functions/_tokctl", ("completion", "zsh")),
        ("share/fish/vendor_completions.d/tokctl.fish", ("completion", "fish")),
    ],
)
def test_claim_05_what_is_told_is_installed(
    tmp_path: Path, place: str, words: tuple[str, ...]
) -> None:
    run("cmake", "--install", BUILD, "--prefix", tmp_path)
    assert (tmp_path / place).read_text() == told(*words)
