import numpy as np

# ways to roll each sum with four dice
die = np.ones(6, dtype=int)
ways = die
for _ in range(3):
    ways = np.convolve(ways, die)
print(dict(enumerate(ways.tolist(), 4)))
