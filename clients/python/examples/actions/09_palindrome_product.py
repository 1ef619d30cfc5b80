# Largest palindrome made from the product of two 3-digit numbers
best = (0, 0, 0)
for i in range(999, 99, -1):
    if i * 999 < best[0]:
        break
    for j in range(999, i - 1, -1):
        p = i * j
        if p <= best[0]:
            break
        if str(p) == str(p)[::-1]:
            best = (p, i, j)
print("%d = %d * %d" % best)
