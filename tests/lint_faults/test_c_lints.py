"""Faults of C: clang-format, clang-tidy, flags, globals, layers."""

from __future__ import annotations

import re

import pytest

from tests.lint_faults.sown import Sown
from tests.lint_faults.tidy_faults import CLEAN, FAULTS, HEADER

GOOD = "int wd_good(void);\nint wd_good(void)\n{\n    return 1;\n}\n"

# --- clang-format --------------------------------------------------------------------

UNFORMATTED = {
    "indent": "int f(void)\n{\n  return 1;\n}\n",
    "brace": "int f(void)\n{\n    if (1) {\n        g();\n    }\n    else\n        h();\n}\n",
    "star": "int* f(void);\n",
    "width": f"int f({', '.join(f'int a{n}' for n in range(20))});\n",
    "tab": "int f(void)\n{\n\treturn 1;\n}\n",
    "includes": "#include <b.h>\n#include <a.h>\n",
}


@pytest.mark.parametrize("name", UNFORMATTED)
def test_claim_13_what_clang_format_would_change_is_found(
    name: str, sown: Sown
) -> None:
    sown.puts({"server/good.c": GOOD, "server/good.h": "int f(void);\n"})
    names = ("store/bad.c", "store/bad.h", "tests/bad.cc")
    sown.puts(dict.fromkeys(names, UNFORMATTED[name]))
    said = sown.lint("format")
    assert said.code != 0
    assert {p.split(":")[0] for p in said.places()} == set(names)


def test_claim_13_what_clang_format_would_leave_passes(sown: Sown) -> None:
    sown.puts({"server/good.c": GOOD, "server/good.h": "int f(void);\n"})
    assert sown.lint("format").code == 0


# --- clang-tidy ----------------------------------------------------------------------


def test_claim_13_each_rule_of_clang_tidy_finds_its_fault(sown: Sown) -> None:
    body, wanted = "", []
    for rule, lines in FAULTS:
        first = body.count("\n") + 1
        at = next(n for n, x in enumerate(lines.splitlines()) if "/*!*/" in x)
        wanted.append((rule, f"server/bad.c:{first + at}"))
        body += lines.replace(" /*!*/", "")
    sown.puts({"server/bad.c": body, "server/good.c": CLEAN})
    said = sown.lint("tidy", sown.build({"server/bad.c": "-w", "server/good.c": ""}))
    assert said.code == 1
    missed = [w for w in wanted if w[0] not in said.of(w[1])]
    assert not missed, f"{missed}\n{said.text}"
    assert "good.c:" not in said.text


def test_claim_13_a_file_without_fault_is_clean_to_clang_tidy(sown: Sown) -> None:
    sown.puts({"server/good.c": CLEAN})
    build = sown.build({"server/good.c": ""})
    said = sown.lint("tidy", build)
    assert said.code == 0
    assert "1 files, 1 looked at, 0 bad" in said.text
    assert "1 files, 0 looked at, 0 bad" in sown.lint("tidy", build).text


def test_claim_13_clang_tidy_looks_into_headers_and_again_when_they_change(
    sown: Sown,
) -> None:
    sown.puts({"server/good.c": f'#include "server/x.h"\n{CLEAN}', "server/x.h": "\n"})
    build = sown.build({"server/good.c": ""})
    assert sown.lint("tidy", build).code == 0
    sown.put("server/x.h", HEADER)
    said = sown.lint("tidy", build)
    assert said.code == 1
    assert "readability-else-after-return" in said.of("server/x.h:5")


@pytest.mark.parametrize("name", ["server/left.c", "server/left.h"])
def test_claim_13_a_file_that_clang_tidy_cant_see_is_refused(
    name: str, sown: Sown
) -> None:
    sown.puts({"server/good.c": CLEAN, "server/good.h": "\n", name: "\n"})
    sown.put("server/good.c", f'#include "server/good.h"\n{CLEAN}')
    said = sown.lint("tidy", sown.build({"server/good.c": ""}))
    assert said.code == 1
    assert said.places() == {f"{name}:1"}


# --- globals ---------------------------------------------------------------------------

WRITABLE = {
    "static": "static int bad; int *f(void); int *f(void) { return &bad; }",
    "static local": "int *f(void); int *f(void) { static int bad; return &bad; }",
    "with a value": "extern int bad; int bad = 3;",
    "hidden": '__attribute__((visibility("hidden"))) int bad = 3;',
    "hidden, zero": '__attribute__((visibility("hidden"))) int bad;',
    "of a thread": "_Thread_local int bad;",
    "in a section of its own": '__attribute__((section("mine"))) int bad = 3;',
    "pointer to const": 'const char *bad = "x";',
    "array of pointers": 'const char *bad[] = {"x", "y"};',
    "common": "__attribute__((common)) int bad;",
}
CONSTANT = (
    "extern const int a; const int a = 3;\n"
    'extern const char *const b[]; const char *const b[] = {"x", "y"};\n'
    "extern int outside; int g(void); int g(void) { return outside; }\n"
    'const char *h(void); const char *h(void) { static const char t[] = "x"; return t; }\n'
)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_claim_13_a_writable_global_is_found(compiler: str, sown: Sown) -> None:
    texts = {f"server/bad{n}.c": text for n, text in enumerate(WRITABLE.values())}
    sown.puts({"server/good.c": CONSTANT, **{n: f"{t}\n" for n, t in texts.items()}})
    sown.put("tests/lint/globals.allow", "")
    flags = dict.fromkeys(["server/good.c", *texts], "-O2 -fPIC")
    said = sown.lint("globals", sown.build(flags, compiler))
    assert said.code == 1
    found = re.findall(r"^(server/\w+\.c):(?:f\.)?bad: a writable", said.text, re.M)
    missed = [text for name, text in texts.items() if name not in found]
    assert not missed
    assert "good.c" not in said.text


def test_claim_13_globals_are_allowed_by_name_and_no_longer_than_needed(
    sown: Sown,
) -> None:
    sown.puts({"server/bad.c": "int bad;\n"})
    build = sown.build({"server/bad.c": ""})
    sown.put("tests/lint/globals.allow", "server/bad.c:bad # needed\n")
    assert sown.lint("globals", build).code == 0
    sown.put("tests/lint/globals.allow", "server/bad.c:bad #\n")
    assert (
        "server/bad.c:bad: allowed without a reason" in sown.lint("globals", build).text
    )
    sown.put(
        "tests/lint/globals.allow", "server/bad.c:bad # x\nserver/bad.c:gone # x\n"
    )
    assert (
        "server/bad.c:gone: allowed, but not there" in sown.lint("globals", build).text
    )
    sown.puts({"server/left.c": "int bad;\n"})
    assert "server/left.c: was not built" in sown.lint("globals", build).text


# --- layers ----------------------------------------------------------------------------

LAYERS = """
guarded sqlite3 linux
store/a.? : store/a store/b warded : sqlite3
store/b.? : store/b :
tests/* : * : *
"""
LAYERED = {
    "store/a.c": '#include "store/a.h"\n#include <sqlite3.h>\n#include <stdio.h>\n',
    "store/a.h": '#include "store/b.h"\n# include "warded/v1/x.wd.h"\n',
    "store/b.h": '/*\n#include "store/a.h"\n*/\n#include <string.h> /* of C */\n',
    "tests/t.c": '#include "store/a.h"\n#include <sqlite3.h>\n',
}
MISPLACED = {
    "upwards": '#include "store/a.h"',
    "with a blank": '  #  include   "store/a.h"',
    "without one": '#include"store/a.h"',
    "in angle brackets": "#include <store/a.h>",
    "by a detour": '#include "store/../store/a.h"',
    "in angle brackets by a detour": "#include <./store/a.h>",
    "beside it": '#include "a.h"',
    "generated": '#include "warded/v1/x.wd.h"',
    "generated, in angle brackets": "#include <warded/v1/x.wd.h>",
    "a door": "#include <sqlite3.h>",
    "a door in quotes": '#include "sqlite3.h"',
    "a folder that is a door": "#include <linux/bpf.h>",
    "over two lines": '#include \\\n"store/a.h"',
    "by a macro": '#define A "store/a.h"\n#include A',
    "the next": '#include_next "store/b.h"',
    "once": '#import "store/a.h"',
    "digraph": '%:include "store/a.h"',
    "after a comment": '/* of a */ #include "store/a.h"',
    "with a comment": '#/* */include "store/a.h"',
    "after what looks like a comment": 'char *s = "/*";\n#include "store/a.h"',
}


@pytest.mark.parametrize("name", MISPLACED)
def test_claim_13_an_include_across_layers_is_found(name: str, sown: Sown) -> None:
    sown.puts({**LAYERED, "store/b.c": '#include "store/b.h"\n'})
    sown.put("tests/lint/layers.txt", LAYERS)
    text = f'#include "store/b.h"\n\n{MISPLACED[name]}\n'
    sown.put("store/b.c", text)
    said = sown.lint("layers")
    assert said.code == 1
    assert said.places() == {f"store/b.c:{text.count(chr(10))}"}, said.text


def test_claim_13_includes_within_the_layers_pass(sown: Sown) -> None:
    sown.puts({**LAYERED, "store/b.c": '#include "store/b.h"\n'})
    sown.put("tests/lint/layers.txt", LAYERS)
    said = sown.lint("layers")
    assert (said.code, said.places()) == (0, set()), said.text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("store/gone.c : :", "no file is named by store/gone.c"),
        ("store/a.c : :", "no file is named by store/a.c, or one before names it"),
        ("store/* : :", "name the modules"),
        ("store/b.c", "not FILES : INCLUDES : DOORS"),
    ],
)
def test_claim_13_an_idle_or_unreadable_rule_is_found(
    line: str, says: str, sown: Sown
) -> None:
    sown.puts(LAYERED)
    sown.put("tests/lint/layers.txt", f"{LAYERS}{line}\n")
    said = sown.lint("layers")
    assert said.code == 1
    assert says in said.text


def test_claim_13_a_file_without_a_layer_is_found(sown: Sown) -> None:
    sown.puts({**LAYERED, "store/c.c": "\n"})
    sown.put("tests/lint/layers.txt", LAYERS)
    assert "store/c.c: no line of tests/lint/layers.txt" in sown.lint("layers").text
