import numpy as np

rng = np.random.default_rng(2024)
points = rng.random((200_000, 2))
inside = (points**2).sum(axis=1) <= 1
estimate = 4 * inside.mean()
print("pi is near 3.14:", bool(abs(estimate - np.pi) < 0.02))
