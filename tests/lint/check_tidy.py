#!/usr/bin/env python3
"""check_tidy.py BUILD - fail when clang-tidy finds fault with a C file.

BUILD is a clang build of the tree. A file that passed is not looked at again until it,
a header it includes, its flags or .clang-tidy change: BUILD/tidy holds the stamps.
The analyzer gives up on a function after so many steps; the long form (WARDED_LONG)
has its own limit, more than four times as much, which takes three times as long.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tree

STEPS = 50_000
LIMITS = ("-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={STEPS}")
LESS = () if os.environ.get("WARDED_LONG") else [f"--extra-arg={w}" for w in LIMITS]


@dataclass(frozen=True, slots=True)
class Unit:
    """One file to look at."""

    name: str
    key: str

    @property
    def stamp(self) -> str:
        """The name of its stamp."""
        return f"{self.name.replace('/', '+')}.{self.key[:32]}"


def common() -> bytes:
    """What every file's verdict depends on."""
    command = ["clang-tidy", "--version"]
    version = subprocess.run(command, check=True, capture_output=True)
    settings = [tree.read(name) for name in tree.files(".clang-tidy", "*/.clang-tidy")]
    return version.stdout + "".join([*settings, *LESS]).encode()


def dependencies(build: Path) -> dict[str, list[str]]:
    """For each object, the files of the tree that it was made of: ninja knows."""
    command = ["ninja", "-C", str(build), "-t", "deps"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    deps: dict[str, list[str]] = {}
    current: list[str] = []
    for line in out.splitlines():
        if line.startswith("    "):
            path = os.path.normpath(build / line.strip())
            if path.startswith(f"{tree.ROOT}/"):
                current.append(path)
        elif ":" in line:
            current = deps.setdefault(line.split(":")[0], [])
    return deps


def unit(entry: dict[str, Any], base: bytes, deps: list[str]) -> Unit:
    """The file of a compile command, keyed by all that its verdict depends on."""
    digest = hashlib.sha256(base + entry["command"].encode())
    for path in sorted({entry["file"], *deps}):
        digest.update(path.encode() + b"\0" + Path(path).read_bytes())
    name = str(Path(entry["file"]).relative_to(tree.ROOT))
    return Unit(name, digest.hexdigest())


def units(build: Path) -> list[Unit]:
    """Every hand-written C file, once; the build compiles them all, or we end."""
    ours = {str(tree.ROOT / n) for n in tree.files("*.c")}
    entries = json.loads((build / "compile_commands.json").read_text())
    base, deps = common(), dependencies(build)
    headers = {str(tree.ROOT / n) for n in tree.maybe("*.h")}
    unseen = ours - {e["file"] for e in entries}
    unseen |= headers.difference(*deps.values())
    if unseen:
        names = sorted(path.removeprefix(f"{tree.ROOT}/") for path in unseen)
        raise SystemExit("\n".join(f"{n}:1: no part of {build.name}" for n in names))
    found = {
        e["file"]: unit(e, base, deps.get(e["output"], []))
        for e in entries
        if e["file"] in ours
    }
    return sorted(found.values(), key=lambda u: u.name)


def check(build: Path, one: Unit) -> str:
    """What clang-tidy says of a file; nothing when it is clean."""
    command = ["clang-tidy", "-p", str(build), "--quiet", *LESS, one.name]
    done = subprocess.run(
        command, cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return done.stdout or done.stderr
    (build / "tidy" / one.stamp).touch()
    return ""


def forget_old(stamps: Path, current: list[Unit]) -> None:
    """Remove the stamps of what is no more."""
    keep = {u.stamp for u in current}
    for stamp in stamps.iterdir():
        if stamp.name not in keep:
            stamp.unlink()


def main(build: Path) -> int:
    """Look at every file that changed, as many at once as there are cores."""
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    everything = units(build)
    stale = [u for u in everything if not (stamps / u.stamp).exists()]
    bad = 0
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        jobs = [(u, pool.submit(check, build, u)) for u in stale]
        for number, (one, job) in enumerate(jobs, 1):
            said = job.result()
            bad += bool(said)
            print(f"[{number}/{len(stale)}] {one.name}", flush=True)
            if said:
                print(said, flush=True)
    forget_old(stamps, everything)
    print(f"clang-tidy: {len(everything)} files, {len(stale)} looked at, {bad} bad")
    return 1 if bad or not everything else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
