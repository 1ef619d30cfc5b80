rows = [[1]]
while len(rows) < 8:
    last = rows[-1]
    rows.append([1] + [x + y for x, y in zip(last, last[1:])] + [1])
for row in rows:
    print(" ".join(map(str, row)).center(28).rstrip())
