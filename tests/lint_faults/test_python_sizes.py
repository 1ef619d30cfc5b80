"""lint.sizes measures the functions of Python: limits at n and n + 1."""

from __future__ import annotations

import textwrap

import pytest

from tests.lint_faults.checks import check

python_sizes = check("sizes").python_sizes


def body(count: int) -> str:
    """So many lines."""
    return "    pass\n" * count


def nested(*words: str) -> str:
    """One in the other."""
    lines = [f"{'    ' * (i + 1)}{word}:" for i, word in enumerate(words)]
    return "\n".join(["def f():", *lines, "    " * (len(words) + 1) + "pass", ""])


MANUAL = '    """What.\n\n    And how.\n    """\n'

TOO_LARGE = {
    "41 lines": ("def f():\n" + body(40), "f: 41 lines, limit 40"),
    "41 of a method": (
        "class C:\n" + textwrap.indent("def m(self):\n" + body(40), "    "),
        "m: 41 lines",
    ),
    "41 of async": ("async def f():\n" + body(40), "f: 41 lines"),
    "41 of a test": ("def test_f(gate):\n" + body(40), "test_f: 41 lines"),
    "41 in a function": (
        "def f():\n" + textwrap.indent("def g():\n" + body(40), "    "),
        "g: 41 lines",
    ),
    "41 and a docstring": ("def f():\n" + MANUAL + body(40), "f: 41 lines"),
    "41 by blank lines": ("def f():\n    pass\n" + "\n" * 39 + body(1), "f: 42 lines"),
    "6 parameters": ("def f(a, b, c, d, e, g): pass", "f: 6 parameters, limit 5"),
    "6 of a method": ("class C:\n    def m(self, a, b, c, d, e, g): pass", "m: 6"),
    "6 with some that only stand": ("def f(a, b, /, c, d, e, g): pass", "f: 6"),
    "4 levels": (nested("if a", "for b in c", "while d", "if e"), "f: 4 levels"),
    "4 with try": (nested("for b in c", "while d", "for e in g", "if h"), "f: 4"),
    "4 with match": (nested("if a", "if b", "match c", "case d", "if e"), "f: 4"),
    "4 in an except": (
        "def f():\n  for a in b:\n    if c:\n      try: pass\n"
        "      except E:\n        if d: pass\n",
        "f: 4 levels of nesting, limit 3",
    ),
    "4 in an else": (
        "def f():\n  if a: pass\n  else:\n    if b: pass\n    else:\n"
        "      for c in d:\n        if e: pass\n",
        "f: 4 levels",
    ),
    "4 in no function": (
        "if a:\n  if b:\n    if c:\n      if d: pass\n",
        "4 levels of nesting, limit 3",
    ),
    "no Python": ("def f(:\n", "can't be read"),
}
FITS = {
    "40 lines": "def f():\n" + body(39),
    "40 and a manual": "def f():\n" + MANUAL + body(39),
    "40 and decorators": "@d\n@e\ndef f():\n" + body(39),
    "5 parameters": "def f(a, b, c, d, e): pass",
    "5 and self": "class C:\n    def m(self, a, b, c, d, e): pass",
    "5 and by name": "def f(a, b, c, d, e, *, g, h): pass",
    "6 fixtures of a test": "def test_f(a, b, c, d, e, g): pass",
    "6 fixtures of a fixture": "@pytest.fixture\ndef f(a, b, c, d, e, g): pass",
    "3 levels": nested("if a", "for b in c", "while d"),
    "4 with with": nested("if a", "with b", "for c in d", "while e"),
    "4 by way of a function": nested("if a", "if b", "def g()", "if c", "if d"),
    "elif": "def f():\n  if a:\n    for b in c:\n      if d: pass\n"
    "      elif e: pass\n      elif g: pass\n      else: pass\n",
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_claim_13_a_function_that_is_too_large_is_found(name: str) -> None:
    text, says = TOO_LARGE[name]
    problems = [problem for _, problem in python_sizes.problems(text)]
    assert any(says in problem for problem in problems), problems


@pytest.mark.parametrize("name", FITS)
def test_claim_13_a_function_that_one_can_read_passes(name: str) -> None:
    assert list(python_sizes.problems(FITS[name])) == []


def test_claim_13_a_large_function_is_told_with_its_line() -> None:
    text = "import os\n\n\ndef f(a, b, c, d, e, g):\n" + body(41)
    assert [line for line, _ in python_sizes.problems(text)] == [4, 4]
