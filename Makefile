# Everything starts here: each target sets up its own .venv first, with Python 3.11 or newer and make as all it needs.
# The set-up is stamped, so it happens once for each change of the locked requirements.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help quickstart quickstart-simulated test check bench gate-quality docs lock clean

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
MODEL := qwen2.5-coder-1.5b
LOCAL := $(VENV)/.local-ready
DEV := $(VENV)/.dev-ready

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 30

quickstart: $(LOCAL)  ## train a skill with a small real model on this machine: no key, about 10 minutes on 2 cores
	$(BIN)/skillopt models fetch $(MODEL)
	$(BIN)/skillopt train configs/quickstart.yaml
	@echo "Next: README.md shows the two lines that change for a hosted model, and how to train on tasks of your own."

quickstart-simulated: $(LOCAL)  ## play the whole loop on simulated models in under half a minute
	$(BIN)/skillopt train examples/simulated/config.yaml

test: $(DEV)  ## run all tests; those of the real model run where its weights were fetched
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist worksteal

check: $(DEV)  ## format, lint, types, import contracts, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --quiet tests/architecture

bench: $(DEV)  ## measure the hot paths
	$(BIN)/python -m benchmarks

gate-quality: $(DEV)  ## measure what the gate and its knobs are worth in simulated worlds: docs/gate_quality.md
	$(BIN)/python -m benchmarks.gate_quality --write $(ARGS)

docs: $(DEV)  ## write the generated parts of the pages anew
	$(BIN)/python scripts/write_docs.py

lock: $(BIN)/python  ## pin all dependencies anew, with hashes (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: install it with 'pip install uv'"; exit 1; }
	uv pip compile pyproject.toml --all-extras --group dev $(COMPILE) -o requirements/dev.lock
	uv pip compile pyproject.toml --extra local --group build $(COMPILE) \
		--constraint requirements/dev.lock -o requirements/local.lock

COMPILE := --quiet --universal --python $(BIN)/python --generate-hashes --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links

clean:  ## remove the virtual environment, caches and builds; runs stay
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The dev lock holds everything of the local one at the same versions, so either set-up serves the quick start.
$(LOCAL): requirements/local.lock pyproject.toml | $(BIN)/python
	$(call install,requirements/local.lock)

$(DEV): requirements/dev.lock pyproject.toml | $(BIN)/python
	$(call install,requirements/dev.lock)

define install
	@echo "Installing $(1) into $(VENV) (a minute or two, once) ..."
	@$(INSTALL) --require-hashes -r $(1)
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
endef

$(BIN)/python:
	@python=; for name in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14 python; do \
		if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "SkillOpt needs Python 3.11 or newer, and none was found on the PATH." >&2; \
		echo "Install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$python ..."; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "Python has no working venv module. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
