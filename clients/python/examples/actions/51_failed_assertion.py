candidate = 561  # a Carmichael number fools the Fermat test
assert all(pow(a, candidate - 1, candidate) == 1 for a in (2, 5, 7))
assert all(candidate % d for d in range(2, candidate)), "561 is not prime"
