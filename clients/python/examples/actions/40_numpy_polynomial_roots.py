import numpy as np

roots = sorted(np.roots([1, -6, 11, -6]).real)
print([round(float(r), 6) for r in roots])
