p = 1_000_000_007
total = 0
for a in range(1, 1001):
    inverse = pow(a, p - 2, p)
    assert a * inverse % p == 1
    total = (total + inverse) % p
print(total)
