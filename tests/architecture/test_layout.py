"""The shape of the house: small modules, short functions, a test file for every module, every prompt in use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "skillopt"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_MODULE = 300
LONGEST_FUNCTION = 60


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_a_module_tells_one_story() -> None:
    lengths = {name(module): len(module.read_text("utf-8").splitlines()) for module in MODULES}
    assert {module: length for module, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_a_function_tells_one_story() -> None:
    lengths = {
        f"{name(module)}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {function: length for function, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_every_module_has_its_test_file() -> None:
    modules = [module.relative_to(PACKAGE) for module in MODULES if not module.stem.startswith("__")]
    mirrors = [ROOT / "tests" / module.with_name(f"test_{module.name}") for module in modules]
    assert [mirror.relative_to(ROOT).as_posix() for mirror in mirrors if not mirror.is_file()] == []


def prompt_pattern(node: ast.AST) -> str | None:
    """The pattern of the names that a string, or one with gaps after its beginning, can stand for."""
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=[ast.Constant(value=str(beginning)), *_]) if beginning[:4].isalpha():
            return "".join(prompt_pattern(part) or r"\w+" for part in node.values)
        case _:
            return None


def test_every_prompt_is_used() -> None:
    prompts = {path.stem for path in (PACKAGE / "prompts").glob("*.md")}
    nodes = (node for module in MODULES for node in ast.walk(ast.parse(module.read_text("utf-8"))))
    patterns = {pattern for node in nodes if (pattern := prompt_pattern(node)) and len(pattern) < 100}
    assert {prompt for prompt in prompts if not any(re.fullmatch(pattern, prompt) for pattern in patterns)} == set()
