"""What the plugin writes: files, tables, messages that any protobuf runtime builds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.codegen.run_protoc import HEAD, ROOT, Run, protoc, protoc_of

ECHO = ROOT / "tests/support/acme/echo/v1/echo.proto"
ECHO_NAME = "acme/echo/v1/echo.proto"
OPTIONS = ROOT / "proto/warded/v1/options.proto"


@pytest.fixture
def echo(tmp_path: Path) -> Run:
    """Both languages of the echo service, with the options module beside it."""
    protoc(
        tmp_path / "options",
        OPTIONS.read_text(),
        name="warded/v1/options.proto",
        options="lang=python",
    )
    run = protoc(tmp_path / "echo", ECHO.read_text(), name=ECHO_NAME)
    assert run.errors == ""
    return run


def python(run: Run, program: str, runtime: str = "") -> str:
    """Run `program` where the generated modules can be imported."""
    folders = [run.folder, run.folder.parents[1] / "options/out"]
    env = {"PYTHONPATH": ":".join(map(str, folders)), "PATH": "/usr/bin"}
    if runtime:
        env["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = runtime
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.strip()


def test_both_languages_are_written_where_protoc_c_writes(echo: Run) -> None:
    base = "acme/echo/v1/echo"
    assert echo.names == {f"{base}.wd.c", f"{base}.wd.h", f"{base}_wd.py"}


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("c", {"acme/shop/v1/shop.wd.c", "acme/shop/v1/shop.wd.h"}),
        ("python", {"acme/shop/v1/shop_wd.py"}),
    ],
)
def test_one_language_is_written_alone(
    language: str, names: set[str], tmp_path: Path
) -> None:
    text = HEAD + "service Shop {}"
    assert protoc(tmp_path, text, options=f"lang={language}").names == names


def test_a_file_without_services_has_messages_only(tmp_path: Path) -> None:
    run = protoc(tmp_path, HEAD)
    assert run.names == {"acme/shop/v1/shop_wd.py"}
    assert "Stub" not in run.read("acme/shop/v1/shop_wd.py")


def test_comments_of_the_schema_stay_comments(echo: Run) -> None:
    header = echo.read("acme/echo/v1/echo.wd.h")
    assert 'the comment may even hold * / and "quotes"' in header
    assert "# Needs a scope of the service's own making." in echo.read(
        "acme/echo/v1/echo_wd.py"
    )


PUBLIC = {
    "acme/base/inner.proto": 'syntax = "proto3"; package acme.base;'
    "message Tag { string name = 1; }",
    "acme/base/middle.proto": 'syntax = "proto3"; package acme.base;'
    'import public "acme/base/inner.proto";',
    "acme/base/pub.proto": 'syntax = "proto3"; package acme.base;'
    'import public "acme/base/middle.proto";',
    "acme/zoo/zoo.proto": 'syntax = "proto3"; package acme.zoo;'
    'import "acme/base/pub.proto"; import "warded/v1/options.proto";'
    "service Zoo { rpc Feed(acme.base.Tag) returns (acme.base.Tag)"
    "{ option (warded.v1.rule) = {}; } }",
}


def test_claim_03_types_of_public_imports_are_found(tmp_path: Path) -> None:
    """Zoo names a Tag that reaches it through two files' `import public`."""
    texts = PUBLIC | {"warded/v1/options.proto": OPTIONS.read_text()}
    for name, text in texts.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")
    run = protoc_of(tmp_path, *texts, options="lang=python")
    assert run.errors == ""
    program = """
from acme.base import inner_wd
from acme.zoo import zoo_wd
class Channel:
    def unary_unary(self, *method):
        return method
assert zoo_wd.ZooStub(Channel()).Feed[1:] == (inner_wd.Tag, inner_wd.Tag)
print("good")
"""
    done = python(run, program)
    assert done == "good"


def test_what_is_not_built_has_no_handler(echo: Run) -> None:
    assert "(*say)" in echo.read("acme/echo/v1/echo.wd.h")
    assert "listen" not in echo.read("acme/echo/v1/echo.wd.h")
    assert '.path = "/acme.echo.v1.Echo/Listen"' in echo.read("acme/echo/v1/echo.wd.c")


USE_MESSAGES = """
import pickle
from acme.echo.v1 import echo_wd as echo
req = echo.SayRequest(
    text="h\\u00e9", loudness=echo.LOUD, moods=[echo.SayRequest.Mood(name="m")],
    labels={"k": "v"})
assert echo.SayRequest.FromString(req.SerializeToString()) == req
assert pickle.loads(pickle.dumps(req)) == req
assert pickle.loads(pickle.dumps(req.moods[0])).name == "m"
assert echo.Loudness.Name(1) == "LOUD"
assert type(req).__module__ == "acme.echo.v1.echo_wd"
class Channel:
    def unary_unary(self, *method):
        return method
    unary_stream = unary_unary
stub = echo.EchoStub(Channel())
assert stub.Say == ("/acme.echo.v1.Echo/Say", echo.SayRequest, echo.SayReply)
assert stub.Whisper[1] is echo.SayRequest.Mood
assert stub.Listen[1].DESCRIPTOR.full_name == "google.protobuf.Empty"
print("good")
"""


@pytest.mark.parametrize("runtime", ["", "python"])
def test_messages_and_stubs_work_in_each_protobuf_runtime(
    echo: Run, runtime: str
) -> None:
    assert python(echo, USE_MESSAGES, runtime) == "good"


def test_messages_agree_with_those_of_protoc(echo: Run, tmp_path: Path) -> None:
    """A trainer may have generated the same file with protoc: both must load."""
    command = [
        "protoc",
        f"-I{ECHO.parents[3]}",
        f"-I{ROOT / 'proto'}",
        "-I/usr/include",
    ]
    command += [f"--python_out={echo.folder}", "warded/v1/options.proto", ECHO_NAME]
    subprocess.run(command, check=True)
    program = """
from acme.echo.v1 import echo_pb2, echo_wd
assert echo_wd.DESCRIPTOR.serialized_pb == echo_pb2.DESCRIPTOR.serialized_pb
print("good")
"""
    # protoc's options_pb2 stands beside our options_wd.
    link = echo.folder / "warded/v1/options_wd.py"
    link.write_text((tmp_path / "options/out/warded/v1/options_wd.py").read_text())
    assert python(echo, program) == "good"


def test_values_named_like_keywords_are_reached_as_with_protoc(tmp_path: Path) -> None:
    text = 'syntax = "proto3"; enum Colour { None = 0; RED = 1; }'
    run = protoc(tmp_path / "a" / "b", text, name="my-colours.proto")
    assert run.names == {"my_colours_wd.py"}
    program = "import my_colours_wd as c; print(getattr(c, 'None'), c.RED)"
    assert python(run, program) == "0 1"


def test_generating_twice_gives_the_same_bytes(echo: Run, tmp_path: Path) -> None:
    again = protoc(tmp_path / "again", ECHO.read_text(), name=ECHO_NAME)
    for name in echo.names:
        assert again.read(name) == echo.read(name)


def test_the_table_knows_each_rule(echo: Run) -> None:
    table = echo.read("acme/echo/v1/echo.wd.c")
    rows = {row.split('"')[1]: row for row in table.split(".path = ")[1:]}
    say, ping = rows["/acme.echo.v1.Echo/Say"], rows["/acme.echo.v1.Echo/Ping"]
    assert ".mutates = true" in say
    assert ".max_timeout_ms = 5000U" in say
    assert ".audited = false" in ping
    assert ".max_timeout_ms = 30000U" in ping
    assert ".record = WD_RECORD_BATCH" in rows["/acme.echo.v1.Echo/Whisper"]
    assert ".built = false" in rows["/acme.echo.v1.Echo/Listen"]


def test_the_plugin_names_none_of_our_services() -> None:
    sources = (ROOT / "clients/codegen/warded_codegen").glob("*.py")
    text = "".join(path.read_text() for path in sources)
    ours = ("Observation", "Health", "Audit", "TokenStub", "warded.v1.Step")
    docs = text.replace("GetObservation", "")  # an example in names.py
    assert [name for name in ours if name in docs] == []
