def crt(residues, moduli):
    product = 1
    for m in moduli:
        product *= m
    x = 0
    for r, m in zip(residues, moduli):
        q = product // m
        x += r * q * pow(q, -1, m)
    return x % product


x = crt([2, 3, 2], [3, 5, 7])
print("x =", x)
print("check:", x % 3, x % 5, x % 7)
