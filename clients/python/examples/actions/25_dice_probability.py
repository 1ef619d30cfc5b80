from collections import Counter
from fractions import Fraction
from itertools import product

sums = Counter(sum(roll) for roll in product(range(1, 7), repeat=3))
p = Fraction(sums[10] + sums[11], 6**3)
print(p, "~", round(float(p), 4))
