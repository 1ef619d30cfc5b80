import math


def f(x):
    return math.cos(x) - x


low, high = 0.0, 1.0
for _ in range(60):
    mid = (low + high) / 2
    if f(low) * f(mid) <= 0:
        high = mid
    else:
        low = mid
print(f"root = {low:.10f}")
