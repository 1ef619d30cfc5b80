"""How large the functions of a Python file are.

Counted are: the lines of a function without its docstring, which is a manual; its
positional parameters without self and cls, and in tests and fixtures, whose parameters
are fixtures, none; how deep if, for, while, try and match stand in each other, where
an elif and an except are no deeper than their if and try. (`with` decides nothing.)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

LINES = 40
PARAMETERS = 5
NESTING = 3

Function = ast.FunctionDef | ast.AsyncFunctionDef
DECISIONS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def lines(function: Function) -> int:
    """From def to the last line, but for the docstring."""
    count = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        count -= (first.end_lineno or first.lineno) - first.lineno + 1
    return count


def parameters(function: Function) -> int:
    """How many a caller gives by their place."""
    decorators = " ".join(ast.unparse(d) for d in function.decorator_list)
    if function.name.startswith("test_") or "fixture" in decorators:
        return 0
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return len([n for n in names if n not in ("self", "cls")])


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How deep decisions stand in each other below a node."""
    deepest = depth
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children:
            if not isinstance(child, ast.AST) or isinstance(child, SCOPES):
                continue
            is_elif = (
                name == "orelse"
                and isinstance(node, ast.If)
                and isinstance(child, ast.If)
                and child.col_offset == node.col_offset
            )
            deeper = isinstance(child, DECISIONS) and not is_elif
            deepest = max(deepest, nesting(child, depth + deeper))
    return deepest


def too_large(function: Function) -> Iterator[str]:
    """What there is too much of."""
    limits = (
        ("lines", lines(function), LINES),
        ("parameters", parameters(function), PARAMETERS),
        ("levels of nesting", nesting(function), NESTING),
    )
    for what, count, limit in limits:
        if count > limit:
            yield f"{count} {what}, limit {limit}"


def problems(text: str) -> Iterator[tuple[int, str]]:
    """Line and problem of each function that is too large, and of what is in none."""
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        yield error.lineno or 1, f"can't be read: {error.msg}"
        return
    for node in ast.walk(module):
        if isinstance(node, Function):
            for problem in too_large(node):
                yield node.lineno, f"{node.name}: {problem}"
        elif isinstance(node, ast.Module | ast.ClassDef) and nesting(node) > NESTING:
            yield 1, f"{nesting(node)} levels of nesting, limit {NESTING}"
