# Runs an action: its source comes on descriptor 3, closed before its first line runs.
# What the action sees is a script of its own, in /work: a fresh __main__, tracebacks of
# its own lines only, exit codes as python3 gives them. Passed by `python3 -c`.
# ruff: noqa: PLC0415  (an import is made only by the action that needs it)
import sys

NAME = "<action>"


def load() -> bytes:
    import linecache

    with open(3, "rb") as file:
        source = file.read()
    text = source.decode("utf-8", "replace")
    # no modification time: kept for good, so that tracebacks can show the lines
    linecache.cache[NAME] = (len(text), None, text.splitlines(True), NAME)
    # `python3 -c` left this runner there, as the source of every "<string>"
    linecache.cache.pop("<string>", None)
    getattr(linecache, "_interactive_cache", {}).clear()
    return source


def show(error: BaseException) -> None:
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as other:  # as python3 itself tells of a hook that fails
        trace = other.__traceback__ and other.__traceback__.tb_next
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(other), other.with_traceback(trace), trace)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


def fail(error: BaseException) -> None:
    trace = error.__traceback__ and error.__traceback__.tb_next
    show(error.with_traceback(trace))
    if isinstance(error, KeyboardInterrupt):  # as python3 itself ends: by the signal
        import os
        import signal

        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1)


def run() -> None:
    source = load()
    main = type(sys)("__main__")
    vars(main)["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.argv[:] = [NAME]
    sys.path.insert(0, "/work")
    try:
        exec(compile(source, NAME, "exec", dont_inherit=True), vars(main))  # noqa: S102  # what it is for
    except SystemExit:
        raise
    except BaseException as caught:
        error = caught
    else:
        return
    fail(error)  # with no exception at hand, which a hook's own would then chain to


run()
