# Sum of the squares of the first 100 natural numbers
total = 0
for n in range(1, 101):
    total += n**2
print(total)
