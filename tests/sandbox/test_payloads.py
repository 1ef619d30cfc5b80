"""Hostile actions: each is held by the layer that it names, and this proves it."""

from __future__ import annotations

import pytest

from tests.sandbox import counts, layers
from tests.sandbox.bait import Bait
from tests.sandbox.payload import PRELUDE, Payload, load, problems
from tests.support.execd_client import SHARED_BASE, Execd
from tests.support.jobs import CAUSES, ENDED, Done, Jobs

# Beside each attack: writes a file of its own and watches that it stays alone.
NEIGHBOUR = """\
import os, time
open("/work/mine", "w").write("mine")
for _ in range(15):
    time.sleep(0.01)
    assert open("/work/mine").read() == "mine"
    assert os.listdir("/work") == ["mine"]
    assert os.listdir("/tmp") == []
    assert [p for p in os.listdir("/proc") if p.isdigit()] == [str(os.getpid())]
print("untouched")
"""

CASES = load()


def is_hello(done: Done) -> bool:
    return (done.stdout, done.stderr, done.code) == (b"hello\n", b"", 0)


@pytest.mark.parametrize("payload", [p for _, p in CASES], ids=[n for n, _ in CASES])
def test_claim_10_payload_is_held(
    payload: Payload, execd: Execd, jobs: Jobs, bait: Bait
) -> None:
    before = counts.idle(execd.pid, slots=2, uid_base=SHARED_BASE)
    code = payload.code if payload.bare else PRELUDE + payload.code
    attack = jobs.submit(bait.fill(code, execd.pid), **payload.limits)
    jobs.wait_started(attack)
    beside = jobs.submit(NEIGHBOUR)
    done = jobs.wait(attack)
    neighbour = jobs.wait(beside)

    assert done.outcome == ENDED, done.message
    assert problems(payload, done) == [], (done.stdout[-2000:], done.stderr[-2000:])
    assert bait.touched() == []
    assert (neighbour.stdout, neighbour.stderr) == (b"untouched\n", b"")
    if payload.then is not None:
        after = jobs.run(payload.then)
        assert (after.stdout, after.stderr) == (b"clean\n", b"")
    both = [jobs.submit("print('hello')") for _ in range(2)]
    assert all(is_hello(jobs.wait(job)) for job in both)
    counts.back_at(before, execd.pid, slots=2, uid_base=SHARED_BASE)


def test_claim_10_there_are_eighty_payloads_and_each_names_layer_and_proof() -> None:
    assert len(CASES) >= 80
    assert len({name for name, _ in CASES}) == len(CASES)
    known = set(layers.cures())
    known |= {f"limit {cause.lower()}" for cause in CAUSES}
    for name, payload in CASES:
        assert payload.layers, name
        assert set(payload.layers) <= known, (name, payload.layers)
        assert payload.proof, name


def test_claim_10_actions_draw_different_random_numbers(jobs: Jobs) -> None:
    code = "import random, numpy.random; print(random.random(), numpy.random.rand())"
    drawn = {jobs.run(code).stdout for _ in range(3)}
    assert len(drawn) == 3
