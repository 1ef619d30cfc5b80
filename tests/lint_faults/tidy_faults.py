"""For each rule of .clang-tidy that C can break, C that breaks it in the marked line."""

LONG = "\n".join(f"    n += {n};" for n in range(49))
TALL = "\n".join("    n +=\n        1;" for _ in range(30))
COGNITIVE = "\n".join(
    f"    for (int i = 0; i < {n}; i++)\n        if (n > i)\n            n++;"
    for n in range(7)
)

FAULTS = (
    (
        "bugprone-assignment-in-if-condition",
        """int f01(int n, int m)
{
    if ((n = m)) /*!*/
        return 1;
    return n;
}
""",
    ),
    (
        "bugprone-branch-clone",
        """int f02(int n)
{
    if (n > 3) /*!*/
        return 1;
    else
        return 1;
}
""",
    ),
    ("bugprone-reserved-identifier", "#define __MINE 3 /*!*/\n"),
    (
        "bugprone-sizeof-expression",
        """unsigned long f04(int n)
{
    return sizeof(sizeof(n)); /*!*/
}
""",
    ),
    (
        "cert-err34-c",
        """int atoi(const char *text);
int f05(const char *text)
{
    return atoi(text); /*!*/
}
""",
    ),
    (
        "clang-analyzer-core.NullDereference",
        """int f06(const int *p)
{
    if (p)
        return 1;
    return *p; /*!*/
}
""",
    ),
    (
        "clang-analyzer-core.DivideZero",
        """int f07(int n)
{
    if (n == 0)
        return 3 / n; /*!*/
    return n;
}
""",
    ),
    ("cppcoreguidelines-avoid-non-const-global-variables", "int f09_number; /*!*/\n"),
    (
        "misc-misplaced-const",
        """typedef int *f10_pointer;
int f10(const f10_pointer p) /*!*/
{
    return *p;
}
""",
    ),
    (
        "misc-redundant-expression",
        """int f11(int n, int m)
{
    return n > m && n > m; /*!*/
}
""",
    ),
    (
        "misc-unused-parameters",
        """int f12(int n, int unused) /*!*/
{
    return n;
}
""",
    ),
    ("readability-avoid-const-params-in-decls", "int f13(const int n); /*!*/\n"),
    (
        "readability-duplicate-include",
        "#include <stddef.h>\n#include <stddef.h> /*!*/\n",
    ),
    (
        "readability-else-after-return",
        """int f15(int n)
{
    if (n)
        return 1;
    else /*!*/
        n++;
    return n;
}
""",
    ),
    (
        "readability-function-cognitive-complexity",
        f"int f16(int n) /*!*/\n{{\n{COGNITIVE}\n    return n;\n}}\n",
    ),
    (
        "lines including whitespace and comments",
        f"int f17(int n) /*!*/\n{{\n{TALL}\n    return n;\n}}\n",
    ),
    (
        "statements (threshold 50)",
        f"int f18(int n) /*!*/\n{{\n{LONG}\n    n++;\n    return n;\n}}\n",
    ),
    (
        "parameters (threshold 5)",
        """int f19(int a, int b, int c, int d, int e, int f) /*!*/
{
    return a + b + c + d + e + f;
}
""",
    ),
    (
        "nesting level 4 starts here (threshold 3)",
        """int f20(int n)
{
    if (n > 1) {
        if (n > 2) {
            if (n > 3) { /*!*/
                if (n > 4) {
                    n++;
                }
            }
        }
    }
    return n;
}
""",
    ),
    ("readability-identifier-naming", "int F21Camel(int n); /*!*/\n"),
    ("readability-identifier-naming", "#define f22_macro 3 /*!*/\n"),
    (
        "readability-inconsistent-declaration-parameter-name",
        """int f23(int first); /*!*/
int f23(int second)
{
    return second;
}
""",
    ),
    (
        "readability-misleading-indentation",
        """int f24(int n)
{
    if (n)
        n++;
        n++; /*!*/
    return n;
}
""",
    ),
    (
        "readability-named-parameter",
        """int f25(int) /*!*/
{
    return 1;
}
""",
    ),
    (
        "readability-non-const-parameter",
        """int f26(int *p) /*!*/
{
    return *p;
}
""",
    ),
    (
        "readability-redundant-control-flow",
        """void f27(int *p)
{
    *p = 1;
    return; /*!*/
}
""",
    ),
    ("readability-redundant-declaration", "int f28(int n);\nint f28(int n); /*!*/\n"),
)
CLEAN = """int wd_good(int a, int b, int c, int d, int e);
int wd_good(int a, int b, int c, int d, int e)
{
    for (int i = 0; i < a; i++) {
        if (i > b) {
            while (c > 0)
                c--;
        }
    }
    return c + d + e;
}
"""
HEADER = """static inline int wd_header(int n)
{
    if (n > 3)
        return 1;
    else
        n++;
    return n;
}
"""
