# looks for an odd perfect number
print("searching", flush=True)
n = 1
while True:
    n += 2
