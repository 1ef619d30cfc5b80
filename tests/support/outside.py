"""Who opens the store beside the gate, as a shell of sqlite3 would."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from tests.support.gate import Home


def connect(home: Home) -> sqlite3.Connection:
    path = home.store / "store.db"
    return sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=30
    )


@contextlib.contextmanager
def held(home: Home, *statements: str) -> Iterator[sqlite3.Connection]:
    """A transaction that stands open meanwhile."""
    with contextlib.closing(connect(home)) as db:
        for statement in statements:
            db.execute(statement).fetchall()
        yield db
        db.execute("ROLLBACK")
