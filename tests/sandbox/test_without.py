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

# Of the first wall that slot_without.c leaves out, the layer that it is of. The second
# one stands behind it: it would hold payloads alone.
LAYER_OF = {
    "capabilities": "capabilities",
    "capabilities+scopes": "capabilities",
    "cgroup_memory": "cgroup-memory",
    "cgroup_ns": "cgroup-namespace",
    "cgroup_pids": "cgroup-pids",
    "core": "rlimits",
    "descriptors": "descriptors",
    "empty_environment": "interpreter",
    "file_limits": "mounts",
    "landlock": "landlock",
    "net_ns": "net-namespace",
    "net_ns+landlock": "net-namespace",
    "net_ns+scopes": "net-namespace",
    "own_root+landlock": "mounts",
    "proc": "proc",
    "proc_limits+landlock": "proc",
    "process_tree": "process-tree",
    "read_only": "mounts",
    "rlimits": "rlimits",
    "seccomp": "seccomp",
}
CASES = [(name, payload) for name, payload in load() if payload.without]


def is_held(payload: Payload, jobs: Jobs, code: str) -> bool:
    done = jobs.run(code, **payload.limits)
    held = done.outcome == ENDED and problems(payload, done) == []
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
    home, secret = write_home(tmp_path / "home", slots=1), {"WARDED_TOKEN": bait.word}
    with Execd(home, programs=where, env=secret) as execd:
        execd.wait_ready()
        jobs = execd.connect()
        jobs.wait_ready()
        for name, payload in mine:
            code = payload.code if payload.bare else PRELUDE + payload.code
            held = is_held(payload, jobs, bait.fill(code, execd.pid))
            assert bait.touched() or not held, name


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


def test_claim_10_under_a_wider_limit_a_payload_gets_further(jobs: Jobs) -> None:
    wider = [(name, payload) for name, payload in load() if payload.wider]
    sent = [
        jobs.submit(
            payload.code if payload.bare else PRELUDE + payload.code,
            **{**payload.limits, **payload.wider},
        )
        for _, payload in wider
    ]
    for (name, payload), job in zip(wider, sent, strict=True):
        done = jobs.wait(job)
        kept = max(len(done.stdout), len(done.stderr))
        assert done.run_us >= payload.wider.get("wall_ms", 0) * 1000, name
        assert kept >= payload.wider.get("output_bytes", 0), name
        assert done.signal == 9, name


def test_claim_10_what_a_payload_is_tried_without_is_the_layer_that_it_names() -> None:
    for name, payload in CASES:
        assert LAYER_OF[payload.without] == payload.layers[0], name
    assert set(LAYER_OF.values()) <= set(layers.cures())
    assert len(CASES) >= 52


def test_claim_10_why_a_payload_is_never_tried_without_its_layer_is_said() -> None:
    for name, payload in load():
        ways = [payload.without, payload.wider, payload.untried]
        assert len([way for way in ways if way]) == 1, name
