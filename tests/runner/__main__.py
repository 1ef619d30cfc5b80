"""The command line of tests/run.sh, which has its manual."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from tests.runner import build, fuzz, races
from tests.runner.fuzz import FuzzSuite
from tests.runner.lanes import run_lanes
from tests.runner.lints import LintSuite
from tests.runner.model import BUILD, Result, Suite, failed, selected, unmatched
from tests.runner.progress import Progress
from tests.runner.pytests import PytestSuite
from tests.runner.races import RaceSuite
from tests.runner.unit import UnitSuite

# What a kind of tests is called beside the names of its tests.
ALSO = {"fuzz": fuzz.CLAIM, "race": races.CLAIM}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="tests/run.sh", description=__doc__)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--list", action="store_true", help="print names, run nothing")
    parser.add_argument("--long", action="store_true", help="the long forms too")
    options = parser.parse_intermixed_args(arguments)
    if "" in options.patterns:  # a script's variable that was not set: not all tests
        parser.error("an empty PATTERN: give it a part of a name, or leave it out")
    return options


def suites_for(
    patterns: Sequence[str], progress: Progress, *, long: bool
) -> list[tuple[str, Suite]]:
    """The kinds of tests that the patterns can mean."""
    lints: tuple[str, Suite] = ("lint", LintSuite(progress.doing))
    fuzzing: tuple[str, Suite] = ("fuzz", FuzzSuite(progress.doing, long=long))
    racing: tuple[str, Suite] = ("race", RaceSuite(progress.doing, long=long))
    for alone in (lints, fuzzing, racing):
        if patterns and all(p.split(".")[0] == alone[0] for p in patterns):
            return [alone]
    return [
        lints,
        ("unit", UnitSuite(progress.doing)),
        ("python", PytestSuite(progress.doing, long=long)),
        racing,
        fuzzing,
    ]


def prepare(suites: list[tuple[str, Suite]], progress: Progress) -> list[Result]:
    """Build and collect; what goes wrong there. After a failed build nothing more."""
    problems: list[Result] = []
    build.begin_venv(progress.doing)
    for title, suite in suites:
        progress.title(f"preparing {title} tests")
        problems += suite.prepare()
        if any(p.name.startswith("build.") for p in problems):
            break
    return problems


def main(arguments: Sequence[str]) -> int:
    """Run what the command line asks for; the exit status."""
    options = parse(arguments)
    if options.long:
        os.environ["WARDED_LONG"] = "1"
    BUILD.mkdir(exist_ok=True)
    progress = Progress()
    suites = suites_for(options.patterns, progress, long=options.long)
    problems = prepare(suites, progress)
    named = [(suite.names(), ALSO.get(title, "")) for title, suite in suites]
    if not problems and (nothing := unmatched(named, options.patterns)):
        told = ", ".join(f'"{pattern}"' for pattern in nothing)
        print(f"no test is called {told}: see tests/run.sh --list", file=sys.stderr)
        return 2
    wanted = [
        (title, suite, selected(suite.names(), options.patterns, ALSO.get(title, "")))
        for title, suite in suites
    ]
    if options.list:
        print(*(name for _, _, names in wanted for name in names), sep="\n")
        for problem in problems:
            print(f"{problem.name}: {problem.output}", file=sys.stderr)
        return 1 if problems else 0
    progress.total = len(problems) + sum(len(names) for _, _, names in wanted)
    for problem in problems:
        progress.result(problem)
    lanes = [lane for _, suite, names in wanted if names for lane in suite.lanes(names)]
    # nohup, and a shell that puts it behind, has them ignored, by what it starts too.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        run_lanes(lanes, progress)
    except KeyboardInterrupt:
        print("interrupted: what ran has been ended", file=sys.stderr)
        return 130
    seen = {result.name for result in progress.results}
    for name in (n for _, _, names in wanted for n in names if n not in seen):
        progress.result(failed(name, "the runner never came to it"))
    return progress.close()


sys.exit(main(sys.argv[1:]))
