from sympy import symbols, factor, expand, factorint

x, y = symbols("x y")
print(factor(x**4 - y**4))
print(expand((x + y) ** 3))
print(factorint(123456789))
