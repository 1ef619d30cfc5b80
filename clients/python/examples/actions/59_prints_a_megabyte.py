# the whole table that nobody asked for
for n in range(50_000):
    print(f"{n:06d} {n * n % 997:013d}")
