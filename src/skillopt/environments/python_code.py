"""Loading Python code that a configuration names: an environment's file, the function of a scorer or of the gate.

The bytes that are digested are the bytes that run: no cached bytecode, no search path. The code gets a private module
name, so it can neither shadow a package nor be mistaken for another file of the same name. Whatever goes wrong in it
is an `EnvironmentLoadError` that names its file and line.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from skillopt.digests import digest
from skillopt.errors import EnvironmentLoadError

FUNCTION = re.compile(r"(?P<code>.+):(?P<function>[^\W\d]\w*)")
"""How a function is named: `module:function` or `file.py:function`."""

_ALONE = "A file that a configuration names stands alone: install what it imports, or make it a package of its own."


@dataclass(frozen=True, slots=True)
class LoadedCode:
    """A module and which code it is.

    Attributes:
        module: The executed module.
        sha256: Digest of the source file's bytes, 64 hexadecimal digits.
    """

    module: ModuleType
    sha256: str


@dataclass(frozen=True, slots=True)
class LoadedFunction:
    """A function and which code it is.

    Attributes:
        name: Its name.
        function: The function.
        sha256: Digest of the source file's bytes, 64 hexadecimal digits.
    """

    name: str
    function: Callable[..., object]
    sha256: str


def load_function(reference: str, *, kind: str) -> LoadedFunction:
    """Load the function that `module:function` or `file.py:function` names.

    Args:
        reference: The name; a relative file is read from the working directory.
        kind: What the function is for, as messages call it.

    Raises:
        EnvironmentLoadError: If there is no such file, module or function, or the function is async.
    """
    named = FUNCTION.fullmatch(reference)
    if named is None:
        raise EnvironmentLoadError(f"{kind} {reference!r} is neither module:function nor file.py:function")
    is_file = named["code"].endswith(".py")
    loaded = load_file(Path(named["code"]).absolute()) if is_file else load_module(named["code"])
    function: object = getattr(loaded.module, named["function"], None)
    if not callable(function):
        raise EnvironmentLoadError(f"{named['code']} defines no function {named['function']!r}")
    if inspect.iscoroutinefunction(function):
        raise EnvironmentLoadError(f"{kind} {reference!r} is async; it is called without await")
    return LoadedFunction(named["function"], function, loaded.sha256)


def load_file(path: Path) -> LoadedCode:
    """Execute a Python file under a private module name.

    Args:
        path: The file.

    Raises:
        EnvironmentLoadError: If it is missing, is not valid Python, or raises while it is executed.
    """
    if path.exists() and not path.is_dir() and not path.is_file():
        raise EnvironmentLoadError(f"{path}: no regular file", hint="Give the path of a Python file that exists.")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise EnvironmentLoadError(
            f"{path}: {error.strerror or error}", hint="Give the path of a Python file that exists."
        ) from error
    try:
        code = compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise EnvironmentLoadError(f"{path}, line {error.lineno}: {error.msg}") from error
    except ValueError as error:  # a null byte
        raise EnvironmentLoadError(f"{path}: not a Python file: {error}") from error
    sha256 = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"_skillopt_code_{digest([str(path), sha256])[:16]}")
    module.__file__ = str(path)
    # Dataclasses and pydantic look their annotations up through sys.modules; the name is ours alone.
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:  # the seam to code that is not ours: any fault of it is a load error
        del sys.modules[module.__name__]
        raise EnvironmentLoadError(
            f"{_where(error, path)}: {type(error).__name__}: {error}",
            hint=_ALONE if isinstance(error, ImportError) else "",
        ) from error
    return LoadedCode(module, sha256)


def load_module(name: str) -> LoadedCode:
    """Import an installed module.

    Args:
        name: Its dotted name.

    Raises:
        EnvironmentLoadError: If it cannot be imported, or has no source file to tell its versions apart.
    """
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the seam to code that is not ours
        raise EnvironmentLoadError(
            f"module {name!r} cannot be imported: {type(error).__name__}: {error}",
            hint="Install it into this environment, or name a file: path/to/file.py:function.",
        ) from error
    file: str | None = getattr(module, "__file__", None)
    if not file:
        raise EnvironmentLoadError(f"module {name!r} has no source file", hint="Name the module that holds the code.")
    return LoadedCode(module, hashlib.sha256(Path(file).read_bytes()).hexdigest())


def _where(error: BaseException, path: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
