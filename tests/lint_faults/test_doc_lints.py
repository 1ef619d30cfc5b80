"""Faults of README.md and docs/: what they name and what is not there."""

from __future__ import annotations

import re

import pytest

from tests.lint_faults.checks import CHECKS, SCRIPTS
from tests.lint_faults.sown import Sown
from tests.support.gate import ROOT

README = """# X

Run `deploy/try.sh`, then `tests/run.sh --list`. See [docs](docs/a.md#x).

| `server/` | the gate |
"""
DOC = """# A

`claim_08_rows_*`, `test_rows_are_kept`, `lint.words`, `server/main.c`, `server/*.c`.
[up](../README.md), [out](https://example.org/x)

| attack | test |
|---|---|
| a flip | `claim_08_rows_are_kept` |
| a cut | `files.sparse` |

    warded --home DIR serve
    tokctl audit tail
"""
TREE = {
    "README.md": README,
    "docs/a.md": DOC,
    ".ci/run": "#!/bin/sh\nexec tests/run.sh\n",
    "deploy/try.sh": "#!/bin/sh\n# --keep\n",
    "tests/run.sh": "#!/bin/sh\n# --list\n",
    "tests/unit/test_rows.c": "static void claim_08_rows_are_kept(void **state)\n",
    "tests/x/test_rows.py": "def test_rows_are_kept() -> None:\n",
    "tests/fuzz/token.c": "\n",
    "tests/runner/lints.py": 'X = {\n    "lint.words": 1,\n}\n',
    "tests/sandbox/payloads/files.py": 'P = [\n    Payload(\n        name="sparse",\n',
    "server/main.c": 'x = {\n    {NULL, "serve", wd_cmd_serve},\n'
    '    {"home", OPTION_HOME, 1},\n',
    "server/cmd_serve.c": "\n",
    "store/tokctl/cmd_list.c": 'x = {\n    .name = "list",\n',
    "store/tokctl/cmd_audit_tail.c": 'x = {\n    .group = "audit",\n'
    '    .name = "tail",\n    {"db", \'d\', 1},\n',
}
# Of which lint, what is put in place of what in which file, what is said, of which line.
FAULTS = {
    "no try.sh": ("readme", "README.md", "deploy/try.sh", "x", "does not name", 1),
    "no run.sh": ("readme", "README.md", "tests/run.sh", "x", "does not name", 1),
    "ci runs another": ("readme", ".ci/run", "tests/run.sh", "ls", "does not run", 1),
    "a link": ("readme", "README.md", "docs/a.md", "docs/b.md", "not there", 3),
    "a link of docs": ("readme", "docs/a.md", "../README.md", "R.md", "not there", 4),
    "a room": ("readme", "README.md", "`server/`", "`sever/`", "not there", 5),
    "a test": ("docs", "docs/a.md", "_rows_*", "_raws_*", "no test is called", 3),
    "a test of Python": ("docs", "docs/a.md", "test_rows", "test_raws", "no test", 3),
    "a lint": ("docs", "docs/a.md", "lint.words", "lint.wards", "no test is", 3),
    "a file": ("docs", "docs/a.md", "server/main.c", "server/man.c", "not there", 3),
    "a glob": ("docs", "docs/a.md", "server/*.c", "server/*.x", "is not there", 3),
    "a row": (
        "docs",
        "docs/a.md",
        "`claim_08_rows_are_kept`",
        "",
        "no test is named",
        8,
    ),
    "a row's test": ("docs", "docs/a.md", "rows_are", "raws_are", "neither", 8),
    "a payload": ("docs", "docs/a.md", "files.sparse", "files.gone", "neither", 9),
    "a command": ("commands", "docs/a.md", "serve", "server", "no command server", 11),
    "an option": ("commands", "docs/a.md", "--home", "--hone", "no option --hone", 11),
    "a second word": ("commands", "docs/a.md", "it tail", "it tale", "no tale", 12),
    "a script's": ("commands", "README.md", "--list", "--lists", "no option", 3),
}


@pytest.mark.parametrize("name", FAULTS)
def test_claim_13_what_is_named_and_not_there_is_found(name: str, sown: Sown) -> None:
    lint, path, old, new, says, line = FAULTS[name]
    sown.puts(TREE)
    lines = TREE[path].splitlines(keepends=True)
    if old in lines[line - 1]:
        lines[line - 1] = lines[line - 1].replace(old, new)
    text = "".join(lines)
    sown.puts({path: text if text != TREE[path] else text.replace(old, new)})
    said = sown.lint(lint)
    assert (said.code, says in said.text) == (1, True), said.text
    assert f"{path}:{line}" in said.places(), said.text


@pytest.mark.parametrize("lint", ["readme", "docs", "commands"])
def test_claim_13_what_is_named_and_there_passes(lint: str, sown: Sown) -> None:
    sown.puts(TREE)
    said = sown.lint(lint)
    assert (said.code, said.places()) == (0, set()), said.text


def test_claim_13_a_script_that_the_readme_names_can_be_run(sown: Sown) -> None:
    sown.puts(TREE)
    (sown.root / "deploy/try.sh").chmod(0o644)
    said = sown.lint("readme")
    assert said.code == 1
    assert "deploy/try.sh:1: is not an executable file" in said.text


# --- all of them -----------------------------------------------------------------------


@pytest.mark.parametrize("name", CHECKS)
def test_claim_13_a_lint_that_finds_no_file_fails(name: str, sown: Sown) -> None:
    sown.put("build/compile_commands.json", "[]")
    for path in sown.settings():
        path.unlink()
    said = sown.lint(name, "build")
    assert said.code != 0, said.text


def test_claim_13_every_lint_is_run() -> None:
    runner = (ROOT / "tests/runner/lints.py").read_text()
    assert set(re.findall(r'"(check_\w+)\.py"', runner)) == {p.stem for p in SCRIPTS}
