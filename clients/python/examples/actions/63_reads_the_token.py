# the paths of the caller's secrets come on stdin; nothing there may be readable
import sys

for path in sys.stdin.read().splitlines():
    try:
        with open(path) as file:
            print("READ", path, len(file.read()))
    except OSError:
        print("out of reach")
