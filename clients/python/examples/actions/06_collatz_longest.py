# Which start below 10000 has the longest Collatz chain?
lengths = {1: 1}


def length(n):
    steps, trail = 0, []
    while n not in lengths:
        trail.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    base = lengths[n]
    for i, m in enumerate(reversed(trail), 1):
        lengths[m] = base + i
    return base + len(trail)


best = max(range(1, 10_000), key=length)
print(best, length(best))
