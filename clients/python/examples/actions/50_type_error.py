total = 0
for value in [1, 2, "3"]:
    total += value
print(total)
