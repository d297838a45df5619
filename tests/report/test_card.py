"""The run card."""

from __future__ import annotations

import shutil
from pathlib import Path

from skillopt.report.card import is_simulated, run_card
from skillopt.report.run_files import RunFiles


def test_the_card_has_what_is_needed_to_repeat_the_run(eventful: Path) -> None:
    """F130: digests of data and prompts, models and their settings by role, versions, seeds, k/n scores."""
    files = RunFiles(eventful)
    card, summary = dict(run_card(files)), files.summary
    assert summary is not None and files.manifest is not None
    for name in ("skillopt_version", "prompts_digest", "identity_digest", "seed_skill_hash", "best_skill_hash"):
        assert card[name] == str(summary[name])
    for split in ("selection", "test"):
        for skill in ("seed", "best"):
            assert card[f"{split}: {skill} skill"] == summary[split][skill]["shown"]
    assert card["data.digest"] == summary["data"]["digest"]
    assert card["models.target.settings.noise"] == "0.2"
    assert card["models.optimizer.provider"] == "simulated"
    assert card["environment.settings.scorer"] == "exact"
    assert (card["train.seed"], card["env.split_seed"]) == ("42", "42")
    for split, told in files.manifest["splits"].items():
        assert card[f"{split}: digest of ids and contents"] == told["digest"]


def test_while_a_start_of_the_run_is_at_work_the_card_says_all_but_the_end(eventful: Path, tmp_path: Path) -> None:
    """Summary and scores are those of the start before."""
    run = shutil.copytree(eventful, tmp_path / "run")
    ended = dict(run_card(RunFiles(run)))
    with (run / "events.jsonl").open("ab") as log:
        log.write(next(line for line in log_of(run) if b'"RunStarted"' in line))
    files = RunFiles(run)
    assert files.summary is None and is_simulated(files)
    gone = ended.keys() - dict(run_card(files)).keys()
    assert gone >= {"state", "best_skill_hash", "selection: best skill"}
    assert not any(name.startswith(("models.", "data.", "environment.")) or "digest" in name for name in gone)
    (run / "summary.json").unlink()
    (run / "config.yaml").unlink()
    assert is_simulated(RunFiles(run))


def test_a_run_that_an_older_version_wrote_has_the_card_of_its_summary(eventful: Path, tmp_path: Path) -> None:
    run = shutil.copytree(eventful, tmp_path / "run")
    (run / "run_card.json").unlink()
    assert run_card(RunFiles(run)) == run_card(RunFiles(eventful))


def log_of(run: Path) -> list[bytes]:
    return (run / "events.jsonl").read_bytes().splitlines(keepends=True)


def test_a_run_that_has_just_begun_has_an_empty_card(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("", "utf-8")
    assert run_card(RunFiles(tmp_path)) == ()
