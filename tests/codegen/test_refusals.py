"""The plugin refuses what could not be served safely, and says what to do instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.codegen.run_protoc import HEAD, PLUGIN, protoc


def by_hand(
    *words: str, python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """The plugin without protoc, its input empty."""
    return subprocess.run(
        [*python, PLUGIN, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


NO_PROTOBUF = (sys.executable, "-I", "-S")  # no site-packages: a Python as it comes


@pytest.mark.parametrize("python", [(), NO_PROTOBUF], ids=["debian", "no protobuf"])
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_claim_03_help_teaches_with_and_without_protobuf(
    word: str, python: tuple[str, ...]
) -> None:
    done = by_hand(word, python=python)
    assert (done.returncode, done.stderr) == (0, "")
    assert "protoc --plugin=protoc-gen-warded --warded_out=DIR" in done.stdout
    assert "warded/v1/options.proto" in done.stdout


def test_claim_03_without_protobuf_the_cure_is_named_and_no_traceback() -> None:
    done = by_hand(python=NO_PROTOBUF)
    assert done.returncode != 0
    assert "install python3-protobuf" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_claim_03_other_words_are_refused_and_help_is_named() -> None:
    done = by_hand("--frob")
    assert done.returncode != 0
    assert "--help" in done.stderr


def service(method: str, rule: str | None) -> str:
    """A file with one service of one method."""
    option = f"option (warded.v1.rule) = {{ {rule} }};" if rule is not None else ""
    return f"{HEAD}service Shop {{ rpc {method} {{ {option} }} }}\n"


UNARY = "Buy(Req) returns (Rep)"

REFUSED = {
    "no_rule": (service(UNARY, None), ["Shop.Buy", "no rule", "options.proto"]),
    "mutates_unaudited": (
        service(UNARY, "mutates: true audited: false"),
        ["Shop.Buy", "mutates", "audited: false", "on record"],
    ),
    "client_streams": (
        service("Buy(stream Req) returns (Rep)", 'scope: "shop:buy"'),
        ["Shop.Buy", "streams its request", "repeated"],
    ),
    "server_streams": (
        service("Buy(Req) returns (stream Rep)", 'scope: "shop:buy"'),
        ["Shop.Buy", "streams its reply", "not_built"],
    ),
    "keyword": (
        service("Register(Req) returns (Rep)", ""),
        ["Shop.Register", "register", "taken in C"],
    ),
    "self": (service("Self(Req) returns (Rep)", ""), ["Shop.Self", "taken in C"]),
    "python_keyword": (
        HEAD + "message None {} service Shop { rpc lambda(None) returns (Rep)"
        "{ option (warded.v1.rule) = {}; } }",
        ["lambda is a keyword of Python", "None is a keyword of Python"],
    ),
    "long_scope": (
        service(UNARY, f'scope: "shop:{"x" * 124}"'),
        ["129 bytes", "at most 128"],
    ),
    "same_name_in_c": (
        HEAD + "service Shop {"
        "rpc GetIt(Req) returns (Rep) { option (warded.v1.rule) = {}; }"
        "rpc Get_it(Req) returns (Rep) { option (warded.v1.rule) = {}; } }",
        ["GetIt and Get_it", "get_it", "rename"],
    ),
    "recursive": (
        HEAD + "message Tree { map<string, Branch> branches = 1; }"
        "message Branch { Tree tree = 1; }"
        "service Shop { rpc Grow(Tree) returns (Rep)"
        "{ option (warded.v1.rule) = {}; } }",
        ["Shop.Grow", "recursive", "acme.shop.v1.Tree > ", "no bound"],
    ),
    "recursive_of_google": (
        'syntax = "proto3"; package acme.shop.v1;'
        'import "warded/v1/options.proto"; import "google/protobuf/struct.proto";'
        "service Shop { rpc Grow(google.protobuf.Struct) returns"
        "(google.protobuf.Struct) { option (warded.v1.rule) = {}; } }",
        ["google.protobuf.Struct is recursive"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_plugin_refuses_and_says_why(name: str, tmp_path: Path) -> None:
    text, words = REFUSED[name]
    run = protoc(tmp_path, text)
    assert run.code != 0
    assert "acme/shop/v1/shop.proto: acme.shop.v1." in run.errors
    assert "Traceback" not in run.errors
    assert [w for w in words if w not in run.errors] == []
    assert run.names == set()


BAD_SCOPES = [
    "shop",
    "shop:",
    ":buy",
    "Shop:buy",
    "shop:buy:it",
    "shop:a b",
    "shop:**/a",
]
BAD_SCOPES += [
    "shop:a//b",
    "shop:/a",
    "shop:a/",
    "shop:{Tool}",
    "shop:x{tool}",
    "shop:a*",
]


@pytest.mark.parametrize("scope", BAD_SCOPES)
def test_plugin_refuses_a_scope_of_bad_form(scope: str, tmp_path: Path) -> None:
    run = protoc(tmp_path, service(UNARY, f'scope: "{scope}"'))
    assert run.code != 0
    assert f'scope "{scope}" is not of the form area:object' in run.errors


GOOD_SCOPES = ["shop:buy", "shop:*", "shop:**", "shop:a/b", "shop:a/*", "shop:a/**"]
GOOD_SCOPES += ["shop:{text}", "shop-2_x:A.b-c_9", ""]


@pytest.mark.parametrize("scope", GOOD_SCOPES)
def test_plugin_takes_a_scope_of_good_form(scope: str, tmp_path: Path) -> None:
    run = protoc(tmp_path, service(UNARY, f'scope: "{scope}"'), options="lang=c")
    assert run.errors == ""
    assert f'.scope = "{scope}"' in run.read("acme/shop/v1/shop.wd.c")


def test_a_grant_is_a_scope_of_good_form_beside_another(tmp_path: Path) -> None:
    rule = 'scope: "shop:buy" grant: "cart:{text}"'
    run = protoc(tmp_path / "good", service(UNARY, rule), options="lang=c")
    assert run.errors == ""
    assert '.grant = "cart:{text}"' in run.read("acme/shop/v1/shop.wd.c")
    for number, (bad, words) in enumerate(
        {
            'grant: "cart:one"': "beside no scope",
            'scope: "shop:buy" grant: "cart"': "is not of the form area:object",
            'scope: "shop:buy" grant: "cart:{no}"': "names no field",
        }.items()
    ):
        run = protoc(tmp_path / f"{number}", service(UNARY, bad))
        assert run.code != 0
        assert words in run.errors


SAY = "rpc Say(Req) returns (Rep) { option (warded.v1.rule) = {}; }"
ONE_NAME_FOR_TWO = {
    "service_structure": (
        f"service Echo {{}} service EchoService {{ {SAY} }}",
        ["v1.Echo and acme.shop.v1.EchoService", "wd_acme_shop_v1_echo_service in C"],
    ),
    "method_table": (
        "service EchoMethods {} service Echo {}",
        ["v1.EchoMethods and acme.shop.v1.Echo", "wd_acme_shop_v1_echo_methods in C"],
    ),
    "service_itself": (
        "service GetIt {} service Get_it {}",
        ["v1.GetIt and acme.shop.v1.Get_it", "wd_acme_shop_v1_get_it in C"],
    ),
    "reply": (
        f"service Echo {{ {SAY} }} service EchoReplySay {{}}",
        ["v1.Echo and acme.shop.v1.EchoReplySay", "v1_echo_reply_say in C"],
    ),
    "stub_and_message": (
        "message EchoStub {} service Echo {}",
        ["v1.Echo: its stub is EchoStub in Python, as the message EchoStub is"],
    ),
    "stub_and_enum": (
        "enum EchoStub { NOTHING = 0; } service Echo {}",
        ["v1.Echo: its stub is EchoStub in Python, as the enum EchoStub is"],
    ),
    "stub_and_value": (
        "enum Sound { EchoStub = 0; } service Echo {}",
        ["as the value of enum Sound, EchoStub is"],
    ),
}


@pytest.mark.parametrize("name", ONE_NAME_FOR_TWO)
def test_claim_03_one_generated_name_for_two_things_is_refused(
    name: str, tmp_path: Path
) -> None:
    text, words = ONE_NAME_FOR_TWO[name]
    run = protoc(tmp_path, HEAD + text)
    assert run.code != 0
    assert "acme/shop/v1/shop.proto: acme.shop.v1." in run.errors
    assert "rename one" in run.errors
    assert [w for w in words if w not in run.errors] == []
    assert run.names == set()


def test_claim_03_services_with_names_of_their_own_pass(tmp_path: Path) -> None:
    text = HEAD + "message EchoStubs {} service Echo {} service EchoServices {}"
    assert protoc(tmp_path, text).code == 0


OBJECTS = """
message Item { string name = 1; }
message Batch { repeated Item items = 1; map<string, Item> more = 2; }
"""


@pytest.mark.parametrize(
    ("request_", "field", "known"),
    [
        ("Req", "name", "text"),
        ("Item", "Name", ""),
        ("Item", "names", "name"),
        ("Batch", "text", "items, key, more, name, value"),
    ],
)
def test_claim_03_a_scope_that_names_no_field_is_refused(
    request_: str, field: str, known: str, tmp_path: Path
) -> None:
    rule = f'scope: "keeper:{{{field}}}"'
    run = protoc(tmp_path, service(f"Keep({request_}) returns (Rep)", rule) + OBJECTS)
    assert run.code != 0
    assert f'Shop.Keep: scope "keeper:{{{field}}}"' in run.errors
    want = f"names no field of acme.shop.v1.{request_} " if known else "not of the form"
    assert want in run.errors
    assert f"which have {known}:" in run.errors or not known


@pytest.mark.parametrize(
    ("request_", "field"),
    [("Item", "name"), ("Batch", "name"), ("Batch", "items"), ("Rep", "any")],
)
def test_claim_03_a_scope_names_a_field_at_any_depth(
    request_: str, field: str, tmp_path: Path
) -> None:
    rule = f'scope: "keeper:{{{field}}}"'
    run = protoc(tmp_path, service(f"Keep({request_}) returns (Rep)", rule) + OBJECTS)
    assert run.errors == ""


def test_plugin_lists_every_fault_at_once(tmp_path: Path) -> None:
    text = HEAD + "service Shop { rpc A(Req) returns (Rep); rpc B(Req) returns (Rep); }"
    run = protoc(tmp_path, text)
    assert "Shop.A: states no rule" in run.errors
    assert "Shop.B: states no rule" in run.errors


def test_a_file_that_does_not_import_options_has_no_rules(tmp_path: Path) -> None:
    text = 'syntax = "proto3"; package acme.shop.v1; message Req {}'
    run = protoc(tmp_path, text + " service Shop { rpc Buy(Req) returns (Req); }")
    assert run.code != 0
    assert "import warded/v1/options.proto" in run.errors


def test_plugin_refuses_an_unknown_option(tmp_path: Path) -> None:
    run = protoc(tmp_path, HEAD, options="lang=rust")
    assert run.code != 0
    assert (
        'option "lang=rust" is unknown: say lang=c, lang=c-client or lang=python'
        in run.errors
    )
