import numpy as np

x = np.arange(10)
y = 3 * x + 2
slope, intercept = np.polyfit(x, y, 1)
print(f"{slope:.4f} {intercept:.4f}")
