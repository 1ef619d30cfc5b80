"""A tree of its own for the lints, into which a test sows faults."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.gate import ROOT

# What a lint's settings are, beside tests/lint.
SETTINGS = (".clang-format", ".clang-tidy", "tests/.clang-tidy")
PLACE = re.compile(r"(?:^|[ /])((?:[\w.-]+/)*[\w.-]+:\d+):")


@dataclass(frozen=True, slots=True)
class Said:
    """How a lint ended, and with what words."""

    code: int
    text: str

    def of(self, place: str) -> str:
        """What it said of FILE:LINE."""
        return "\n".join(x for x in self.text.splitlines() if f"{place}:" in x)

    def places(self) -> set[str]:
        """Every FILE:LINE that it found fault with."""
        return {p for line in self.text.splitlines() for p in PLACE.findall(line)[:1]}


class Sown:
    """A checkout with our lints, which they don't look at, and nothing else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        shutil.copytree(
            ROOT / "tests/lint",
            root / "tests/lint",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for name in SETTINGS:
            shutil.copy(ROOT / name, root / name)
        self.put(".git/info/exclude", "/tests/lint/\n/build/\n")

    def settings(self) -> list[Path]:
        """The files that are there from the start, beside tests/lint."""
        return [self.root / name for name in SETTINGS]

    def put(self, name: str, text: str, mode: int = 0o644) -> None:
        """A file, and its folders."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def puts(self, files: Mapping[str, str]) -> None:
        """Some; a script may be run."""
        for name, text in files.items():
            self.put(name, text, 0o755 if text.startswith("#!") else 0o644)

    def lint(self, name: str, *arguments: str) -> Said:
        """Run check_NAME.py as the runner does."""
        script = str(self.root / f"tests/lint/check_{name}.py")
        tools = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        env = {**os.environ, "PATH": tools, "PYTHONDONTWRITEBYTECODE": "1"}
        env.pop("PYTHONPATH", None)
        command = [sys.executable, script, *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=env, check=False, capture_output=True, text=True
        )
        return Said(done.returncode, done.stdout + done.stderr)

    def build(self, flags: Mapping[str, str], compiler: str = "clang") -> str:
        """Compile each of these files with its flags; the build's folder."""
        rule = "rule cc\n  command = $cc -MD -MF $out.d -c $in -o $out\n"
        ninja, entries = [f"{rule}  depfile = $out.d\n  deps = gcc\n"], []
        for name, options in flags.items():
            out = f"{name.replace('/', '+')}.o"
            cc = f"{compiler} -I{self.root} {options}"
            ninja.append(f"build {out}: cc {self.root / name}\n  cc = {cc}\n")
            entries.append(
                {
                    "directory": str(self.root / "build"),
                    "command": f"{cc} -c {self.root / name} -o {out}",
                    "file": str(self.root / name),
                    "output": out,
                }
            )
        self.put("build/build.ninja", "".join(ninja))
        self.put("build/compile_commands.json", json.dumps(entries))
        command = ["ninja", "-C", str(self.root / "build")]
        subprocess.run(command, check=True, capture_output=True)
        return "build"
