"""A caller's `timeout`, as milliseconds."""

from __future__ import annotations

import math
from numbers import Real

from warded._envelope import invalid
from warded.errors import RpcError

DEFAULT_TIMEOUT_S = 30.0
_DEFAULT_MS = int(DEFAULT_TIMEOUT_S * 1000)
LONGEST_S = 86_400  # above every method's maximum


def read_timeout_ms(timeout: float | None) -> int:
    """Milliseconds, rounded up; 0 or less: the deadline has passed.

    Raises InvalidCall: no number, not finite, or more than a day.
    """
    if timeout is None:
        return _DEFAULT_MS
    number = isinstance(timeout, (int, float, Real)) and not isinstance(timeout, bool)
    if not number or not -math.inf < timeout <= LONGEST_S:
        raise bad_timeout(timeout)
    return math.ceil(timeout * 1000)


def bad_timeout(timeout: object) -> RpcError:
    """An InvalidCall that names the range."""
    return invalid(
        f"timeout {timeout!r}: a number of seconds, more than 0 and at most {LONGEST_S}"
    )
