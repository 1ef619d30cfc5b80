"""Faults of texts: shellcheck, words, sizes, kinds, suppressions, readme, docs."""

from __future__ import annotations

import pytest

from tests.lint_faults.sown import Sown

# --- shellcheck ------------------------------------------------------------------------

SHELL = {
    "SC2086": "x=$1\nls $x\n",
    "SC2046": "ls $(ls)\n",
    "SC2034": "unused=1\n",
    "SC2164": "cd /tmp\nls\n",
    "SC2162": 'read x\necho "$x"\n',
    "SC3043": 'f() { local x=1; echo "$x"; }\nf\n',
    "SC1073": "if true; then\n",
    "SC2006": 'x=`ls`\necho "$x"\n',
}
SCRIPTS = ("deploy/bad.sh", ".ci/run", "tests/bench/run", "deploy/tool.bash")


@pytest.mark.parametrize("rule", SHELL)
def test_claim_13_shellcheck_finds_its_fault_in_every_script(
    rule: str, sown: Sown
) -> None:
    good = '#!/bin/sh\necho "$1"\n'
    sown.puts({"deploy/good.sh": good, "deploy/good": good})
    sown.puts(dict.fromkeys(SCRIPTS, f"#!/bin/sh\n{SHELL[rule]}"))
    said = sown.lint("shell")
    assert said.code != 0
    found = {x.split(":")[0] for x in said.text.splitlines() if f"[{rule}]" in x}
    assert found == set(SCRIPTS), said.text
    assert "good" not in said.text


def test_claim_13_scripts_without_fault_pass_shellcheck(sown: Sown) -> None:
    good = '#!/bin/sh\necho "$1"\n'
    sown.puts({"deploy/good.sh": good, "deploy/good": good})
    assert sown.lint("shell").code == 0


# --- words -----------------------------------------------------------------------------

# Each with a ~ in it, as the lint reads this file too.
WORDS = {
    "unfinished": ("docs/a.md", "one\n\nTO~DO: more\n", 3),
    "to mend": ("server/a.c", "/* FIX~ME */\n", 1),
    "a machine's path": ("docs/a.md", "see /wo~rk/main\n", 1),
    "a home": ("deploy/a.sh", "cd /ho~me/me/x\n", 1),
    "a test left out": ("tests/a.py", "\n@pytest.mark.sk~ip\n", 2),
    "expected to fail": ("tests/a.py", "@pytest.mark.xf~ail\n", 1),
    "left out by cmake": ("tests/a.cmake", "DISAB~LED TRUE\n", 1),
    "strtok": ("server/a.c", "x = str~tok(a, b);\n", 1),
    "localtime": ("store/a.h", "\nlocal~time(&t);\n", 2),
    "a jump": ("server/a.c", "if (x)\n    go~to end;\n", 2),
    "a computed jump": ("server/a.h", "go~to *table[n];\n", 1),
    "trailing space": ("server/a.c", "int x; \n", 1),
    "trailing tab": ("clients/a.py", "x = 1\t\n", 1),
}


@pytest.mark.parametrize("name", WORDS)
def test_claim_13_a_banned_word_is_found(name: str, sown: Sown) -> None:
    path, text, line = WORDS[name]
    sown.puts({"server/good.c": "gmtime_r(&t, &tm); /* to do */\n", "docs/b.md": "x\n"})
    sown.puts({"tests/good.py": "rows.skipped\n"})
    sown.put(path, text.replace("~", ""))
    said = sown.lint("words")
    assert (said.code, said.places()) == (1, {f"{path}:{line}"})


# --- sizes -----------------------------------------------------------------------------

LIMITS = {"x.c": 400, "x.h": 150, "x.py": 300, "x.sh": 300}


@pytest.mark.parametrize("name", LIMITS)
def test_claim_13_a_file_is_measured_at_its_limit(name: str, sown: Sown) -> None:
    limit = LIMITS[name]
    sown.puts(dict.fromkeys(LIMITS, "\n"))
    sown.put(name, "\n" * limit)
    assert sown.lint("sizes").code == 0
    sown.put(name, "\n" * (limit + 1))
    said = sown.lint("sizes")
    assert (said.code, said.places()) == (1, {f"{name}:{limit + 1}"})


def test_claim_13_scripts_without_a_suffix_are_measured_too(sown: Sown) -> None:
    sown.puts(dict.fromkeys(LIMITS, "\n"))
    sown.puts(
        {"a": "#!/bin/sh\n" + "\n" * 300, "b": "#!/usr/bin/python3\n" + "\n" * 300}
    )
    sown.puts({"c.py": "def f(a, b, c, d, e, g): pass\n"})
    assert sown.lint("sizes").places() == {"a:301", "b:301", "c.py:1"}


# --- kinds -----------------------------------------------------------------------------

UNKNOWN = {
    "a suffix": ("server/a.rs", "fn main() {}\n", 0o644),
    "no suffix": ("deploy/Makefile", "all:\n", 0o644),
    "another interpreter": ("deploy/a", "#!/usr/bin/perl\n", 0o755),
    "another in a shell's clothes": ("deploy/a.sh", "#!/usr/bin/awk -f\n", 0o755),
    "no first line": ("deploy/a.sh", "ls\n", 0o755),
    "may be run": ("docs/a.md", "text\n", 0o755),
    "bad JSON": ("tests/a.json", "{,}\n", 0o644),
    "bad TOML": ("a.toml", "x = \n", 0o644),
    "bad INI": ("a.ini", "x\n", 0o644),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_claim_13_a_file_that_nobody_looks_at_is_found(name: str, sown: Sown) -> None:
    sown.puts({"a/b.c": "\n", "a/run": "#!/bin/sh\n", "a/b.json": "{}", "LICENSE": "x"})
    path, text, mode = UNKNOWN[name]
    sown.put(path, text, mode)
    said = sown.lint("kinds")
    assert (said.code, said.places()) == (1, {f"{path}:1"})


# --- suppressions ------------------------------------------------------------------------

LOOK = "NOLINT"
UNREASONED = {
    "bare": ("a.c", f"int x; /* {LOOK} */\n", 1),
    "bare, with a reason": ("a.c", f"int x; /* {LOOK}: one thread */\n", 1),
    "without a reason": ("a.c", f"\n/* {LOOK}NEXTLINE(cert-err34-c) */\n", 2),
    "with one word": ("a.c", f"/* {LOOK}BEGIN(cert-err34-c): flags */\n", 1),
    "of a line": ("a.h", f"int x; // {LOOK}(cert-err34-c)\n", 1),
    "in a longer comment": ("a.c", f"/*\n *\n * {LOOK}NEXTLINE(x-y)\n */\n", 3),
    "format": ("a.c", "int x;\n/* clang-format off */\n", 2),
    "pragma": ("a.c", '#pragma GCC diagnostic ignored "-Wvla"\n', 1),
    "pragma of clang": ("a.c", "\n # pragma clang diagnostic push\n", 2),
    "pragma in a macro": ("a.c", '#define X _Pragma("x")\n', 1),
    "noqa": ("a.py", "import os  # noqa\n", 1),
    "noqa with a reason": ("a.py", "import os  # noqa  # of the module\n", 1),
    "noqa of a rule": ("a.py", "\nimport os  # noqa: F401\n", 2),
    "noqa of a file": ("a.py", "# ruff: noqa: F401\n", 1),
    "noqa of a whole file": ("a.py", "# ruff: noqa\n", 1),
    "type": ("a.py", "x: int = 'a'  # type: ignore\n", 1),
    "type of a rule": ("a.py", "x: int = 'a'  # type: ignore[assignment]\n", 1),
    "mypy off": ("a.py", "# mypy: ignore-errors\n", 1),
    "format off": ("a.py", "# fmt: off  # a table here\n", 1),
    "coverage": ("a.py", "x = 1  # pragma: no cover\n", 1),
    "reason too far above": ("a.py", "# For a test.\n\n\n\nx = 1  # noqa: F401\n", 5),
    "shell": ("a.sh", "# shellcheck disable=SC2086\nls $x\n", 1),
    "shell, all": ("a.sh", "# shellcheck disable=all # a list of words\nls $x\n", 1),
}
REASONED = {
    "a.c": f"/* {LOOK}NEXTLINE(a-b): one thread */\nint x; /* {LOOK}(a-b): at its end */\n"
    f"/* The linker's names.\n * {LOOK}BEGIN(a-b,c-d,\n * e-f) */\n/* {LOOK}END(a-b) */\n"
    "/* A table in columns. */\n/* clang-format off */\n/* clang-format on */\n"
    f'char *s = "{LOOK}";\n',
    "a.h": "\n",
    "a.py": "import os  # noqa: F401  # for its effect\n"
    "# What the types forbid.\nx = 1  # type: ignore[a]\ny = 2  # type: ignore[b]\n"
    's = "# noqa"\nz = [\n]  # fmt: skip\n# ruff: noqa: N818  # they say what happened\n',
    "a.sh": "# shellcheck disable=SC2086 # a list of words\nls $x\n"
    "# shellcheck shell=sh\n",
}


@pytest.mark.parametrize("name", UNREASONED)
def test_claim_13_looking_away_needs_a_reason(name: str, sown: Sown) -> None:
    sown.puts(REASONED)
    path, text, line = UNREASONED[name]
    sown.put(f"bad/{path}", text)
    said = sown.lint("suppressions")
    assert (said.code, said.places()) == (1, {f"bad/{path}:{line}"}), said.text


CLEAN = {
    "words": {"a.c": "gmtime_r(&t, &tm); /* to do */\n", "a.md": "x\n", "a.py": "\n"}
    | {"tests/a.py": "rows.skipped\n", "CMakeLists.txt": "\n", "a.h": "\n"},
    "kinds": {"a/b.c": "\n", "a/run": "#!/bin/sh\n", "a/b.json": "{}", "LICENSE": "x"},
    "suppressions": REASONED,
}


@pytest.mark.parametrize("lint", CLEAN)
def test_claim_13_a_text_without_fault_passes(lint: str, sown: Sown) -> None:
    sown.puts(CLEAN[lint])
    said = sown.lint(lint)
    assert (said.code, said.places()) == (0, set()), said.text
