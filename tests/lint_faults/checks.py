"""The scripts of tests/lint as modules."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from tests.support.gate import ROOT

SCRIPTS = sorted((ROOT / "tests/lint").glob("check_*.py"))
CHECKS = [path.stem.removeprefix("check_") for path in SCRIPTS]


def check(name: str) -> ModuleType:
    """check_NAME.py of tests/lint, which are scripts beside each other."""
    folder = str(ROOT / "tests/lint")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(f"check_{name}")
