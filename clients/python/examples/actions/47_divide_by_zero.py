def slope(p, q):
    return (q[1] - p[1]) / (q[0] - p[0])


print(slope((0, 0), (2, 4)))
print(slope((1, 0), (1, 4)))
