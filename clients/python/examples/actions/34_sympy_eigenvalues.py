from sympy import Matrix

M = Matrix([[2, 0, 0], [0, 3, 4], [0, 4, 9]])
print(sorted(M.eigenvals().items()))
print(M.det(), M.inv()[0, 0])
