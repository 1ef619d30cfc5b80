triples = []
for c in range(1, 51):
    for b in range(1, c):
        for a in range(1, b):
            if a * a + b * b == c * c:
                triples.append((a, b, c))
print(len(triples))
for t in triples[:5]:
    print(t)
