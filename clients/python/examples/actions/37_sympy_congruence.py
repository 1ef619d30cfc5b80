from sympy import totient, primitive_root, isprime
from sympy.ntheory.modular import crt

print(totient(360), primitive_root(41), isprime(2**61 - 1))
print(crt([99, 97, 95], [49, 76, 65]))
