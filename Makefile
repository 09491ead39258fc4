# Two commands do all the set-up on a fresh machine with python3, make and git: `make bake` and `make test`.

BIN := .venv/bin
STAGE ?= stages/falling_boxes.usda
BAKED := bakes/$(notdir $(basename $(STAGE))).usda
ARGS ?=

.PHONY: help bake test test-fast lint format setup clean
.DELETE_ON_ERROR:

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bake: .venv/.run ## bake a shipped stage into bakes/ (STAGE=... picks another one)
	@mkdir -p bakes
	@$(BIN)/usd-sim bake $(STAGE) -o $(BAKED) --overwrite
	@echo "Result: $(abspath $(BAKED))"

test: .venv/.dev ## run all tests (ARGS=... goes to pytest)
	@$(BIN)/python -m pytest $(ARGS)

test-fast: .venv/.dev ## run the tests that take seconds, not minutes
	@$(BIN)/python -m pytest -m "not slow" $(ARGS)

lint: .venv/.dev ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev ## reformat, and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: .venv/.dev ## create or update the environment for development

# The environment is made anew only when what it is made from has changed.
.venv/.dev .venv/.run: .venv/.%: pyproject.toml setup.py tools/setup_env.sh tools/system_packages.txt
	@tools/setup_env.sh $*
	@touch $(if $(filter dev,$*),.venv/.run) $@

clean: ## remove the environment, caches and results
	rm -rf .venv bakes build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
