"""The lints: each finds what it is for, and lets the like of it pass."""

from __future__ import annotations

import pytest

from tests.lint_faults.checks import check
from tests.support.gate import ROOT


@pytest.mark.parametrize(
    "line",
    [
        "store/* : proto/c :",
        "server/executor/* : proto/c :",
        "server/cmd* : proto/c :",
        "* : proto/c :",
    ],
)
def test_claim_13_layers_name_modules_not_all_that_may_come(line: str) -> None:
    with pytest.raises(SystemExit, match="name the modules"):
        check("layers").parse(line)


def test_claim_13_a_file_that_no_line_names_is_found() -> None:
    layers = check("layers")
    text = (ROOT / layers.RULES).read_text()
    assert list(layers.problems(text)) == []
    assert "server/{gate,gate_boot," in text
    found = list(layers.problems(text.replace("{gate,gate_boot,", "{gate,gate_boat,")))
    assert f"server/gate_boot.c: no line of {layers.RULES} names this file" in found
    assert any("no file is named by server/gate_boat.?" in x for x in found)


@pytest.mark.parametrize(
    ("first", "program"),
    [
        ("#!/bin/sh", "sh"),
        ("#!/bin/sh -eu", "sh"),
        ("#! /bin/bash", "bash"),
        ("#!/usr/bin/env bash", "bash"),
        ("#!/usr/bin/env -S bash -e", "bash"),
        ("#!/usr/bin/env LANG=C sh", "sh"),
        ("#!/usr/bin/env python3", "python3"),
        ("# no script", ""),
        ("#!", ""),
        ("", ""),
    ],
)
def test_claim_13_a_script_is_known_by_its_first_line(first: str, program: str) -> None:
    tree = check("shell").tree
    assert tree.interpreter(first) == program
    assert (program in tree.SHELLS) == (program in ("sh", "bash"))


SKIP, XFAIL = "sk" + "ip", "x" + "fail"  # the lint reads this file too


@pytest.mark.parametrize(
    "line",
    [
        f"pytest.{SKIP}('no')",
        f"@pytest.mark.{SKIP}(reason='no')",
        f"@pytest.mark.{SKIP}if(True, reason='no')",
        f"@pytest.mark.{XFAIL}",
        f"pytest.{XFAIL}('no')",
        f"pytest.param(1, marks=pytest.mark.{XFAIL})",
        f"@unittest.{SKIP}Unless(False, 'no')",
        f"    {SKIP}();",
        f"pytest.importor{SKIP}('numpy')",
        f"collect_{'ignore'} = ['test_x.py']",
        f"__test_{'_'} = False",
    ],
)
def test_claim_13_a_test_that_does_not_count_is_found(line: str) -> None:
    bans = [b for b in check("words").BANS if "tests/*" in b.globs]
    assert [b for b in bans if b.pattern.search(line)] != []
    assert not [b for b in bans if b.pattern.search("rows.skipped; }  # fmt: off")]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("warded frob", "no command frob"),
        ("warded --home DIR init --frob", "no option --frob"),
        ("warded profile make x", "no make"),
        ("sudo warded serve --fast", "no option --fast"),
        ("tokctl audit look", "no look"),
        ("build/release/bin/tokctl --home x audit query --nope", "no option --nope"),
        ("deploy/try.sh --kep", "no option --kep"),
        ("deploy/tri.sh", "deploy/tri.sh is not there"),
        ("warded profile new NAME --scope S | warded COMMAND", ""),
        ("tokctl audit query|tail --since 1h", ""),
        ("deploy/platform.sh build/release/bin/tokctl audit tail --lines 3", ""),
        ("warded help init; tests/run.sh --long", ""),
        ("systemctl start warded", ""),
    ],
)
def test_claim_13_a_command_that_is_not_there_is_found(line: str, says: str) -> None:
    found = list(check("commands").problems_of(line))
    assert [says in problem for problem in found] == ([True] if says else [])
