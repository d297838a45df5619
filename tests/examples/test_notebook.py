"""The notebook, run from end to end in a directory whose path is not a plain one, and its helpers one by one."""

from __future__ import annotations

import ast
import base64
import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "train_and_look.ipynb"
CELLS = {cell["id"]: cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the notebook reads, below a name with spaces, quotes and letters of several scripts."""
    copy = tmp_path / "Übung: it's 2 % 训练 $HOME"
    for name in ("examples/simulated", "examples/notebook", "scripts"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(copy / "examples" / "notebook")
    return copy


def execute(project: Path, **knobs: Any) -> Any:
    """Run the copied notebook in a kernel of its own with knobs set, and return it with its outputs."""
    book: Any = nbformat.read(project / "examples" / "notebook" / NOTEBOOK.name, as_version=4)
    (cell,) = [cell for cell in book.cells if cell["id"] == "knobs"]
    for name, value in knobs.items():
        assert f'"{name}": None' in cell["source"]
        cell["source"] = cell["source"].replace(f'"{name}": None', f'"{name}": {value!r}')
    where = {"metadata": {"path": str(project / "examples" / "notebook")}}
    return NotebookClient(book, timeout=300, kernel_name="python3", resources=where).execute()


def outputs(book: Any, kind: str) -> list[str]:
    """What the cells of a notebook show of a kind, such as pictures, in their order."""
    shown = [output for cell in book.cells for output in cell.get("outputs", ())]
    return [output["data"][kind] for output in shown if kind in output.get("data", {})]


def test_the_notebook_trains_and_draws_three_pictures(project: Path) -> None:
    book = execute(project, num_epochs=1)
    run = project / "runs" / "from a notebook"
    pictures = [base64.b64decode(text) for text in outputs(book, "image/png")]
    assert [picture[:8] for picture in pictures] == [b"\x89PNG\r\n\x1a\n"] * 3
    assert len(set(pictures)) == 3
    cells = {cell["id"]: cell for cell in book.cells}
    assert all(output["output_type"] != "error" for cell in cells.values() for output in cell.get("outputs", ()))
    said = "".join(output["text"] for cell in (cells["train"],) for output in cell["outputs"])
    assert "improved: " in said
    assert len(cells["train"]["outputs"]) >= 1 and all(
        output["name"] == "stdout" for output in cells["train"]["outputs"]
    )
    assert cells["skill"]["outputs"][0]["text"] == (run / "best_skill.md").read_text("utf-8") + "\n"
    (table,) = [text for text in outputs(book, "text/plain") if "train_acc" in text]
    assert "edit_budget" in table and "val_acc" in table
    assert len(json.loads((run / "history.json").read_text("utf-8"))) == 6


def test_a_training_that_fails_ends_the_notebook_with_its_last_words(project: Path) -> None:
    with pytest.raises(CellExecutionError) as error:
        execute(project, config="nowhere to be found.yaml")
    assert error.value.ename == "RuntimeError"
    assert "train.py ended with code 1; it last said:" in error.value.evalue
    assert "nowhere to be found.yaml" in error.value.evalue


def helpers(*cells: str, **given: Any) -> dict[str, Any]:
    """What cells of the notebook define."""
    names = dict(given)
    for cell in cells:
        exec("".join(CELLS[cell]["source"]), names)
    return names


def test_every_knob_that_is_not_set_falls_back(project: Path) -> None:
    bare = helpers("settings", KNOBS={})
    assert bare["PROJECT"] == project
    assert bare["CONFIG"] == project / "examples" / "simulated" / "config.yaml"
    assert bare["options"] == [f"env.out_root={json.dumps(str(bare['RUN']), ensure_ascii=False)}"]
    assert helpers("knobs", "settings")["options"] == bare["options"]


def test_knobs_that_are_set_become_settings(project: Path) -> None:
    from skillopt.config.load import load_config

    set_ones = {
        "num_epochs": 3,
        "optimizer": "simulated:optimizer?seed=1",
        "options": {"optimizer.lr_scheduler": "cosine", "train.seed": None},
    }
    names = helpers("settings", KNOBS=set_ones)
    config = load_config(names["CONFIG"], names["options"]).config
    assert (config.train.num_epochs, config.optimizer.lr_scheduler) == (3, "cosine")
    assert config.model.optimizer.name == "simulated:optimizer?seed=1"
    assert Path(config.env.out_root) == names["RUN"] == project / "runs" / "from a notebook"


def test_a_notebook_outside_of_a_project_asks_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"KNOBS\['project'\]"):
        helpers("settings", KNOBS={})
    assert helpers("settings", KNOBS={"project": ROOT})["PROJECT"] == ROOT


SCRIPT = """
import sys
print("given", sys.argv[1:])
print("größer", "训练", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "a b" / "say it.py"
    path.parent.mkdir()
    path.write_text(SCRIPT, "utf-8")
    return path


@pytest.mark.parametrize("code", [0, 10, 11, 12, 14, 15])
def test_a_training_that_ended_in_order_lets_the_notebook_go_on(
    code: int, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(code), "a = 'b c'"]
    assert helpers("settings", "run-cli", KNOBS={"project": ROOT})["run_cli"]([script, *arguments]) == code
    assert set(capsys.readouterr().out.splitlines()) == {f"given {arguments}", "größer 训练"}


@pytest.mark.parametrize("code", [1, 2, 13, 130, 143])
def test_any_other_end_is_an_error_with_what_was_said(code: int, script: Path) -> None:
    run_cli = helpers("settings", "run-cli", KNOBS={"project": ROOT})["run_cli"]
    with pytest.raises(RuntimeError, match=f"say it.py ended with code {code}; it last said:\n(.*\n)*größer 训练"):
        run_cli([script, code])


def test_an_interrupted_script_is_heard_to_its_end(tmp_path: Path) -> None:
    """An interrupt reaches the script as well, which ends in order: what it says of that is shown."""
    (tmp_path / "two.py").write_text("print('one')\nprint('two')\nprint('three')", "utf-8")
    said: list[str] = []

    def interrupted_print(line: str, end: str) -> None:
        said.append(line)
        if len(said) == 1:
            raise KeyboardInterrupt

    names = helpers("settings", "run-cli", KNOBS={"project": ROOT}, print=interrupted_print)
    with pytest.raises(KeyboardInterrupt):
        names["run_cli"]([tmp_path / "two.py"])
    assert said == ["one\n", "two\n", "three\n"]


def test_only_the_end_of_a_long_output_is_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("for n in range(1000): print(n)\nraise SystemExit(1)", "utf-8")
    run_cli = helpers("settings", "run-cli", KNOBS={"project": ROOT})["run_cli"]
    with pytest.raises(RuntimeError) as error:
        run_cli([tmp_path / "long.py"])
    assert str(error.value).splitlines()[1:] == [str(number) for number in range(980, 1000)]


def test_the_committed_notebook_holds_no_outputs_and_nothing_of_a_machine() -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    assert [cell["id"] for cell in book.cells if cell.get("outputs") or cell.get("execution_count")] == []
    assert book.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert NOTEBOOK.read_text("utf-8").endswith("}\n")


def test_every_knob_of_the_notebook_is_read() -> None:
    (knobs,) = ast.parse("".join(CELLS["knobs"]["source"])).body
    assert isinstance(knobs, ast.Assign) and isinstance(knobs.value, ast.Dict)
    names = [key.value for key in knobs.value.keys if isinstance(key, ast.Constant)]
    read = "".join(CELLS["settings"]["source"])
    assert names and [name for name in names if f'knob("{name}"' not in read] == []
