import numpy as np

n = 6
hilbert = np.array([[1 / (i + j + 1) for j in range(n)] for i in range(n)])
print(f"{np.linalg.det(hilbert):.3e}")
print(np.linalg.matrix_rank(np.outer(range(4), range(4))))
