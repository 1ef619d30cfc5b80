import numpy as np

A = np.array([[3.0, 2.0, -1.0], [2.0, -2.0, 4.0], [-1.0, 0.5, -1.0]])
b = np.array([1.0, -2.0, 0.0])
x = np.linalg.solve(A, b)
print([round(float(v), 6) for v in x])
print(bool(np.allclose(A @ x, b)))
