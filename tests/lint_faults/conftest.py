"""Fixtures of the faults that are sown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint_faults.sown import Sown


@pytest.fixture
def sown(tmp_path: Path) -> Sown:
    """An empty tree for the lints."""
    return Sown(tmp_path)
