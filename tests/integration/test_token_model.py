"""The model of tokens: all of its states, faults that it must find, and the real code.

tests/support/token_model.py says what there is, what happens and what must hold;
tests/support/token_steps.c plays the same steps on a real store.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.explore import Graph, ViolationError, explore, walks
from tests.support.gate import program
from tests.support.token_model import Model

LONG = bool(os.environ.get("WARDED_LONG"))

CHILD = Model(uses=(2, 1), child=True, waiting=1)
CHUNKS = Model(uses=(32, 0), waiting=1)  # are reserved two at a time

# How far the model is looked into: all states, all steps.
BOUNDS = {
    "lives": Model(lives=3, hours=3 if LONG else 1),
    "uses": Model(uses=(3, 0), waiting=2, lives=2 if LONG else 1),
    "children": Model(uses=(3, 2), child=True, waiting=2),
    **({"chunks": CHUNKS} if LONG else {}),
    "clocks": Model(lives=2 if LONG else 1, hours=3, behind=1),
}

# How far the code is: each step of these is taken at least once.
REPLAYED = {
    "lives": Model(lives=3, hours=2) if LONG else Model(lives=2, hours=2),
    "uses": Model(uses=(3 if LONG else 2, 0), waiting=2),
    "children": CHILD,
    **({"chunks": CHUNKS} if LONG else {}),
    "clocks": Model(hours=3, behind=1, revoked=LONG),
}

# What breaks the model, and what must hold no more then.
FAULTS = {
    "reserve later": (Model(uses=(2, 0), waiting=1), "uses are on disk first"),
    "forgets": (Model(uses=(2, 0), waiting=1), "uses are on disk first"),
    "hoards": (Model(uses=(3, 0), waiting=1), "a kill loses so many"),
    "keeps": (CHUNKS, "a stop loses nothing"),
    "child apart": (CHILD, "uses are on disk first"),
    "new budget": (Model(uses=(2, 0), waiting=1, lives=2), "uses are on disk first"),
    "third": (Model(lives=3), "two generations at most"),
    "refused late": (Model(lives=2), "a refused change changes nothing"),
    "memory first": (Model(lives=2), "a failed change changes nothing"),
    "never written": (Model(lives=2), "acknowledged is there"),
    "nothing owed": (Model(lives=2), "nothing revived"),
    "wall clock": (Model(hours=3, behind=1), "nothing revived"),
    "clock anew": (Model(hours=3, behind=1), "time goes on"),
    "time not kept": (Model(hours=3, behind=1), "nothing revived"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_claim_10_whatever_dies_when_a_tokens_promises_hold(name: str) -> None:
    """Each state that can be reached, each step from it."""
    graph = explore(BOUNDS[name])
    print(f"{name}: {len(graph.states)} states, {graph.n_steps()} steps")


@pytest.mark.parametrize("fault", FAULTS)
def test_claim_10_a_fault_of_the_model_is_found(fault: str) -> None:
    """It is the promise that the fault breaks that is named, by a trace."""
    model, promise = FAULTS[fault]
    broken = Model(**{**vars(model), "faults": frozenset([fault])})
    with pytest.raises(ViolationError) as found:
        explore(broken)
    assert found.value.what == promise, found.value


@pytest.fixture
def store() -> Iterator[Path]:
    """Where a store may be made: syncs cost nothing there, for only processes die."""
    folder = Path(tempfile.mkdtemp(prefix="warded-model-", dir="/dev/shm"))
    yield folder / "store"
    shutil.rmtree(folder)


def script(model: Model, graph: Graph) -> Iterator[tuple[str, str | None]]:
    """The lines of all walks, each with what is answered."""
    for number, walk in enumerate(walks(graph)):
        if number % 32 == 31:
            yield "wipe", None  # the trail is read at each start: let it be short
        yield model.words(), f"OK {model.seen(graph.states[0])}"
        for _, edge in walk:
            yield edge.action, f"{edge.outcome} {model.seen(graph.states[edge.to])}"


def feed(player: subprocess.Popen[str], lines: list[str]) -> None:
    """All of them; the answers are read meanwhile."""
    assert player.stdin is not None
    with player.stdin as to:
        to.write("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("name", REPLAYED)
def test_claim_10_the_code_does_as_the_model_says(name: str, store: Path) -> None:
    """Each step of the model on a real store: what is answered, and what is seen."""
    model = REPLAYED[name]
    graph = explore(model, ledger=False)
    lines = list(script(model, graph))
    quick = {"ASAN_OPTIONS": "quarantine_size_mb=1:malloc_context_size=0"}
    with subprocess.Popen(
        [program("token_steps"), store],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **quick},
    ) as player:
        assert player.stdout is not None
        asked = [line for line, _ in lines]
        threading.Thread(target=feed, args=(player, asked), daemon=True).start()
        done: list[str] = []
        for line, answer in lines:
            done = [line] if line.startswith("new") else [*done, line]
            if answer is not None:
                assert player.stdout.readline() == f"{answer}\n", done
    assert player.returncode == 0
    print(
        f"{name}: {graph.n_steps()} steps of {len(graph.states)} states, {len(lines)}"
    )
