from decimal import Decimal, getcontext

getcontext().prec = 60


def arctan_inverse(x):
    x = Decimal(x)
    power, total, n, sign = 1 / x, 1 / x, 1, 1
    while power > Decimal(10) ** -58:
        power /= x * x
        n += 2
        sign = -sign
        total += sign * power / n
    return total


pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
print(str(pi)[:52])
