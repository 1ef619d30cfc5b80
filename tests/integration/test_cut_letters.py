"""Letters of several bytes in every text of every request, where a bound cuts: what is
answered is text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import warded.v1
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from warded.v1 import CheckReply, CheckRequest, WhoAmIRequest

from tests.conftest import NewHome
from tests.support.raw_client import RawClient
from tests.support.stub_gate import StubGate

FILES = ("audit", "health", "observation", "token")
INTERNAL = 13
CHECK = "/warded.v1.Token/Check"
# Each bound falls into a letter for one of these shifts.
TEXTS = [
    "x" * shift + letter * 300 for letter in ("é", "€", "😀") for shift in range(4)
]


@pytest.fixture
def raw(new_home: NewHome) -> Iterator[RawClient]:
    """An admin's connection to a gate that runs nothing."""
    home = new_home()
    with StubGate(home), RawClient(home.path / "profile/admin") as client:
        yield client


def methods() -> list[MethodDescriptor]:
    """Of all services."""
    pool = WhoAmIRequest.DESCRIPTOR.file.pool
    files = [pool.FindFileByName(f"warded/v1/{name}.proto") for name in FILES]
    services = [s for file in files for s in file.services_by_name.values()]
    return [method for service in services for method in service.methods]


def expect_text(raw: RawClient, method: MethodDescriptor, payload: bytes) -> None:
    """The reply and what is in it are messages, and so UTF-8."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    reply = raw.call(path, payload)
    assert reply.code != INTERNAL, reply.message
    if reply.code == 0:
        getattr(warded.v1, method.output_type.name).FromString(reply.payload)


def test_claim_01_a_cut_letter_in_any_field_leaves_the_reply_text(
    raw: RawClient,
) -> None:
    asked = 0
    for method in methods():
        made = getattr(warded.v1, method.input_type.name)
        for field in method.input_type.fields:
            if field.type != FieldDescriptor.TYPE_STRING:
                continue
            for text in TEXTS:
                several = not isinstance(getattr(made(), field.name), str)
                request = made(**{field.name: [text] if several else text})
                expect_text(raw, method, request.SerializeToString())
                asked += 1
    assert asked > 20 * len(TEXTS)


def test_claim_01_a_check_of_letters_says_why_in_text(raw: RawClient) -> None:
    for text in TEXTS:
        reply = raw.call(CHECK, CheckRequest(method=text).SerializeToString())
        assert reply.code == 0, reply.message
        told = CheckReply.FromString(reply.payload)
        assert not told.allowed
        assert told.message.startswith("there is no method ")
