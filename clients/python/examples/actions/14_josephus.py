from collections import deque

people = deque(range(1, 42))
while len(people) > 1:
    people.rotate(-2)
    people.popleft()
print("survivor:", people[0])
