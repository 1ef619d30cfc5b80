from fractions import Fraction as F

A = [
    [F(2), F(1), F(-1), F(8)],
    [F(-3), F(-1), F(2), F(-11)],
    [F(-2), F(1), F(2), F(-3)],
]
n = 3
for i in range(n):
    pivot = next(r for r in range(i, n) if A[r][i] != 0)
    A[i], A[pivot] = A[pivot], A[i]
    A[i] = [x / A[i][i] for x in A[i]]
    for r in range(n):
        if r != i:
            A[r] = [x - A[r][i] * y for x, y in zip(A[r], A[i])]
print("x, y, z =", ", ".join(str(row[3]) for row in A))
