from fractions import Fraction

x = Fraction(1)
for step in range(5):
    x = (x + 2 / x) / 2
    print(
        step,
        x
        if step < 4
        else f"{len(str(x.numerator))} digits over {len(str(x.denominator))}",
    )
print(abs(x * x - 2) < Fraction(1, 10**20))
