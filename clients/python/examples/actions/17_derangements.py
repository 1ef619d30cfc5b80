import itertools


def derangements(n):
    return sum(
        all(p[i] != i for i in range(n)) for p in itertools.permutations(range(n))
    )


print([derangements(n) for n in range(1, 8)])
