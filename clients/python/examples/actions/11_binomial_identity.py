from math import comb

n = 20
lhs = sum(comb(n, k) ** 2 for k in range(n + 1))
rhs = comb(2 * n, n)
print(lhs, rhs, lhs == rhs)
