from sympy import symbols, limit, sin, series, cos

x = symbols("x")
print(limit(sin(x) / x, x, 0))
print(series(cos(x), x, 0, 8))
