"""Each file is compiled by gcc and by clang with every warning, and a warning is fatal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.lint_faults.checks import check
from tests.lint_faults.sown import Sown

GOOD = "int wd_good(void);\nint wd_good(void)\n{\n    return 1;\n}\n"
FLAGS = " ".join(check("flags").WANTED)


# Flags, and what is said of them.
WEAK = [
    *((FLAGS.replace(f, ""), f"compiled without {f}") for f in FLAGS.split()),
    (f"{FLAGS} -w", "compiled with -w"),
    (f"{FLAGS} -Wno-shadow", "compiled with -Wno-shadow"),
    (f"{FLAGS} -Wno-error", "compiled with -Wno-error"),
    (f"{FLAGS} -Wno-error=vla", "compiled with -Wno-error=vla"),
    ("", "compiled without -Werror"),
]


def test_claim_13_a_file_compiled_without_a_warning_is_found(sown: Sown) -> None:
    files = {f"server/bad{n}.c": flags for n, (flags, _) in enumerate(WEAK)}
    files["server/good.c"] = f"{FLAGS} -Wno-cast-qual"
    sown.puts(dict.fromkeys(files, GOOD))
    said = sown.lint("flags", sown.build(files))
    assert said.code == 1
    for n, (_, says) in enumerate(WEAK):
        assert says in said.of(f"server/bad{n}.c:1")
    assert said.places() == {f"{name}:1" for name in files} - {"server/good.c:1"}


def test_claim_13_gcc_has_warnings_of_its_own(sown: Sown) -> None:
    sown.puts({"server/good.c": GOOD})
    said = sown.lint("flags", sown.build({"server/good.c": FLAGS}, "gcc"))
    wanted = check("flags").WANTED_OF_GCC
    assert [f"without {flag}" in said.text for flag in wanted] == [True] * len(wanted)
    every = f"{FLAGS} {' '.join(wanted)}"
    assert sown.lint("flags", sown.build({"server/good.c": every}, "gcc")).code == 0


@pytest.mark.parametrize("name", ["store/left.c", "tests/fuzz/left.c"])
def test_claim_13_a_file_that_is_not_compiled_is_found(name: str, sown: Sown) -> None:
    sown.puts({"server/good.c": GOOD, name: GOOD})
    said = sown.lint("flags", sown.build({"server/good.c": FLAGS}))
    assert said.code == 1
    assert said.places() == {f"{name}:1"}


WARNINGS = {
    "unused-variable": "void f(void);\nvoid f(void) { int n; }",
    "unused-parameter": "void f(int n);\nvoid f(int n) { }",
    "shadow": "int f(int n);\nint f(int n) { { int n = 3; (void)n; } return n; }",
    "conversion": "char f(int n);\nchar f(int n) { return n; }",
    "sign-conversion": "unsigned f(int n);\nunsigned f(int n) { return n; }",
    "strict-prototypes": "int f();\n",
    "missing-prototypes": "int f(void) { return 1; }",
    "cast-qual": "int *f(const int *p);\nint *f(const int *p) { return (int *)p; }",
    "format-nonliteral": "#include <stdio.h>\nint f(const char *s);\n"
    "int f(const char *s) { return printf(s, 3); }",
    "undef": "#if NO_SUCH\n#endif\nextern int x;",
    "vla": "int f(int n);\nint f(int n) { int a[n]; a[0] = n; return a[0]; }",
    "switch-enum": "enum e { A, B };\nint f(enum e e);\n"
    "int f(enum e e) { switch (e) { case A: return 1; default: return 2; } }",
    "implicit-fallthrough": "int f(int n);\n"
    "int f(int n) { switch (n) { case 1: n++; case 2: n--; } return n; }",
    "pedantic|gnu-statement": "int f(void);\nint f(void) { return ({ 3; }); }",
}


@pytest.mark.parametrize("warning", WARNINGS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_claim_13_a_warning_breaks_the_build(
    warning: str, compiler: str, tmp_path: Path
) -> None:
    source = tmp_path / "bad.c"
    command = [compiler, "-std=gnu11", *FLAGS.split(), "-O1", "-c", str(source)]
    command += ["-o", "/dev/null"]
    source.write_text(GOOD)
    assert subprocess.run(command, check=False).returncode == 0
    source.write_text(f"{WARNINGS[warning]}\n")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    said = [x for x in done.stderr.splitlines() if "error: " in x]
    assert any(re.search(warning, x) for x in said), done.stderr
