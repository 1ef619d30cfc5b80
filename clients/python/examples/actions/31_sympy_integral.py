from sympy import symbols, integrate, sin, exp, oo, simplify

x = symbols("x")
print(integrate(x * sin(x), x))
print(integrate(exp(-(x**2)), (x, -oo, oo)))
