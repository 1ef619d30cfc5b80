from fractions import Fraction
from math import ceil

x = Fraction(7, 15)
parts = []
while x:
    d = ceil(1 / x)
    parts.append(Fraction(1, d))
    x -= parts[-1]
print("7/15 =", " + ".join(map(str, parts)))
