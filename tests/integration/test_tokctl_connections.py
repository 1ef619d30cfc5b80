"""`tokctl connections`: who is connected to a gate now."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.support.ctl import Ctl
from tests.support.raw_client import RawClient
from tests.support.store import DENIED, USAGE

MOST_PEER = 256
THEIRS = ("connections", "--peer", "*/client/reader")


def test_claim_05_connections_go_on_where_they_ended(boss: Ctl, reader: Ctl) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(RawClient(reader.profile))
        some = boss(*THEIRS, "-n", "2", "-o", "name")
        numbers = some.stdout.split()
        assert len(numbers) == 2
        assert some.stderr == f"there are more: go on with --cursor {numbers[1]}\n"
        last = boss(*THEIRS, "--cursor", numbers[1], "-o", "name")
        assert (len(last.stdout.split()), last.stderr) == (1, "")
        assert boss.json(*THEIRS, "--expiring", "1s") == []
        assert len(boss.json(*THEIRS, "--expiring", "3650d")) == 3
        assert boss.json("connections", "--peer", "*/client/nobody") == []


def test_claim_05_connections_are_not_told_to_who_reads_the_trail(reader: Ctl) -> None:
    done = reader("connections", status=DENIED)
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "-1"),
        ("--limit", "1000000001"),
        ("--cursor", "0"),
        ("--cursor", str(2**63)),
        ("--cursor", "ten"),
        ("--expiring", "soon"),
        ("--expiring", "0s"),
        ("--peer", "x" * (MOST_PEER + 1)),
        ("--db", "/nowhere"),
        ("--dry-run",),
        ("reader",),
    ],
)
def test_claim_05_connections_are_not_asked_for_in_odd_ways(
    boss: Ctl, words: tuple[str, ...]
) -> None:
    assert boss("connections", *words, status=USAGE).stdout == ""
