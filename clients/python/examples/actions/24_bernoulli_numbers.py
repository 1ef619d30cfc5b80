from fractions import Fraction
from math import comb

B = [Fraction(1)]
for m in range(1, 13):
    B.append(-sum(comb(m + 1, k) * B[k] for k in range(m)) / (m + 1))
for m, b in enumerate(B):
    if b:
        print(f"B{m} = {b}")
