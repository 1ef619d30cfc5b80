import sys

numbers = [int(word) for word in sys.stdin.read().split()]
print(len(numbers), sum(numbers), max(numbers))
