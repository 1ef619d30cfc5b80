a, b = 0, 1
for _ in range(300):
    a, b = b, a + b
print(a)
print("digits:", len(str(a)))
