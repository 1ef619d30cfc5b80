"""What a benchmark's report says of its goals; nothing is measured here."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.bench.report import Goal, Report
from tests.bench.rounds import Contender, Outcome, PeerError, Turn, compete, median

CASE = "8 in flight"


def turn(rate: float) -> Turn:
    return Turn(rate, 1000.0, 2000.0, 10.0, 20.0)


def at(*rates: float) -> Callable[[], Turn]:
    """A contender's turns, one after the other."""
    left = [turn(rate) for rate in rates]
    return lambda: left.pop(0)


def absent() -> Turn:
    raise PeerError("it is not installed")


def ours(*rates: float) -> Contender:
    return Contender(CASE, "Warded", at(*rates), ours=True)


def report(*contenders: Contender, times: float = 2.0) -> Report:
    outcomes = compete(contenders, rounds=1)
    return Report("bench", outcomes, [Goal(CASE, "peer", times)])


@pytest.mark.parametrize(
    ("mine", "good", "said"),
    [
        (199.9, False, "MISSED, 2.00"),
        (200.0, True, "met, 2.00"),
        (200.1, True, "met, 2.00"),
        (50.0, False, "MISSED, 0.50"),
    ],
)
def test_claim_09_a_goal_is_met_from_its_number_on(
    mine: float, good: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = report(ours(mine), Contender(CASE, "peer", at(100.0)))
    made.print()
    assert made.is_good() == good
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    "peer",
    [
        Contender(CASE, "peer", at(1.0), missing="it is not installed"),
        Contender(CASE, "peer", None, missing="it is not installed"),
        Contender(CASE, "peer", absent),
    ],
)
def test_claim_09_a_goal_whose_peer_is_missing_is_not_met(
    peer: Contender, capsys: pytest.CaptureFixture[str]
) -> None:
    made = report(ours(1e6), peer)
    made.print()
    assert not made.is_good()
    said = capsys.readouterr().out
    assert "MISSING: it is not installed" in said
    assert "NOT JUDGED" in said.splitlines()[-1]
    assert "it is not installed" in said.splitlines()[-1]


def test_claim_09_a_goal_of_a_case_that_nobody_took_part_in_is_not_met() -> None:
    made = Report("bench", [], [Goal(CASE, "peer", 1.0)])
    assert not made.is_good()


def test_claim_09_a_missing_peer_without_a_goal_fails_nothing() -> None:
    made = report(
        ours(300.0),
        Contender(CASE, "peer", at(100.0)),
        Contender(CASE, "another", absent),
    )
    assert made.is_good()


def test_claim_09_our_own_failure_ends_the_run() -> None:
    with pytest.raises(PeerError):
        compete([Contender(CASE, "Warded", absent, ours=True)], rounds=1)


def test_claim_09_each_contender_has_a_turn_in_each_round() -> None:
    order: list[str] = []

    def note(name: str) -> Callable[[], Turn]:
        def take() -> Turn:
            order.append(name)
            return turn(len(order))

        return take

    compete([Contender(CASE, name, note(name)) for name in "ab"], rounds=3)
    assert order == ["a", "b"] * 3


def test_claim_09_the_median_is_of_each_figure() -> None:
    assert median([]) is None
    found = median([Turn(1, 9, 5, 2, 0), Turn(3, 7, 6, 2, 0), Turn(2, 8, 4, 9, 0)])
    assert found == Turn(2, 8, 5, 2, 0)


def test_claim_09_the_lines_tell_the_ratio_of_each_figure() -> None:
    peer = Outcome(
        Contender(CASE, "peer", None), Turn(100.0, 4000.0, 1000.0, 0.0, 40.0), ""
    )
    mine = Outcome(ours(), turn(250.0), "")
    text = Report("bench", [mine, peer], []).json()
    lines = map(json.loads, text.splitlines())
    assert {line["unit"]: line["ratio"] for line in lines} == {
        "1/s": 2.5,
        "p50 us": 4.0,
        "p99 us": 0.5,
        "server cpu us": 2.0,
    }
