def f(n):
    return n * f(n - 1)  # the base case is missing


print(f(5))
