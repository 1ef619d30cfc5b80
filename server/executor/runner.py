# Runs an action: its source comes on descriptor 3, which is closed before its first line.
# What the action sees is a script of its own, in /work: a fresh __main__, tracebacks of
# its own lines only, exit codes as python3 gives them. Passed by `python3 -c`.
import sys


def load():
    import linecache

    with open(3, "rb") as file:
        source = file.read()
    text = source.decode("utf-8", "replace")
    name = "<action>"
    # no modification time: kept for good, so that tracebacks can show the lines
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return source, name


def fail(error):
    trace = error.__traceback__
    sys.excepthook(type(error), error.with_traceback(trace.tb_next), trace.tb_next)
    if isinstance(error, KeyboardInterrupt):  # as python3 itself ends: by the signal
        import os
        import signal

        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1)


def run():
    source, name = load()
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    sys.argv[:] = [name]
    sys.path.insert(0, "/work")
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        fail(error)


run()
