"""What calls take from a token over the door: once each, and never one too many."""

from __future__ import annotations

import random

from warded.v1 import TokenInfo

from tests.support.calls import OBSERVE, batch, reason, results, rows
from tests.support.raw_client import RawClient, call_id
from tests.support.token_scene import GOOD, Scene

USES, KILLS, BURST = 200, 10, 8
CHUNK = USES // 16  # reserved at a time: docs/tokens.md, "Limits"


def observe(raw: RawClient, action: str, once: bytes) -> int:
    request = raw.request(OBSERVE, batch(action), call_id=once)
    return raw.send(request.SerializeToString())


def test_claim_03_a_call_that_is_sent_again_spends_nothing(scene: Scene) -> None:
    made = scene.issue(max_uses=2)
    trainer = scene.home.path / "profile/trainer"
    kept, held = call_id(), call_id()
    with RawClient(trainer, token=made.token) as one, RawClient(trainer) as two:
        two.token = made.token
        for raw in (one, one, two):
            observe(raw, "a", kept)
            assert results(raw.receive()[1]) == ["OK"]
        for raw in (one, two, two):
            observe(raw, "hold", held)
        scene.stub.wait_for(running=1)
        assert scene.show(id=made.info.id).info.uses == 2
        assert scene.who(made.token) == "TOKEN_USES_SPENT"
        scene.stub.do("finish")
        assert [results(raw.receive()[1]) for raw in (one, two, two)] == [["OK"]] * 3
        observe(one, "a", kept)
        assert results(one.receive()[1]) == ["OK"], "what was answered is told again"
        observe(one, "a", call_id())
        assert reason(one.receive()[1]) == "TOKEN_USES_SPENT"
    begun = rows(scene.home, "--event", "call.begin", "--token", made.info.id)
    assert len(begun) == 2


def test_claim_03_so_many_calls_at_once_of_a_token_and_its_children(
    scene: Scene,
) -> None:
    made = scene.issue(concurrency=2, scopes=["observe:*", "token:issue"])
    child = scene.issue(made.token)
    trainer = scene.home.path / "profile/trainer"
    with (
        RawClient(trainer, token=made.token) as one,
        RawClient(trainer, token=child.token) as two,
    ):
        observe(one, "hold", call_id())
        observe(two, "hold", call_id())
        scene.stub.wait_for(running=2)
        assert scene.show(id=made.info.id).info.running == 2
        for token in (made.token, child.token):
            refused = scene.trainer.call(OBSERVE, batch("a"), token=token)
            assert reason(refused) == "QUOTA"
            assert refused.retry_after_ms > 0
            assert made.info.id in refused.message
        scene.stub.do("finish")
        assert results(one.receive()[1]) == results(two.receive()[1]) == ["OK"]
        assert scene.who(child.token) == scene.who(made.token) == GOOD
    assert scene.show(id=made.info.id).info.running == 0


def test_claim_03_a_kill_loses_no_more_than_was_waited_for(scene: Scene) -> None:
    """Of so few uses each is reserved alone: none is left over to be lost."""
    made = scene.issue(max_uses=15)
    for _ in range(4):
        assert scene.who(made.token) == GOOD
    scene.stub.do("kill")
    assert scene.stub.wait_end() == "signal 9"
    scene.stub.close()
    scene.stub.start()
    with RawClient(scene.home.path / "profile/boss") as boss:
        fresh = Scene(scene.home, scene.stub, boss, scene.trainer)
        assert fresh.show(id=made.info.id).info.uses == 4


def test_claim_03_kills_of_the_gate_grant_no_use_too_many(scene: Scene) -> None:
    made = scene.issue(max_uses=USES)
    trainer = scene.home.path / "profile/trainer"
    dice = random.Random(3)
    for _ in range(KILLS):
        with RawClient(trainer, token=made.token) as raw:
            for _ in range(BURST):
                observe(raw, "a", call_id())
            for _ in range(dice.randrange(BURST + 1)):
                assert results(raw.receive()[1]) == ["OK"]
            scene.stub.do("kill")
            assert scene.stub.wait_end() == "signal 9"
        scene.stub.close()
        scene.stub.start()
    with RawClient(trainer, token=made.token) as raw:
        for _ in range(USES + 1):
            observe(raw, "a", call_id())
            if reason(raw.receive()[1]) == "TOKEN_USES_SPENT":
                break
        else:
            raise AssertionError("there is no end")
    begun = rows(scene.home, "--event", "call.begin", "--token", made.info.id)
    assert USES - KILLS * CHUNK <= len(begun) <= USES
    with RawClient(scene.home.path / "profile/boss") as boss:
        fresh = Scene(scene.home, scene.stub, boss, scene.trainer)
        info = fresh.show(id=made.info.id).info
    assert (info.uses, info.state) == (USES, TokenInfo.SPENT)
    scene.home.tokctl("audit", "verify")
