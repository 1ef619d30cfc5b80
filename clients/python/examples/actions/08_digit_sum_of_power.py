n = 2**1000
print(sum(int(d) for d in str(n)))
