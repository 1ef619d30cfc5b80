from fractions import Fraction


def term(k):
    if k == 0:
        return 2
    return 2 * (k + 1) // 3 if k % 3 == 2 else 1


x = Fraction(term(19))
for k in range(18, -1, -1):
    x = term(k) + 1 / x
print(x)
print(f"{float(x):.12f}")
