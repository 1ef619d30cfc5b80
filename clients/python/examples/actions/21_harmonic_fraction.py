from fractions import Fraction

h = sum(Fraction(1, k) for k in range(1, 21))
print(h)
print(float(h))
