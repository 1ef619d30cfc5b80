"""Runs a program with one system call denied: how tests take a layer away for real.

    python3 deny.py 'NUMBER[ ARG&MASK | ARG=VALUE]' ERRNO PROGRAM ARGUMENTS...

The filter stays on all that the program starts. Needs CAP_SYS_ADMIN, and sets no
no_new_privs, which would be a layer itself.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

LOAD, AND, JUMP_EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, MODE_FILTER = 22, 2
NUMBER_AT, ARGUMENTS_AT = 0, 16


def op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction of classic BPF."""
    return struct.pack("=HBBI", code, yes, no, value)


def program(rule: str, error: int) -> bytes:
    """The filter."""
    number, _, condition = rule.partition(" ")
    lines = [op(LOAD, NUMBER_AT)]
    if not condition:
        lines += [op(JUMP_EQUAL, int(number), 0, 1), op(RETURN, ERRNO | error)]
    else:
        masked = "&" in condition
        argument, _, value = condition.partition("&" if masked else "=")
        check = [op(LOAD, ARGUMENTS_AT + 8 * int(argument))]
        if masked:
            check += [op(AND, int(value, 0))]
        check += [op(JUMP_EQUAL, int(value, 0), 0, 1), op(RETURN, ERRNO | error)]
        lines += [op(JUMP_EQUAL, int(number), 0, len(check)), *check]
    return b"".join([*lines, op(RETURN, ALLOW)])


def main(arguments: list[str]) -> None:
    """Deny, then become the program."""
    rule, error, *command = arguments
    code = ctypes.create_string_buffer(program(rule, int(error)))
    length = (len(code) - 1) // 8
    header = struct.pack("@HP", length, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, header, 0, 0) != 0:
        sys.exit(f"deny.py: prctl: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
