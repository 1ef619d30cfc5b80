"""The command line of tests/bench/run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench import audits, execs, place, rpc, tokens, verify
from tests.bench.figures import Figures
from tests.bench.report import Report

Benchmark = Callable[..., Report | Figures]
BENCHES: dict[str, tuple[Benchmark, ...]] = {
    "audit": (audits.rows, audits.costs),
    "exec": (execs.run,),
    "rpc": (rpc.run,),
    "tokens": (tokens.run,),
    "verify": (verify.run,),
}


def main() -> int:
    """Run one benchmark; its exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run")
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    place.build_ours()
    reports = [bench(quick=asked.quick) for bench in BENCHES[asked.name]]
    for report in reports:
        report.print()
    if asked.json is not None:
        asked.json.write_text("".join(report.json() for report in reports))
    return 0 if all(report.is_good() for report in reports) else 1


sys.exit(main())
