def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


a, b = 252, 198
g = gcd(a, b)
print("gcd:", g)
print("lcm:", a * b // g)
