"""The plugin refuses names, paths and fields that its output could not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen.run_protoc import HEAD, protoc

RULED = "{ option (warded.v1.rule) = {}; }"
TAKEN = {
    **{
        f"message_{name}": (
            f"message {name} {{}} service Shop {{ {rpc} }}",
            [f"{name} {why}", "rename it"],
        )
        for name, why in [
            ("self", "is taken in a stub"),
            ("channel", "is taken in a stub"),
            ("_built", "begins with an underscore"),
            ("_builder", "begins with an underscore"),
            ("_descriptor_pool", "begins with an underscore"),
            ("__Item", "begins with an underscore"),
        ]
        for rpc in [f"rpc Buy({name}) returns (Rep) {RULED}"]
    },
    "unused_message": ("message _built {}", ["_built begins with an underscore"]),
    "enum": ("enum _built { NONE = 0; }", ["_built begins with an underscore"]),
    "value": ("enum Kind { _builder = 0; }", ["_builder begins with an underscore"]),
    "nested_message": (
        "message Outer { message __In {} }"
        f"service Shop {{ rpc Buy(Req) returns (Outer.__In) {RULED} }}",
        ["Shop.Buy: __In begins with an underscore"],
    ),
    **{
        f"method{name}": (
            f"service Shop {{ rpc {name}(Req) returns (Rep) {RULED} }}",
            [f"Shop.{name}: {name} begins with an underscore", "rename it"],
        )
        for name in ["_buy", "__buy", "__class__", "__init__"]
    },
    "optional": (
        "message Outer { message In { optional int32 n = 1; } }",
        ["v1.Outer.In.n is optional", "use a oneof with one member"],
    ),
}


@pytest.mark.parametrize("language", ["c", "c-client", "python"])
@pytest.mark.parametrize("name", TAKEN)
def test_claim_03_names_and_fields_that_generated_code_cannot_have_are_refused(
    name: str, language: str, tmp_path: Path
) -> None:
    text, words = TAKEN[name]
    run = protoc(tmp_path, HEAD + text, options=f"lang={language}")
    assert run.code != 0
    assert "acme/shop/v1/shop.proto: " in run.errors
    assert [w for w in words if w not in run.errors] == []
    assert "Traceback" not in run.errors
    assert run.names == set()


@pytest.mark.parametrize("size", [254, 255, 256])
def test_claim_03_a_path_longer_than_a_call_can_say_is_refused(
    size: int, tmp_path: Path
) -> None:
    method = "B" * (size - len("/acme.shop.v1.Shop/"))
    rpc = f"rpc {method}(Req) returns (Rep) {RULED}"
    run = protoc(tmp_path, HEAD + f"service Shop {{ {rpc} }}")
    assert (run.code != 0) == (size > 255)
    assert ("is 256 bytes long: at most 255" in run.errors) == (size > 255)


def test_claim_03_a_oneof_with_one_member_is_the_cure_for_optional(
    tmp_path: Path,
) -> None:
    text = HEAD + "message Item { oneof has_n { int32 n = 1; } }"
    assert protoc(tmp_path, text).code == 0
