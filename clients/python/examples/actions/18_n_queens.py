def solve(n, row=0, columns=0, left=0, right=0):
    if row == n:
        return 1
    count = 0
    free = ~(columns | left | right) & ((1 << n) - 1)
    while free:
        bit = free & -free
        free ^= bit
        count += solve(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return count


print([solve(n) for n in range(1, 9)])
