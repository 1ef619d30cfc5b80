answer = sum(range(10))
