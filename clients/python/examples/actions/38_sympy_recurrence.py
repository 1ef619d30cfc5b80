from sympy import Function, rsolve, symbols, simplify

n = symbols("n", integer=True)
a = Function("a")
closed = rsolve(a(n) - 5 * a(n - 1) + 6 * a(n - 2), a(n), {a(0): 2, a(1): 5})
print(closed)
print([closed.subs(n, k) for k in range(6)])
