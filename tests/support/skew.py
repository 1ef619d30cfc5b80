"""A program whose wall clock is off: tests/support/skewed_clock.c."""

from __future__ import annotations

from tests.support.gate import program


def off(seconds: int) -> dict[str, str]:
    """Its environment."""
    return {
        "LD_PRELOAD": str(program("skewed_clock.so")),
        "WARDED_TEST_SKEW_S": str(seconds),
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }
