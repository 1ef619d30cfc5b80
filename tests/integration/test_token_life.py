"""A token's life over the door: renewed, rotated, retired, wrapped, spent."""

from __future__ import annotations

import json

from warded.v1 import (
    CheckRequest,
    IssueRequest,
    ListRequest,
    RenewReply,
    RenewRequest,
    RetireReply,
    RetireRequest,
    RotateReply,
    RotateRequest,
    ShowRequest,
    TokenInfo,
    TokenRate,
    UnwrapReply,
    UnwrapRequest,
    WhoAmIReply,
)

from tests.support.calls import WHO, reason, rows
from tests.support.raw_client import RawClient
from tests.support.token_scene import (
    GOOD,
    HOUR_MS,
    MINUTE_MS,
    TRAINER,
    Scene,
)


def test_claim_01_show_tells_the_old_secrets_last_use_and_peer_and_retire_ends_it(
    scene: Scene,
) -> None:
    old = scene.issue()
    new = scene.rotate(id=old.info.id)
    assert (new.info.family, new.info.generation) == (old.info.id, 2)
    assert new.old.state == TokenInfo.RETIRING
    assert new.old.successor == new.info.id
    assert scene.who(old.token) == scene.who(new.token) == GOOD
    shown = scene.show(id=new.info.id)
    first, second = shown.generations
    assert (first.id, second.id) == (old.info.id, new.info.id)
    assert first.last_used_ms > 0
    assert first.last_peer == TRAINER.removeprefix("uri:")
    assert first.last_address.startswith("127.0.0.1:")
    assert reason(scene.call("Rotate", RotateRequest(id=old.info.id))) == "CONFLICT"
    done: RetireReply = scene.get(
        "Retire", RetireReply.FromString, RetireRequest(id=new.info.id)
    )
    assert (done.old.id, done.old.state) == (old.info.id, TokenInfo.RETIRED)
    assert done.old.last_used_ms >= first.last_used_ms
    assert reason(scene.call("Retire", RetireRequest(id=new.info.id))) == "CONFLICT"
    assert scene.who(old.token) == "TOKEN_RETIRED"
    assert scene.who(new.token) == GOOD
    (reuse,) = rows(scene.home, "--event", "token.reuse_after_retire")
    assert json.loads(reuse)["token_id"] == old.info.id
    assert json.loads(reuse)["reason"] == "TOKEN_RETIRED"
    scene.home.tokctl("audit", "verify")


def test_claim_01_the_first_use_of_the_new_one_can_end_the_overlap(
    scene: Scene,
) -> None:
    old = scene.issue()
    new = scene.rotate(id=old.info.id, retire_on_first_use=True)
    assert scene.who(old.token) == GOOD
    assert scene.who(new.token) == GOOD
    assert scene.who(old.token) == "TOKEN_RETIRED"
    (row,) = rows(scene.home, "--event", "token.retire")
    assert json.loads(json.loads(row)["detail"])["why"] == "first_use"
    scene.stub.close()
    scene.stub.start()
    with RawClient(scene.home.path / "profile/trainer") as again:
        assert reason(again.call(WHO, token=old.token)) == "TOKEN_RETIRED"


def test_claim_01_a_data_token_renews_itself_and_never_beyond_its_bounds(
    scene: Scene,
) -> None:
    made = scene.issue(ttl_ms=HOUR_MS, renewable_ms=2 * HOUR_MS)
    longer: RenewReply = scene.get(
        "Renew", RenewReply.FromString, RenewRequest(ttl_ms=HOUR_MS), made.token
    )
    assert longer.info.expires_ms > made.info.expires_ms
    over = scene.call("Renew", RenewRequest(ttl_ms=3 * HOUR_MS), made.token)
    assert reason(over) == "FIELD_INVALID"
    assert str(made.info.renewable_until_ms) in over.message
    wide = scene.issue(ttl_ms=HOUR_MS)
    parent_ends = scene.show().info.expires_ms
    beyond = scene.call("Renew", RenewRequest(ttl_ms=5 * HOUR_MS), wide.token)
    assert reason(beyond) == "FIELD_INVALID"
    assert str(parent_ends) in beyond.message
    for other in (wide.info.id, scene.boss.token[5:15], "0123456789"):
        refused = scene.call("Renew", RenewRequest(id=other), made.token)
        assert reason(refused) == "SCOPE_MISSING"
    assert reason(scene.call("Renew", RenewRequest(id="0123456789"))) == (
        "TOKEN_ID_UNKNOWN"
    )
    admin = scene.issue(kind="admin", scopes=["observe:python_code"])
    assert reason(scene.call("Renew", RenewRequest(), admin.token)) == "SCOPE_MISSING"


def test_a_token_may_do_nothing_else_to_itself_or_others(scene: Scene) -> None:
    made = scene.issue()
    other = scene.issue()
    for name, request in (
        ("Retire", RetireRequest(id=made.info.id)),
        ("List", ListRequest()),
        ("Issue", IssueRequest(name="x", scopes=["observe:python_code"])),
    ):
        assert reason(scene.call(name, request, made.token)) in (
            "SCOPE_MISSING",
            "METHOD_UNKNOWN",
        )
    for name, request in (
        ("Rotate", RotateRequest(id=other.info.id)),
        ("Show", ShowRequest(id=other.info.id)),
        ("Check", CheckRequest(id=other.info.id)),
    ):
        assert reason(scene.call(name, request, made.token)) == "SCOPE_MISSING"
    assert scene.call("Show", ShowRequest(), made.token).code == 0
    assert scene.call("Check", CheckRequest(), made.token).code == 0
    rotated: RotateReply = scene.get(
        "Rotate", RotateReply.FromString, RotateRequest(), made.token
    )
    assert rotated.info.renewable_until_ms == made.info.renewable_until_ms
    again = scene.call("Rotate", RotateRequest(force=True), made.token)
    assert reason(again) == "CONFLICT", "the old one starts no new line"


def test_who_rotates_gets_no_more_than_they_hold(scene: Scene) -> None:
    rotator = scene.issue(scopes=["token:rotate", "observe:sql"])
    wide = scene.issue(scopes=["observe:*"])
    same = scene.issue(scopes=["observe:sql"])
    refused = scene.call("Rotate", RotateRequest(id=wide.info.id), rotator.token)
    assert reason(refused) == "SCOPE_MISSING"
    assert "observe:*" in refused.message
    assert scene.call("Rotate", RotateRequest(id=same.info.id), rotator.token).code == 0


def test_claim_03_a_wrap_opens_once_for_its_own_client(scene: Scene) -> None:
    wrap = scene.issue(wrap_ttl_ms=MINUTE_MS)
    assert (wrap.info.kind, wrap.info.wraps) == ("wrap", "data")
    assert scene.who(wrap.token) in ("METHOD_UNKNOWN", "SCOPE_MISSING")
    stolen = scene.boss.call("/warded.v1.Token/Unwrap", b"", token=wrap.token)
    assert reason(stolen) == "TOKEN_NOT_YOURS"
    inner: UnwrapReply = scene.get(
        "Unwrap", UnwrapReply.FromString, UnwrapRequest(), wrap.token
    )
    assert inner.info.family == wrap.info.id
    assert scene.who(inner.token) == GOOD
    assert reason(scene.call("Unwrap", UnwrapRequest(), wrap.token)) == "TOKEN_RETIRED"
    assert scene.who(inner.token) == "TOKEN_REVOKED"
    (row,) = rows(scene.home, "--event", "token.wrap_reuse")
    assert json.loads(row)["token_id"] == wrap.info.id
    shown = scene.show(id=wrap.info.id)
    assert shown.info.unwrapped == inner.info.id
    assert shown.generations[1].revoked_reason == "its wrap was opened twice"
    plain = scene.call("Unwrap", UnwrapRequest(), scene.issue().token)
    assert reason(plain) == "FIELD_INVALID"
    scene.home.tokctl("audit", "verify")


def test_claim_03_uses_rate_and_concurrency_are_the_familys_and_its_childrens(
    scene: Scene,
) -> None:
    few = scene.issue(max_uses=3, scopes=["observe:*", "token:issue"])
    child = scene.issue(few.token)
    assert scene.who(child.token) == GOOD
    assert scene.who(few.token) == GOOD
    for token in (few.token, child.token):
        assert scene.who(token) == "TOKEN_USES_SPENT"
    info = scene.show(id=few.info.id).info
    assert (info.uses, info.max_uses, info.state) == (3, 3, TokenInfo.SPENT)
    slow = scene.issue(rate=TokenRate(calls=2, per_ms=HOUR_MS))
    assert [scene.who(slow.token) for _ in range(3)] == [
        GOOD,
        GOOD,
        "QUOTA",
    ]
    refused = scene.trainer.call(WHO, token=slow.token)
    assert HOUR_MS / 3 < refused.retry_after_ms <= HOUR_MS / 2
    turned = scene.rotate(id=slow.info.id)
    assert scene.who(turned.token) == "QUOTA", "a new secret is no new budget"


def test_claim_03_key_and_cert_bind_to_what_the_client_has(scene: Scene) -> None:
    mine = WhoAmIReply.FromString(scene.trainer.call(WHO).payload)
    for bind in (
        f"key:{mine.key_sha256.hex()}",
        f"cert:{mine.certificate_sha256.hex()}",
    ):
        made = scene.issue(bind=bind)
        assert scene.who(made.token) == GOOD
        other = scene.boss.call(WHO, token=made.token)
        assert reason(other) == "TOKEN_NOT_YOURS"
        shown = scene.show(id=made.info.id).info
        assert shown.last_peer == TRAINER.removeprefix("uri:")
    free = scene.issue(bind="unbound", allow_unbound=True)
    assert scene.boss.call(WHO, token=free.token).code == 0
