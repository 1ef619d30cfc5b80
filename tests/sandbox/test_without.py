"""The layer that a payload names is the one that stops it: without it, it gets away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox import layers
from tests.sandbox.bait import Bait
from tests.sandbox.payload import PRELUDE, Payload, load, problems
from tests.sandbox.test_walls import programs
from tests.support.execd_client import Execd, write_home
from tests.support.jobs import ENDED, Jobs

# Of each wall that slot_without.c leaves out, the layer that it is of.
LAYER_OF = {
    "capabilities": "capabilities",
    "cgroup_ns": "cgroup-namespace",
    "cgroup_pids": "cgroup-pids",
    "core": "rlimits",
    "landlock": "landlock",
    "net_ns": "net-namespace",
    "proc": "proc",
    "process_tree": "process-tree",
    "read_only": "mounts",
    "rlimits": "rlimits",
    "seccomp": "seccomp",
}
CASES = [(name, payload) for name, payload in load() if payload.without]


def is_held(payload: Payload, jobs: Jobs, code: str) -> bool:
    done = jobs.run(code, **payload.limits)
    assert done.outcome == ENDED, done.message
    held = problems(payload, done) == []
    if payload.then is not None:
        held = jobs.run(payload.then).stdout == b"clean\n" and held
    return held


@pytest.mark.parametrize("wall", LAYER_OF)
def test_claim_10_without_the_layer_that_it_names_a_payload_is_not_held(
    wall: str, bait: Bait, tmp_path: Path
) -> None:
    mine = [(name, p) for name, p in CASES if p.without == wall]
    assert mine, "no payload is held by this wall alone"
    where = programs(tmp_path / "bin", wall, spared=True)
    with Execd(write_home(tmp_path / "home", slots=1), programs=where) as execd:
        execd.wait_ready()
        jobs = execd.connect()
        jobs.wait_ready()
        for name, payload in mine:
            code = payload.code if payload.bare else PRELUDE + payload.code
            assert not is_held(payload, jobs, bait.fill(code, execd.pid)), name
    bait.touched()  # what it did reach is no surprise here


def test_claim_10_with_every_layer_the_same_build_holds_one_payload_of_each(
    bait: Bait, tmp_path: Path
) -> None:
    where = programs(tmp_path / "bin", "nothing", spared=True)
    with Execd(write_home(tmp_path / "home", slots=1), programs=where) as execd:
        execd.wait_ready()
        jobs = execd.connect()
        jobs.wait_ready()
        for wall in LAYER_OF:
            key, payload = next(case for case in CASES if case[1].without == wall)
            code = payload.code if payload.bare else PRELUDE + payload.code
            assert is_held(payload, jobs, bait.fill(code, execd.pid)), key
    assert bait.touched() == []


def test_claim_10_what_a_payload_is_tried_without_is_the_layer_that_it_names() -> None:
    for name, payload in CASES:
        assert LAYER_OF[payload.without] == payload.layers[0], name
    assert set(LAYER_OF.values()) <= set(layers.cures())
    assert len(CASES) >= 36
