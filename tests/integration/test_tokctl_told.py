"""tokctl's man page and completions: all verbs and options of its --help, no others."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.gate import BUILD, program, run

OPTION = re.compile(r"^ +(?:-\w, )?(?:-\?, )?--([a-z0-9-]+)", re.M)
EVERYWHERE = {"help", "usage", "version"}  # argp's own
SHELLS = ("bash", "zsh", "fish")


def tokctl(*words: str) -> str:
    return run(program("tokctl"), *words).stdout


@cache
def verbs() -> tuple[str, ...]:
    """Such as `list` and `audit query`."""
    table = tokctl("--help").split("Commands:\n")[1].split("\n\n")[0]
    return tuple(line[2:19].strip() for line in table.splitlines())


@cache
def options(verb: str) -> frozenset[str]:
    """Its long options, as --help has them."""
    return frozenset(OPTION.findall(tokctl(*verb.split(), "--help"))) - EVERYWHERE


# --- the man page -------------------------------------------------------------------

MACROS = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".nf", ".fi", '.\\"'}


def sections(page: str, macro: str) -> dict[str, str]:
    """Each title and what follows it."""
    parts = re.split(rf'^\{macro} "?(.*?)"?$', page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_claim_05_man_page_has_every_verb_and_option() -> None:
    page = tokctl("man")
    parts = sections(page, ".SH")
    found = sections(parts["COMMANDS"], ".SS")
    shared = parts["OUTPUT OPTIONS"] + parts["WHO ANSWERS"]
    assert next(iter(parts)) == "NAME"
    for verb, (title, text) in zip(verbs(), found.items(), strict=True):
        assert f"{title} ".startswith(f"tokctl {verb} ")
        for option in options(verb):
            told = f"\\-\\-{option.replace('-', chr(92) + '-')}\\fR"
            assert told in text + shared, f"{verb} --{option}"


def test_claim_05_man_page_is_roff_that_nothing_escapes() -> None:
    page = tokctl("man")
    for line in page.splitlines():
        if line.startswith((".", "'")):
            assert line.split()[0] in MACROS, line
    assert "\v" not in page
    assert page.count("\n.nf\n") == page.count("\n.fi\n")
    escapes = set(re.findall(r"\\.", page))
    assert escapes <= {"\\-", "\\f", "\\e", "\\&", '\\"'}


# --- completions --------------------------------------------------------------------

CASES = (
    ("iss", "issue"),
    ("", "issue list show"),
    ("audit ", "query tail show stats verify export prune checkpoint"),
    ("audit qu", "query"),
    ("audit query --ou", "--outcome --output"),
    ("list --state act", "active"),
    ("list -o json --sort -na", ""),
    ("list --output js", "json jsonl"),
    ("--home X list --fam", "--family"),
    ("--home X li", "list"),
    ("issue t --ttl ", ""),
    ("renew --db", ""),
    ("list --db", "--db"),
    ("completion --pro", ""),
)


@pytest.mark.parametrize(("line", "wanted"), CASES)
def test_claim_05_bash_completes(tmp_path: Path, line: str, wanted: str) -> None:
    script = tmp_path / "tokctl.bash"
    script.write_text(tokctl("completion", "bash"))
    words = line.split(" ")
    done = subprocess.run(
        [
            "bash",
            "-uc",
            'source "$1"; shift; COMP_WORDS=(tokctl "$@"); COMP_CWORD=$#; _tokctl;'
            ' printf "%s\\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}',
            "bash",
            script,
            *words,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = set(done.stdout.split()) - {"tokctl.bash"}
    assert done.stderr == ""
    assert found >= set(wanted.split())
    assert bool(found) == bool(wanted)


@pytest.mark.parametrize("shell", SHELLS)
def test_claim_05_completion_has_every_verb_and_option(shell: str) -> None:
    text = tokctl("completion", shell)
    for verb in verbs():
        assert re.search(rf"\b{verb.split()[-1]}\b", text), verb
        for option in options(verb):
            form = f"-l {option} " if shell == "fish" else f"--{option}"
            assert form in text, f"{verb} --{option}"


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
    assert (tmp_path / place).read_text() == tokctl(*words)
