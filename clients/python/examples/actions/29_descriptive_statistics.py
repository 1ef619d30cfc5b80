import statistics as st

marks = [72, 85, 91, 64, 88, 79, 93, 70, 85, 77]
print("mean", st.mean(marks))
print("median", st.median(marks))
print("mode", st.mode(marks))
print("stdev", round(st.stdev(marks), 4))
