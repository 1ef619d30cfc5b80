import sympy as sp

t = sp.symbols("t", positive=True)
f = t**t
d = sp.diff(f, t)
print(sp.simplify(d))
print(sp.solve(sp.Eq(d, 0), t))
