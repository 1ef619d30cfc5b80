"""Names of gates as curl/curl#959 has them: what a certificate says, what is dialled.

A gate's endpoints are a fact of its own in the certificate: neither DNS names nor
common names count. docs/testing.md, "Failures that were reported elsewhere".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import v1

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate
from tests.client.test_host import with_facts

Meet = Callable[..., tuple[FakeGate, Path]]

# What the certificate says, what is expected of it, and whether it is so. The
# certificate's DNS name is localhost, its common name `leaf`: they count for nothing.
CASES = [
    ("127.0.0.1", "127.0.0.1", True),
    ("localhost", "127.0.0.1", False),
    ("127.0.0.1", "localhost", False),
    ("127.0.0.1", "leaf", False),
    ("gate.example.test 127.0.0.1", "127.0.0.1", True),
    ("gate.example.test 127.0.0.1", "gate.example.test", True),
    ("::1", "[::1]", True),
    ("[::1]", "[0:0::1]", True),
    ("127.0.0.1", "[::ffff:127.0.0.1]", False),
    ("*.example.test", "a.example.test", False),
    ("*.example.test", "a.b.example.test", False),
    ("*.example.test", "example.test", False),
    ("GATE.Example.test", "gate.example.TEST", True),
    ("gate.example.test.", "gate.example.test", True),
    ("gate.example.test", "gate.example.test.", True),
    ("127.0.0.1.", "127.0.0.1", True),
    ("127.1", "127.0.0.1", False),
    ("0177.0.0.1", "127.0.0.1", False),
]


@pytest.mark.parametrize(("fact", "wanted", "passes"), CASES)
def test_a_gate_is_what_its_endpoints_say_by_both_stubs_alike(
    meet: Meet, fact: str, wanted: str, passes: bool
) -> None:
    gate, profile = meet(with_facts(endpoint=fact))
    (profile / "server").write_text(f"127.0.0.1:{gate.port} as {wanted}:{gate.port}\n")
    with calling(profile) as caller:
        by_c = caller.check()
    said = "ok"
    try:
        with warded.connect(profile) as channel:
            v1.HealthStub(channel).Check(v1.HealthCheckRequest(), timeout=10)
    except warded.RpcError as error:
        assert error.reason is not None
        said = error.reason.name
        assert fact in error.details() or "endpoint" in error.details()
    assert (by_c.reason == "ok", said == "ok") == (passes, passes), (by_c, said)
    if not passes:
        assert by_c.reason == said == "HOST_NOT_ADOPTED", (by_c, said)
        assert fact in by_c.message, "what the certificate offers is told"
