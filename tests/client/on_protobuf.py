"""on_protobuf.py PROFILE - what the client needs of protobuf, tried in any interpreter.

Needs `warded` and protobuf to import, and a gate that answers as the one of
test_protobuf_versions.py. Prints which protobuf it found, then the name of each check
that held.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import google.protobuf
import warded
from google.protobuf import json_format, text_format
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError
from warded import v1
from warded.v1 import audit_wd, health_wd, observation_wd, rpc_wd, token_wd

MODULES = (audit_wd, health_wd, observation_wd, rpc_wd, token_wd)
MESSAGE = 11  # FieldDescriptor.CPPTYPE_...
SAMPLES = {1: -7, 2: -7, 3: 7, 4: 7 << 40, 5: 0.5, 6: 0.5, 7: True, 8: 1}


def classes() -> Iterator[Any]:
    """Every message of warded.v1 that stands by itself."""
    for module in MODULES:
        for name in module.DESCRIPTOR.message_types_by_name:
            yield getattr(module, name)


def is_map(field: Any) -> bool:
    """Whether the field is a map."""
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def is_repeated(message: Any, field: Any) -> bool:
    """Whether it is a list; how a descriptor says so differs between releases."""
    return hasattr(getattr(message, field.name), "append")


def sample(field: Any) -> Any:
    """A value that is not the default's."""
    if field.cpp_type in SAMPLES:
        return SAMPLES[field.cpp_type]
    return b"\0\xff" if field.type == field.TYPE_BYTES else "caf\u00e9 \u20ac"


def fill(message: Any) -> Any:
    """Set every field; of a oneof the last one stays."""
    for field in message.DESCRIPTOR.fields:
        into = getattr(message, field.name)
        if is_map(field):
            into["k"] = "v"
        elif field.message_type:
            fill(into.add() if is_repeated(message, field) else into)
        elif is_repeated(message, field):
            into.extend([sample(field), sample(field)])
        else:
            setattr(message, field.name, sample(field))
    return message


def check_every_message_comes_back_from_its_bytes(_: warded.Channel) -> None:
    seen = 0
    for cls in classes():
        full = fill(cls())
        data = full.SerializeToString(deterministic=True)
        assert cls.FromString(data) == full, cls
        assert cls.FromString(b"") == cls(), cls
        assert len(full.ListFields()) > 0 or not cls.DESCRIPTOR.fields, cls
        seen += 1
    assert seen > 40, seen


def check_every_message_is_copied_and_pickled(_: warded.Channel) -> None:
    for cls in classes():
        full = fill(cls())
        twin = pickle.loads(pickle.dumps(full))
        assert type(twin) is cls, cls
        assert twin == full == copy.deepcopy(full), cls
        other = cls()
        other.CopyFrom(full)
        assert other == full, cls
        other.Clear()
        assert other == cls(), cls


def check_text_and_json_come_back(_: warded.Channel) -> None:
    for cls in classes():
        full = fill(cls())
        assert text_format.Parse(text_format.MessageToString(full), cls()) == full, cls
        assert json_format.Parse(json_format.MessageToJson(full), cls()) == full, cls


def check_nested_types_and_enums_have_their_names(_: warded.Channel) -> None:
    result = v1.Result(status=v1.Result.TIMEOUT, exit=v1.Exit(cause=v1.Exit.WALL))
    assert v1.Result.Status.Name(result.status) == "TIMEOUT"
    assert v1.Exit.Cause.Value("WALL") == v1.Exit.WALL == result.exit.cause
    assert v1.Reason.Name(v1.CLOCK_SKEW) == "CLOCK_SKEW"
    nested = v1.HealthCheckReply.FromString(b"\x08\x01")
    assert nested.status == v1.HealthCheckReply.SERVING
    assert pickle.loads(pickle.dumps(result)).status == v1.Result.TIMEOUT


def check_maps_are_dictionaries(_: warded.Channel) -> None:
    request = v1.Request(metadata={"b": "2", "a": "1"})
    request.metadata["c"] = "\u20ac"
    back = v1.Request.FromString(request.SerializeToString())
    assert dict(back.metadata) == {"a": "1", "b": "2", "c": "\u20ac"}
    del back.metadata["a"]
    assert "a" not in back.metadata
    assert len(back.metadata) == 2
    for key, value in ((1, "x"), ("x", 1), ("x", None)):
        refused((TypeError, ValueError), back.metadata.__setitem__, key, value)


def check_a_oneof_holds_one(_: warded.Channel) -> None:
    content = v1.Content(name="x")
    assert content.WhichOneof("kind") is None
    for field in content.DESCRIPTOR.oneofs_by_name["kind"].fields:
        value = sample(field) if not field.message_type else None
        if value is None:
            getattr(content, field.name).SetInParent()
        else:
            setattr(content, field.name, value)
        assert content.WhichOneof("kind") == field.name
        back = v1.Content.FromString(content.SerializeToString())
        assert back.WhichOneof("kind") == field.name
    refused(ValueError, content.WhichOneof, "no_such")


def check_a_oneof_of_one_tells_zero_from_nothing(_: warded.Channel) -> None:
    nothing, zero = v1.Result(), v1.Result(reward=0.0)
    assert not nothing.HasField("reward")
    assert v1.Result.FromString(zero.SerializeToString()).HasField("reward")
    assert nothing != zero


def check_wrong_types_and_names_are_refused(_: warded.Channel) -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {"action": 1},
        {"action": b"\xff"},
        {"stdin": "text"},
        {"no_such_field": 1},
    )
    for fields in wrong:
        refused((TypeError, ValueError), lambda f=fields: v1.Item(**f))
    # Item(limits=Exit()) would end a process with 4.21 by SIGSEGV: mended since
    refused(TypeError, v1.Item().limits.CopyFrom, v1.Exit())
    refused((TypeError, ValueError), lambda: v1.Exit(code=1 << 31))
    refused((TypeError, ValueError), lambda: v1.Timings(run_us=-1))
    refused(AttributeError, setattr, v1.Item(), "no_such_field", 1)


def check_broken_bytes_are_refused(_: warded.Channel) -> None:
    data = fill(v1.GetObservationReply()).SerializeToString()
    whole = 0
    for end in range(len(data)):
        try:
            v1.GetObservationReply.FromString(data[:end])
            whole += 1
        except DecodeError:
            pass
    assert whole == 1, "the empty one alone"
    for bad in (b"\xff", b"\x0b", b"\x0a\xff\xff\xff\xff\x0f"):
        refused(DecodeError, v1.GetObservationReply.FromString, bad)


def check_what_is_unknown_is_kept(_: warded.Channel) -> None:
    later = v1.Exit(code=3).SerializeToString() + b"\xfa\x7f\x05later" + b"\x18\x63"
    got = v1.Exit.FromString(later)
    assert (got.code, got.cause) == (3, 99)
    assert b"later" in got.SerializeToString()


def check_the_envelope_made_by_hand_is_protobufs(_: warded.Channel) -> None:
    from warded._envelope import encode_plain

    for size in (0, 1, 127, 128, 1 << 14, 1 << 21):
        made = encode_plain(b"i" * 16, "/a.B/C", 1500, "t" * 64, b"p" * size)
        read = v1.Request.FromString(made)
        assert (read.version, read.call_id, read.token) == (1, b"i" * 16, "t" * 64)
        assert (read.method, read.timeout_ms) == ("/a.B/C", 1500)
        assert read.payload == b"p" * size


def check_the_reply_read_by_hand_is_protobufs(_: warded.Channel) -> None:
    from warded._envelope import decode_plain

    head = v1.AuditHead(seq=1 << 40, hash=b"h" * 32)
    for size in (0, 1, 127, 128, 1 << 14, 1 << 21):
        sent = v1.Reply(call_id=b"i" * 16, head=head, payload=b"p" * size, now_ms=7)
        read = decode_plain(sent.SerializeToString())
        assert read is not None
        assert (read.call_id, read.now_ms) == (b"i" * 16, 7)
        assert (read.head_seq, read.head_hash) == (1 << 40, b"h" * 32)
        assert read.payload == b"p" * size


def check_stubs_call(channel: warded.Channel) -> None:
    health = v1.HealthStub(channel)
    for size in (0, 1, 1 << 16):
        asked = v1.HealthCheckRequest(padding=bytes(size))
        reply = health.Check(asked, timeout=20, metadata={"run": "7"})
        assert reply.status == v1.HealthCheckReply.SERVING
        assert len(reply.padding) == size
    reply, done = health.Check.with_call(v1.HealthCheckRequest())
    assert done.attempt == 0
    futures = [health.Check.future(v1.HealthCheckRequest()) for _ in range(16)]
    assert all(f.result(20).status == reply.status for f in futures)


def check_items_come_back_in_order(channel: warded.Channel) -> None:
    items = [v1.Item(action=f"print({n})", tool="python_code") for n in range(64)]
    request = v1.GetObservationRequest(items=items)
    reply = v1.ObservationStub(channel).GetObservation(request, timeout=20)
    said = [r.content[0].text for r in reply.results]
    assert said == [i.action for i in items]


def check_a_broken_reply_fails_its_call_alone(channel: warded.Channel) -> None:
    tokens, tools = v1.TokenStub(channel), v1.ObservationStub(channel)
    refused(warded.RpcError, tokens.WhoAmI, v1.WhoAmIRequest(), timeout=20)
    refused(warded.RpcError, tools.ListTools, v1.ListToolsRequest(), timeout=20)
    refused(warded.RpcError, tokens.Issue, v1.IssueRequest(), timeout=20)
    check_stubs_call(channel)


def refused(
    kinds: type[Exception] | tuple[type[Exception], ...],
    do: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> None:
    """It must raise one of these."""
    try:
        got = do(*arguments, **named)
    except kinds:
        return
    raise AssertionError(f"{do} took {arguments} {named}: {got!r}")


CHECKS = {name: f for name, f in globals().items() if name.startswith("check_")}


def main() -> None:
    """Run them all over one channel."""
    implementation = api_implementation.Type()
    print("protobuf", google.protobuf.__version__, implementation, flush=True)
    with warded.connect(sys.argv[1]) as channel:
        for name, check in CHECKS.items():
            check(channel)
            print(name, flush=True)


if __name__ == "__main__":
    main()
