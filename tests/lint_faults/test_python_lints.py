"""Faults of Python: ruff and mypy, each rule that is switched on."""

from __future__ import annotations

import pytest

from tests.lint_faults.sown import Sown

GOOD = '"""Good."""\n\n\ndef good(number: int) -> int:\n    """The same."""\n    return number\n'

# One fault of each family of rules that ruff.toml selects, on the line given.
RUFF = {
    "E501": (1, f'"""{"x " * 45}"""\n'),
    "E711": (2, "def f(x: int) -> bool:\n    return x == None\n"),
    "F401": (1, "import os\n"),
    "F821": (2, "def f() -> int:\n    return unknown\n"),
    "F841": (2, "def f() -> None:\n    unused = 1\n"),
    "W605": (1, 'X = "\\d"\n'),
    "I001": (1, "import os\nimport abc\n\nprint(os, abc)\n"),
    "N801": (1, "class camel_not:\n    pass\n"),
    "N802": (1, "def Camel() -> None:\n    pass\n"),
    "UP006": (4, "from typing import List\n\n\ndef f() -> List[int]:\n    return []\n"),
    "B006": (1, "def f(x: list[int] = []) -> list[int]:\n    return x\n"),
    "B904": (
        5,
        "def f() -> None:\n    try:\n        f()\n    except KeyError:\n        raise ValueError\n",
    ),
    "A001": (1, "list = 3\n"),
    "C408": (1, "X = dict()\n"),
    "SIM108": (
        2,
        "def f(x: int) -> int:\n    if x:\n        y = 1\n    else:\n        y = 2\n    return y\n",
    ),
    "RET505": (
        4,
        "def f(x: int) -> int:\n    if x:\n        return 1\n    else:\n        return 2\n",
    ),
    "PTH118": (3, "import os\n\nX = os.path.join('a', 'b')\n"),
    "ANN001": (1, "def f(x) -> None:\n    print(x)\n"),
    "ANN201": (1, "def f():\n    pass\n"),
    "S110": (
        4,
        "def f() -> None:\n    try:\n        f()\n    except Exception:\n        pass\n",
    ),
    "S602": (3, "import subprocess\n\nsubprocess.run('ls', shell=True, check=True)\n"),
    "RUF012": (2, "class C:\n    x = [1]\n"),
    "RUF100": (1, "X = 1  # noqa: F401\n"),
    "PLR1711": (3, "def f() -> None:\n    print()\n    return\n"),
    "PLW0603": (5, "X = 1\n\n\ndef f() -> None:\n    global X\n    X = 2\n"),
    "E722": (
        4,
        "def f() -> None:\n    try:\n        f()\n    except:\n        pass\n",
    ),
    "invalid-syntax": (1, "def f(:\n"),
}


@pytest.fixture(scope="module")
def ruff(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of all of them at once."""
    sown = Sown(tmp_path_factory.mktemp("ruff"))
    sown.puts({f"store/{rule}.py": text for rule, (_, text) in RUFF.items()})
    sown.puts(
        {"store/good.py": GOOD, "deploy/tool": "#!/usr/bin/env python3\nimport os\n"}
    )
    sown.puts({"clients/python/examples/actions/model.py": "import os;;"})
    said = sown.lint("ruff")
    assert said.code != 0
    return said.text


@pytest.mark.parametrize("rule", RUFF)
def test_claim_13_each_rule_of_ruff_finds_its_fault(rule: str, ruff: str) -> None:
    line, _ = RUFF[rule]
    lines = [x for x in ruff.splitlines() if x.startswith(f"store/{rule}.py:{line}:")]
    assert any(rule in x for x in lines), [x for x in ruff.splitlines() if rule in x]


def test_claim_13_ruff_reads_scripts_without_a_suffix_and_no_actions(ruff: str) -> None:
    assert "deploy/tool:2:8: F401" in ruff
    assert "good.py:" not in ruff
    assert "model.py:" not in ruff


@pytest.mark.parametrize(
    "text", ["X = 'single'\n", "X = {1:2}\n", "X = (1,\n2)\n", "X = 1\n\n\n\n\nY = 1\n"]
)
def test_claim_13_what_ruff_would_format_otherwise_is_found(
    text: str, sown: Sown
) -> None:
    sown.puts({"store/good.py": GOOD})
    assert sown.lint("ruff").code == 0
    sown.put("store/bad.py", text)
    said = sown.lint("ruff")
    assert said.code != 0
    assert "--- store/bad.py" in said.text
    assert "good.py" not in said.text


# What mypy finds only when it is strict, and what it always finds.
MYPY = {
    "no-untyped-def": "def f(x):\n    return x",
    "type-arg": "def f(x: list) -> None: ...",
    "no-any-return": "from typing import Any\ndef f(x: Any) -> int:\n    return x",
    "no-untyped-call": "def g(): ...  # type: ignore[no-untyped-def]\ng()",
    "unused-ignore": "X = 1  # type: ignore[arg-type]",
    "comparison-overlap": "def f(x: int) -> bool:\n    return x == 'a'",
    "arg-type": "def f(x: int) -> None: ...\nf('a')",
    "return-value": "def f() -> int:\n    return 'a'",
    "union-attr": "def f(x: str | None) -> str:\n    return x.upper()",
    "attr-defined": "import os\nos.no_such_thing()",
    "import-not-found": "import no_such_module",
    "redundant-cast": "from typing import cast\nX = cast(int, 3)",
    "misc": "from typing import Any\nX: Any = 1\nclass C(X): ...",
    "syntax": "def f(:",
}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of all of them at once; of the good ones alone, nothing."""
    sown = Sown(tmp_path_factory.mktemp("mypy"))
    sown.put("tests/good.py", f'"""Good."""\n\nimport os\n\nprint(os)\n{GOOD}')
    clean = sown.lint("mypy", "build")
    assert (clean.code, clean.places()) == (0, set()), clean.text
    for rule, text in MYPY.items():
        folder = "store" if rule == "syntax" else "tests"
        sown.put(f"{folder}/bad_{rule.replace('-', '_')}.py", f"{text}\n")
    sown.puts({"tests/tool": "#!/usr/bin/python3\nX: int = 'a'\n"})
    said = sown.lint("mypy", "build")
    assert said.code != 0
    return said.text


@pytest.mark.parametrize("rule", [r for r in MYPY if r != "syntax"])
def test_claim_13_mypy_strict_finds_each_fault(rule: str, mypy: str) -> None:
    line = MYPY[rule].count("\n") + (0 if rule in ("no-untyped-def",) else 1)
    place = f"tests/bad_{rule.replace('-', '_')}.py:{line}: error:"
    found = [x for x in mypy.splitlines() if x.startswith(place)]
    assert any(x.endswith(f"[{rule}]") for x in found), mypy


def test_claim_13_mypy_reads_scripts_without_a_suffix(mypy: str) -> None:
    assert "tests/tool:2: error:" in mypy
    assert "good.py:" not in mypy


def test_claim_13_a_file_of_python_in_no_group_is_refused(mypy: str) -> None:
    assert "store/bad_syntax.py: no group of check_mypy.py holds it" in mypy
