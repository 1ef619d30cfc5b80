"""Runs the real protoc with the real plugin."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "clients/codegen/protoc-gen-warded"
HEAD = """\
syntax = "proto3";
package acme.shop.v1;
import "warded/v1/options.proto";
message Req { string text = 1; }
message Rep {}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one run of protoc."""

    code: int
    errors: str
    folder: Path

    def read(self, name: str) -> str:
        """One generated file."""
        return (self.folder / name).read_text(encoding="utf-8")

    @property
    def names(self) -> set[str]:
        """The generated files."""
        found = self.folder.rglob("*")
        return {str(p.relative_to(self.folder)) for p in found if p.is_file()}


def protoc(
    folder: Path,
    text: str,
    *,
    name: str = "acme/shop/v1/shop.proto",
    options: str | None = None,
) -> Run:
    """Generate from `text`, saved as `name` below folder/in, into folder/out."""
    (folder / "in" / name).parent.mkdir(parents=True)
    (folder / "in" / name).write_text(text, encoding="utf-8")
    return protoc_of(folder, name, options=options)


def protoc_of(folder: Path, *names: str, options: str | None = None) -> Run:
    """Generate from the files `names` that are below folder/in, into folder/out."""
    source, out = folder / "in", folder / "out"
    out.mkdir(parents=True)
    command = ["protoc", f"--plugin=protoc-gen-warded={PLUGIN}"]
    command += [f"-I{source}", f"-I{ROOT / 'proto'}", "-I/usr/include"]
    command += [f"--warded_opt={options}"] if options is not None else []
    command += [f"--warded_out={out}", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Run(done.returncode, done.stderr, out)
