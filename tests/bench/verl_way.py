"""verl-tool's way of running Python, written anew from what it does.

A file for the action with about 18 star imports in front, a fresh interpreter under
rlimits, firejail around it if the machine has it. No server stands before it here,
which is to its advantage.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = (
    "--quiet --seccomp=socket --noprofile --rlimit-nproc=32 --rlimit-nofile=32 "
    "--rlimit-fsize=2m --rlimit-as=1096m"
).split()
STARS = (
    "string re datetime collections heapq bisect copy math random statistics "
    "itertools functools operator io sys json builtins typing"
).split()
PRELUDE = "".join(f"from {name} import *\n" for name in STARS)
LIMIT_BYTES = 4 << 30
TIMEOUT_S = 10


def execute(code: str, *, firejail: bool) -> str:
    """The action's output."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.py"
        path.write_text(PRELUDE + code)
        jail = ["firejail", *FLAGS] if firejail else []
        done = subprocess.run(
            [*jail, "python3", str(path)],
            cwd=folder,
            input="",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            preexec_fn=_limit,
            check=False,
        )
    return done.stdout + done.stderr


def is_firejail_active() -> bool:
    """Whether firejail confines here: in a container it runs the program bare."""
    if shutil.which("firejail") is None:
        return False
    words = 'print([l for l in open("/proc/self/status") if "Seccomp:" in l][0])'
    return execute(words, firejail=True).split()[-1:] == ["2"]


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT_S, TIMEOUT_S))
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def load_real(checkout: str) -> Callable[[str], str]:
    """verl-tool's own `execute_python`, with the options of its tool: firejail if there
    is one.

    Its module is loaded alone: the base class and ray, which bring a training stack
    along, are not needed to run an action, and `re` will do for `regex`.
    """
    path = Path(checkout) / "verl_tool/servers/tools/python_code.py"
    if not path.exists():
        raise SystemExit(f"VERL_TOOL_DIR: no {path}")
    package = types.ModuleType("verl_tool_alone")
    package.__path__ = [str(path.parent)]
    base: Any = types.ModuleType("verl_tool_alone.base")
    base.BaseTool = object
    base.register_tool = lambda cls: cls
    sys.modules |= {"verl_tool_alone": package, "verl_tool_alone.base": base}
    sys.modules.setdefault("ray", types.ModuleType("ray"))
    sys.modules.setdefault("regex", re)
    spec = importlib.util.spec_from_file_location("verl_tool_alone.python_code", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    taken = inspect.signature(module.execute_python).parameters
    names = {"pre_import_lib", "use_firejail"} & set(taken)
    options = {n: getattr(module.PythonCodeTool, n, taken[n].default) for n in names}
    return lambda code: str(module.execute_python(code, **options)[0])
