"""Which tests a pattern of tests/run.sh means."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.runner import races
from tests.runner.fuzz import CLAIM, FuzzSuite
from tests.runner.model import ROOT, Outcome, Result, selected, unmatched
from tests.runner.progress import Progress
from tests.runner.races import RaceSuite

FUZZ = FuzzSuite(lambda line: None, long=False).names()
ALL = sorted(FUZZ)


def test_claim_01_every_target_of_the_folder_has_a_name() -> None:
    build = (ROOT / "tests/fuzz/CMakeLists.txt").read_text()
    assert len(FUZZ) > 10
    assert all(f"fuzz_target({name[5:]} " in build for name in FUZZ)


@pytest.mark.parametrize(
    ("patterns", "want"),
    [
        ([], ALL),
        (["claim_01"], ALL),
        (["fuzz."], ALL),
        (["fuzz.token"], ["fuzz.token"]),
        (["fuzz.t*n"], ["fuzz.token"]),
        (["claim_02"], []),
        (["claim_01_every_prefix"], []),
        (["unit."], []),
    ],
)
def test_claim_01_a_pattern_finds_the_fuzz_targets_by_their_claim(
    patterns: list[str], want: list[str]
) -> None:
    assert sorted(selected(FUZZ, patterns, CLAIM)) == want


def test_claim_05_a_pattern_finds_the_races_by_their_claim() -> None:
    found = RaceSuite(lambda line: None, long=False).names()
    assert {"race.store_writer", "race.test_c_client"} <= {*found}
    assert selected(found, ["claim_05"], races.CLAIM) == found
    assert selected(found, ["claim_01"], races.CLAIM) == []


def test_without_another_name_only_the_own_counts() -> None:
    assert selected(["unit.a.b"], ["claim_01"]) == []
    assert selected(["unit.a.claim_01_b"], ["claim_01"]) == ["unit.a.claim_01_b"]


@pytest.mark.parametrize(
    ("patterns", "nothing"),
    [
        ([], []),
        (["unit."], []),
        (["claim_01"], []),
        (["fuzz.token", "a.c"], []),
        (["unit.", "claim_1", "b.*"], ["claim_1", "b.*"]),
        (["frob"], ["frob"]),
    ],
)
def test_a_pattern_that_means_no_test_is_found_beside_those_that_do(
    patterns: list[str], nothing: list[str]
) -> None:
    suites = [(["unit.a.b", "unit.a.c"], ""), (FUZZ, CLAIM)]
    assert unmatched(suites, patterns) == nothing


def test_a_pattern_that_means_no_test_is_refused_by_name() -> None:
    words = [sys.executable, "-m", "tests.runner", "lint.kinds", "lint.frob"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'no test is called "lint.frob"' in done.stderr
    assert "passed" not in done.stdout


def test_what_a_test_has_measured_stands_below_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress()
    progress.result(Result("a", Outcome.PASSED, output="p99 7 ms\n"))
    progress.result(Result("b", Outcome.FAILED, output="why\n"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[-1] for line in lines] == ["a", "ms", "b"]
