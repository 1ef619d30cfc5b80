import sympy as sp

x, y, z = sp.symbols("x y z")
solution = sp.solve(
    [x + y + z - 6, 2 * y + 5 * z + 4, 2 * x + 5 * y - z - 27], [x, y, z]
)
for name in (x, y, z):
    print(name, "=", solution[name])
