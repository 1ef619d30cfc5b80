from sympy import symbols, solve

x = symbols("x")
roots = solve(x**2 - 5 * x + 6, x)
print(roots)
print("sum of roots:", sum(roots))
