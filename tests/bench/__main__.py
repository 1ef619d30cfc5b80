"""The command line of tests/bench/run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bench import execs, place, rpc


def main() -> int:
    """Run one benchmark; its exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run")
    parser.add_argument("name", choices=("exec", "rpc"))
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    place.build_ours()
    bench = {"exec": execs.run, "rpc": rpc.run}[asked.name]
    report = bench(quick=asked.quick)
    report.print()
    if asked.json is not None:
        report.write(asked.json)
    return 0 if report.is_good() else 1


sys.exit(main())
