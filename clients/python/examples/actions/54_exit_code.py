import sys

print("no solution exists")
sys.exit(3)
