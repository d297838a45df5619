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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from skillopt.digests import digest
from skillopt.environments.foreign import foreign_code, words_of
from skillopt.errors import EnvironmentLoadError
from skillopt.user_files import UnusableFile, read_user_file

FUNCTION = re.compile(r"(?P<code>.+):(?P<function>[^\W\d]\w*)")
"""How a function is named: `module:function` or `file.py:function`."""

_LARGEST = 100_000_000
"""Most bytes of a file with code, compiled ones included."""

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
        signature: Its parameters.
        sha256: Digest of the source file's bytes, 64 hexadecimal digits.
    """

    name: str
    function: Callable[..., object]
    signature: inspect.Signature
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
    with foreign_code(f"{kind} {reference!r} cannot be looked up: "):
        function: object = getattr(loaded.module, named["function"], None)
    if not callable(function):
        raise EnvironmentLoadError(f"{named['code']} defines no function {named['function']!r}")
    if inspect.iscoroutinefunction(function):
        raise EnvironmentLoadError(f"{kind} {reference!r} is async; it is called without await")
    with foreign_code(f"the parameters of {kind} {reference!r} cannot be told: ", hint="Name a plain function."):
        signature = inspect.signature(function)
    return LoadedFunction(named["function"], function, signature, loaded.sha256)


def load_file(path: Path) -> LoadedCode:
    """Execute a Python file under a private module name.

    Args:
        path: The file.

    Raises:
        EnvironmentLoadError: If it is missing, no regular file, not valid Python, or raises while it is executed.
    """
    source = read_source(path)
    try:
        code = compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise EnvironmentLoadError(f"{path}, line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte; nested too deeply
        raise EnvironmentLoadError(f"{path}: not a Python file: {words_of(error)}") from error
    sha256 = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"_skillopt_code_{digest([str(path), sha256])[:16]}")
    module.__file__ = str(path)
    # Dataclasses and pydantic look their annotations up through sys.modules; the name is ours alone.
    sys.modules[module.__name__] = module
    try:
        with foreign_code(import_hint=_ALONE):
            exec(code, module.__dict__)
    except BaseException:
        sys.modules.pop(module.__name__, None)
        raise
    return LoadedCode(module, sha256)


def load_module(name: str) -> LoadedCode:
    """Import an installed module.

    Args:
        name: Its dotted name.

    Raises:
        EnvironmentLoadError: If it cannot be imported, or has no source file to tell its versions apart.
    """
    hint = "Install it into this environment, or name a file: path/to/file.py:function."
    with foreign_code(f"module {name!r} cannot be imported: ", hint=hint):
        module = importlib.import_module(name)
    file: str | None = getattr(module, "__file__", None)
    if not file:
        raise EnvironmentLoadError(f"module {name!r} has no source file", hint="Name the module that holds the code.")
    return LoadedCode(module, hashlib.sha256(read_source(Path(file))).hexdigest())


def read_source(path: Path) -> bytes:
    """Return the bytes of a file with code, without running any of it.

    Raises:
        EnvironmentLoadError: If it is missing, no regular file, or cannot be read.
    """
    try:
        return read_user_file(path, most_bytes=_LARGEST)
    except UnusableFile as problem:
        raise EnvironmentLoadError(
            f"{path} {problem.reason}", hint=problem.hint or "Give the path of a Python file that exists."
        ) from None
