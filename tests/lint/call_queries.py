"""What a const field of wd_call can't stop, as matchers of clang-query.

QUERY has them by the words in which they are refused. A function of libc that takes a
pointer to const and gives one into the same memory through which it may be written
(strchr and its like; strtol by its second argument) is among them: what it gives must
be held as pointer to const, or be compared.
"""

from __future__ import annotations

CALL = (
    "hasUnqualifiedDesugaredType(recordType(hasDeclaration(recordDecl("
    'hasName("wd_call")))))'
)
POINTER = f"hasUnqualifiedDesugaredType(pointerType(pointee({CALL})))"
READ_ONLY = "hasType(pointerType(pointee(isConstQualified())))"
A_CAST = "castExpr(" + ", ".join(
    f'unless(hasCastKind("CK_{kind}"))'
    for kind in ("PointerToBoolean", "LValueToRValue", "ToVoid")
)
FIELD_OF_ONE = f"memberExpr(hasObjectExpression(hasType({POINTER})))"

# Functions of libc that take const and give what is not.
PREFIX = "^::(__|__builtin_|__builtin_char_)?"
FINDERS = (
    "strchr|strrchr|strchrnul|strstr|strcasestr|strpbrk|strptime|index|rindex|basename"
    "|memchr|memrchr|rawmemchr|memmem|wcs(r?chr|chrnul|str|pbrk)|wmemchr"
    "|argz_next|envz_(entry|get)"
)
SEARCHES = "bsearch|lfind"
NUMBERS = "(strto|wcsto)[a-z0-9_]+"
FOUND_IN_CONST = (
    "ignoringParenImpCasts(expr(unless(stringLiteral()),"
    f" anyOf({READ_ONLY}, hasType(arrayType(hasElementType(isConstQualified()))))))"
)
HELD_AS_CONST = f"castExpr({READ_ONLY})"
KEPT_FROM_WRITES = (
    f"anyOf(hasParent({HELD_AS_CONST}),"
    " hasParent(binaryOperator(isComparisonOperator())),"
    f" hasParent(conditionalOperator(hasParent({HELD_AS_CONST}))))"
)


def _named(*names: str) -> str:
    """A function with one of these names."""
    return f'functionDecl(matchesName("{PREFIX}({"|".join(names)})$"))'


def _finds(names: str, at: int, more: str) -> str:
    """A call of one, with a pointer to const as the argument at this place."""
    const = f"hasArgument({at}, {FOUND_IN_CONST})"
    return f"callExpr(callee({_named(names)}), {const}, {more})"


A_FINDER = f"declRefExpr(to({_named(FINDERS, SEARCHES, NUMBERS)}))"
CALLED = "implicitCastExpr(hasParent(callExpr()))"
CONST_FINDERS = {
    "finds in what is const, and does not hold it as pointer to const": _finds(
        FINDERS, 0, f"unless({KEPT_FROM_WRITES})"
    ),
    "searches in what is const, and does not hold it as pointer to const": _finds(
        SEARCHES, 1, f"unless({KEPT_FROM_WRITES})"
    ),
    "has the end of a number in what is const to write there": _finds(
        NUMBERS,
        0,
        "hasArgument(1, unless(ignoringParenCasts(integerLiteral(equals(0)))))",
    ),
    "hands out a function that takes const and gives what is not": (
        f"expr(anyOf(callExpr(hasAnyArgument(ignoringParenImpCasts({A_FINDER}))),"
        f" declRefExpr({A_FINDER}, unless(hasParent({CALLED})),"
        f" unless(hasParent(parenExpr(hasParent({CALLED})))))))"
    ),
}

QUERY = {
    "makes another pointer of a call": f"{A_CAST}, unless({READ_ONLY}),"
    f" unless(hasType({POINTER})), hasSourceExpression(hasType({POINTER})))",
    "makes another pointer of one to a call's": f"{A_CAST}, unless({READ_ONLY}),"
    f" unless(hasType(pointerType(pointee({POINTER})))),"
    f" hasSourceExpression(hasType(pointerType(pointee({POINTER})))))",
    "makes a number of a pointer to a call": "castExpr("
    'hasCastKind("CK_PointerToIntegral"),'
    f" hasSourceExpression(anyOf(hasType({POINTER}), {FIELD_OF_ONE},"
    f" hasDescendant({FIELD_OF_ONE}))))",
    "holds a call by value": f"varDecl(hasType({CALL}))",
    "holds calls by value": f"varDecl(hasType(arrayType(hasElementType({CALL}))))",
    "has a call in a struct": f"fieldDecl(hasType({CALL}))",
    "has calls in a struct": f"fieldDecl(hasType(arrayType(hasElementType({CALL}))))",
    "has a pointer to a call in a union": f"fieldDecl(hasType({POINTER}),"
    " hasParent(recordDecl(isUnion())))",
    "makes a call": f"compoundLiteralExpr(hasType({CALL}))",
    "casts the address of a field": "cStyleCastExpr(hasSourceExpression("
    'ignoringParenImpCasts(unaryOperator(hasOperatorName("&"),'
    f" hasUnaryOperand(ignoringParens({FIELD_OF_ONE}))))))",
    "casts a function": "cStyleCastExpr(hasType(pointerType(pointee("
    "ignoringParens(functionType())))))",
    "uses assembler": "asmStmt()",
    "passes a field's address to whoever writes it or not": "callExpr("
    'callee(functionDecl(isVariadic(), unless(hasAttr("attr::Format")))),'
    f" hasAnyArgument(expr(hasType(pointerType()), hasDescendant({FIELD_OF_ONE}))))",
    **CONST_FINDERS,
}
