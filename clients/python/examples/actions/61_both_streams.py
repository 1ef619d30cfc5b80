import sys

print("a warning", file=sys.stderr)
print("the answer is 42")
