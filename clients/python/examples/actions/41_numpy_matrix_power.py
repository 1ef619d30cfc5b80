import numpy as np

F = np.array([[1, 1], [1, 0]], dtype=object)
print(np.linalg.matrix_power(F, 90)[0, 1])
