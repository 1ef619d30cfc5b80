x = 3
y = x + undefined_offset
print(y)
