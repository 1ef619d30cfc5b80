for n in range(2, 10_000):
    divisors = [1]
    for d in range(2, int(n**0.5) + 1):
        if n % d == 0:
            divisors += [d] if d * d == n else [d, n // d]
    if sum(divisors) == n:
        print(n, sorted(divisors))
