"""Only its own files may write a field of a call: every form of a write is found."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lint_faults.call_forms import (
    ASSEMBLER,
    FUNCTION,
    HEAD,
    NO_WRITES,
    WRITES,
    forms,
)
from tests.lint_faults.checks import check
from tests.support.gate import BUILD, ROOT

LINT = check("call_writers")
CALL_H = (ROOT / "server/call.h").read_text()
CASES = [*forms(WRITES), *forms(NO_WRITES)]


def flags() -> list[str]:
    """Where the headers are, for the server."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    call_c = next(e for e in entries if e["file"] == str(ROOT / "server/call.c"))
    words = LINT.flags_of(call_c)
    system = [words[i + 1] for i, w in enumerate(words) if w == "-isystem"]
    includes = [w for w in words if w.startswith(("-I", "-D", "-std="))]
    return includes + [f"-isystem{path}" for path in system]


def found_in(folder: Path, text: str, name: str = "server/audit.c") -> list[Any]:
    """The problems of a file of the server that has this text."""
    path = folder / "sown.c"
    path.write_text(text)
    reader = LINT.Reader(CALL_H, folder)
    return list(reader.problems(path, LINT.rooms(name), flags()))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """For each line of the cases, what is said of it: all are in one file."""
    functions = [FUNCTION.format(n=n, line=line) for n, line in enumerate(CASES)]
    text = HEAD + "".join(functions)
    said = defaultdict(list)
    for path, number, what in found_in(tmp_path_factory.mktemp("calls"), text):
        assert path.endswith("sown.c")
        said[text.splitlines()[number - 1]].append(what)
    yield said


@pytest.mark.parametrize("line", forms(WRITES))
def test_claim_13_a_write_of_anothers_field_is_found(
    line: str, found: dict[str, list[str]]
) -> None:
    assert found.get(line)


@pytest.mark.parametrize("line", forms(NO_WRITES))
def test_claim_13_what_is_no_write_of_anothers_field_passes(
    line: str, found: dict[str, list[str]]
) -> None:
    assert found.get(line, []) == []


def test_claim_13_nothing_else_of_the_sown_file_is_at_fault(
    found: dict[str, list[str]],
) -> None:
    assert set(found) <= set(CASES)


def test_claim_13_assembler_is_refused_where_a_call_may_be(tmp_path: Path) -> None:
    text = HEAD + FUNCTION.format(n=1, line=ASSEMBLER)
    lines = [(p.line, p.what) for p in found_in(tmp_path, text)]
    assert lines == [(text.splitlines().index(ASSEMBLER) + 1, "uses assembler")]


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("server/dedupe.c", {"begun"}),
        ("server/audit.c", {"claimed", "payload"}),
        ("server/service_stage.c", {"claimed", "begun"}),
        ("server/service/batch.c", {"claimed", "begun"}),
        ("server/executor/audit.c", {"claimed", "payload"}),
        ("server/outcome.c", {"claimed", "begun", "payload"}),
        ("server/audit_rows.c", {"claimed", "begun", "payload"}),
        ("server/call.c", set()),
    ],
)
def test_claim_13_whose_a_field_is_goes_by_the_files_name(
    name: str, refused: set[str], tmp_path: Path
) -> None:
    writes = {
        "claimed": "c->claimed = true;",
        "begun": "c->begun = true;",
        "payload": "c->payload.size = 0;",
    }
    functions = [FUNCTION.format(n=n, line=w) for n, w in enumerate(writes.values())]
    text = HEAD + "".join(functions)
    lines = {text.splitlines()[p.line - 1] for p in found_in(tmp_path, text, name)}
    assert lines == {writes[field] for field in refused}


def test_claim_13_call_c_may_clear_and_free_a_whole_call(tmp_path: Path) -> None:
    text = HEAD + FUNCTION.format(n=1, line="*c = *k; memset(c, 0, 8); free(c);")
    assert found_in(tmp_path, text, "server/call.c") == []


@pytest.mark.parametrize(
    ("name", "header", "refused"),
    [
        ("server/reply.c", "server/call.h", True),
        ("server/naming.c", "string.h", True),  # whoever holds a call may ask it
        ("server/executor/uids.c", "server/call.h", True),
        ("server/executor/uids.c", "string.h", False),
        ("server/call.c", "server/call.h", False),
    ],
)
def test_claim_13_who_could_find_a_way_to_write_in_a_call(
    name: str, header: str, refused: bool, tmp_path: Path
) -> None:
    text = (
        f'#include <string.h>\n#include "{header}"\nchar *dash(const char *text);\n'
        "char *dash(const char *text)\n{\n    return strchr(text, '-');\n}\n"
    )
    lines = [p.line for p in found_in(tmp_path, text, name)]
    assert lines == ([6] if refused else [])


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ('#include "call.h"', "has wd_call from elsewhere than server/call.h"),
        ("struct wd_call { int claimed; };", "has wd_call from elsewhere"),
        ('#include "server/no_such.h"', "file not found"),
        ("int f(void) { return 1 +; }", "expected expression"),
    ],
)
def test_claim_13_a_call_that_cant_be_judged_is_refused(
    header: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "call.h").write_text(CALL_H)
    assert says in "\n".join(str(p) for p in found_in(tmp_path, header + "\n"))


def test_claim_13_a_write_in_a_header_is_found_where_it_is_included(
    tmp_path: Path,
) -> None:
    header = tmp_path / "sly.h"
    header.write_text(
        '#include "server/call.h"\n'
        "static inline void sly(wd_call *c)\n{\n    c->claimed = true;\n}\n"
    )
    places = [(p.path, p.line) for p in found_in(tmp_path, '#include "sly.h"\n')]
    assert places == [(str(header), 4)]


@pytest.mark.parametrize(
    "line",
    [
        '#pragma GCC diagnostic ignored "-Wall"',
        "# pragma clang system_header",
        "%:pragma GCC system_header",
        '#define X _Pragma("GCC system_header")',
        "#define const",
        "# define const volatile",
        "#define \\\nconst",
        "#/* */define/* */const",
        "#undef wd_call",
        "#define wd_call other",
    ],
)
def test_claim_13_what_blinds_the_compiler_is_refused(line: str) -> None:
    last = 3 + line.count("\n")
    text = f"/* #pragma once */\n#define constant 3\n{line}\n"
    assert [number for number, _ in LINT.blinders(text)] == [last]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bool begun;", "bool begun, sly;"),
        ("bool begun;", "struct { bool begun; } in;"),
        ("bool begun;", "bool begun : 1;"),
        ("bool begun;", "\n#if 1\nbool begun;\n#endif"),
        ("bool begun;", "WD_FIELD(begun);"),
        ("bool begun;", "uint8_t begun[2][3];"),
        ("set by", "filled by"),
        ("typedef struct wd_call {", "struct wd_call {"),
    ],
)
def test_claim_13_a_field_that_cant_be_told_is_refused(old: str, new: str) -> None:
    assert LINT.fields(CALL_H)
    text = CALL_H.replace(old, new).replace("of the queues", "of queues")
    with pytest.raises(LINT.UnreadableError):
        LINT.fields(text)


def test_claim_13_every_field_of_a_call_is_const_to_a_stranger() -> None:
    const = LINT.view(CALL_H, frozenset({"stranger"}))
    assert const.count("const ") - CALL_H.count("const ") == 1 + len(
        LINT.fields(CALL_H)
    )
    assert "struct wd_gate *const gate;" in const
    assert "void (*const work_free)(void *work);" in const


def test_claim_13_a_file_of_the_server_that_is_not_compiled_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "compile_commands.json").write_text("[]")
    script = str(ROOT / "tests/lint/check_call_writers.py")
    command = ["python3", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"server/audit.c:1: {tmp_path} does not compile it" in done.stdout
    assert shutil.which("clang-tidy"), "beside which clang-query is"
