"""What an import costs and changes: nothing heavy, nothing outside."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "skillopt"
HEAVY = {
    "aiohttp",
    "genai_prices",
    "matplotlib",
    "omegaconf",
    "pydantic_ai",
    "rapidfuzz",
    "starlette",
    "uvicorn",
    "xllamacpp",
}
ENVIRON_WRITES = {"clear", "pop", "popitem", "setdefault", "update", "__setitem__", "__delitem__"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    modules = loaded_by("import skillopt")
    assert not HEAVY & modules
    assert {name for name in modules if name.startswith("skillopt")} == {"skillopt"}


def test_the_words_of_the_method_load_nothing_heavy() -> None:
    assert not HEAVY & loaded_by("from skillopt import Config, Environment, Score, Skill, SkillOptError, Task")


def test_the_command_line_loads_nothing_heavy_before_it_works() -> None:
    assert not HEAVY & loaded_by("import skillopt.cli.main")


def writes_environment(node: ast.AST) -> bool:
    def is_environ(value: ast.AST) -> bool:
        return (isinstance(value, ast.Attribute) and value.attr == "environ") or (
            isinstance(value, ast.Name) and value.id == "environ"
        )

    match node:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return is_environ(value)
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return (is_environ(value) and method in ENVIRON_WRITES) or method in ("putenv", "unsetenv")
        case ast.AugAssign(target=target):
            return is_environ(target)
        case _:
            return False


@pytest.mark.parametrize(
    "code",
    ["os.environ['A'] = 'b'", "del os.environ['A']", "os.environ.update(a)", "environ.setdefault('A', 'b')",
     "os.putenv('A', 'b')", "os.environ |= a"],
)  # fmt: skip
def test_a_write_to_the_environment_is_seen(code: str) -> None:
    assert any(writes_environment(node) for node in ast.walk(ast.parse(code)))


def test_nothing_is_written_to_the_process_environment() -> None:
    """More 18: several runs live in one process, and a secret written there reaches every child."""
    writes = [
        f"{module.relative_to(PACKAGE).as_posix()}:{getattr(node, 'lineno', 0)}"
        for module in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if writes_environment(node)
    ]
    assert writes == []
