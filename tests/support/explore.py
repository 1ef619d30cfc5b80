"""All states of the model of tokens, and walks over all its steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.token_claims import INVARIANTS, STEPS
from tests.support.token_model import Model
from tests.support.token_state import State, Step


class Edge(NamedTuple):
    """A step: what is done and answered, and the number of the state after it."""

    action: str
    outcome: str
    to: int


class Graph(NamedTuple):
    """States in the order in which they were found: shortest ways first."""

    states: list[State]
    edges: list[list[Edge]]
    came: list[tuple[int, Edge] | None]

    def way(self, to: int) -> list[Edge]:
        """The steps that lead there, from the first state on."""
        steps = []
        while (came := self.came[to]) is not None:
            to, edge = came
            steps.append(edge)
        return steps[::-1]

    def n_steps(self) -> int:
        """Of all steps."""
        return sum(map(len, self.edges))


class ViolationError(Exception):
    """Something that must hold does not: what, and the steps that lead there."""

    def __init__(self, what: str, way: list[Edge]) -> None:
        self.what = what
        steps = "".join(f"\n    {edge.action:10} {edge.outcome}" for edge in way)
        super().__init__(f"{what}:{steps}")


def explore(model: Model, *, ledger: bool = True) -> Graph:
    """Breadth first, until nothing new is found. Raises ViolationError.

    Without the ledger two states are one that no code could tell from each other: for
    walks, not for proofs.
    """
    first = model.first()
    known = {first: 0}
    graph = Graph([first], [], [None])
    for number, state in enumerate(graph.states):  # grows meanwhile
        edges: list[Edge] = []
        graph.edges.append(edges)
        for step in model.steps(state):
            after = step.after
            if not ledger:
                after = after._replace(ledger=first.ledger)
            at = known.setdefault(after, len(graph.states))
            edge = Edge(step.action, step.outcome, at)
            edges.append(edge)
            new = at == len(graph.states)
            if new:
                graph.states.append(after)
                graph.came.append((number, edge))
            broken = _broken(model, state, step, new=new) if ledger else []
            if broken:
                raise ViolationError(broken[0], [*graph.way(number), edge])
    return graph


def _broken(model: Model, before: State, step: Step, *, new: bool) -> list[str]:
    broken = [what for what, holds in STEPS.items() if not holds(model, before, step)]
    if new:
        broken += [
            what for what, is_ in INVARIANTS.items() if not is_(model, step.after)
        ]
    return broken


def walks(graph: Graph) -> Iterator[list[tuple[int, Edge]]]:
    """Walks from the first state that take each step at least once: (from, step).

    None ends in the middle of a change.
    """
    left = [list(edges) for edges in graph.edges]
    while any(left):
        walk: list[tuple[int, Edge]] = []
        at = 0
        while (way := _to_next(graph, left, at)) is not None:
            walk += way
            at = way[-1][1].to
            left[way[-1][0]].remove(way[-1][1])
        if graph.states[at].work:
            walk.append((at, next(e for e in graph.edges[at] if e.action == "die")))
        yield walk


def _to_next(
    graph: Graph, left: list[list[Edge]], start: int
) -> list[tuple[int, Edge]] | None:
    """The shortest way to a step that nobody has taken yet, and that step."""
    came: dict[int, tuple[int, Edge] | None] = {start: None}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        if left[at]:
            way = [(at, left[at][0])]
            while (before := came[at]) is not None:
                way.append(before)
                at = before[0]
            return way[::-1]
        for edge in graph.edges[at]:
            if edge.to not in came:
                came[edge.to] = (at, edge)
                queue.append(edge.to)
    return None
