# Number of ways to write 100 as a sum of at least two positive integers
target = 100
ways = [1] + [0] * target
for part in range(1, target):
    for total in range(part, target + 1):
        ways[total] += ways[total - part]
print(ways[target])
