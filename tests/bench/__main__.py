"""The command line of tests/bench/run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench import execs, place, rpc, tokens, verify
from tests.bench.figures import Figures
from tests.bench.report import Report

BENCHES: dict[str, Callable[..., Report | Figures]] = {
    "exec": execs.run,
    "rpc": rpc.run,
    "tokens": tokens.run,
    "verify": verify.run,
}


def main() -> int:
    """Run one benchmark; its exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run")
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    place.build_ours()
    report = BENCHES[asked.name](quick=asked.quick)
    report.print()
    if asked.json is not None:
        report.write(asked.json)
    return 0 if report.is_good() else 1


sys.exit(main())
