# Two commands matter: `make chat` and `make test`. Both set up what is missing and may be run at any time.
#   PYTHON=...  the Python to use (>= 3.11); else one is found
#   GPU=...     cpu, cuda, vulkan, metal or hip; the choice is kept until another one is made
#   ARGS=...    passed on to chatcli

.DEFAULT_GOAL := help
.PHONY: help chat setup dev test check format eval bench lock clean

export GPU PYTHON

ready = python=$$(sh scripts/find_python.sh) && "$$python" scripts/setup.py $(1) </dev/null >&2

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 16

chat: ## set up what is missing and open the chat; stdin and stdout are chatcli's
	@$(call ready)
	@.venv/bin/chatcli chat $(ARGS)

setup: ## set up what is missing for chatting, and no more
	@$(call ready)

dev: ## set up what is missing for working on chatcli
	@$(call ready,--dev)

test: dev ## all checks and all tests, quick ones first
	@.venv/bin/python scripts/check.py --all

check: dev ## the quick part: format, lint, types, contracts, unit tests
	@.venv/bin/python scripts/check.py

format: dev ## bring the code into its form
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .

eval: ## figures that need data: make eval DATA=../shared/data
	@test -d "$(DATA)" || { echo 'make eval: name the folder of the data: make eval DATA=path' >&2; exit 2; }
	@$(call ready,--dev)
	@.venv/bin/python scripts/eval.py "$(DATA)"

bench: ## measure this machine: make bench ARGS="--json"
	@$(call ready)
	@.venv/bin/chatcli bench $(ARGS)

lock: ## write the lock files anew; UPGRADE=1 takes newer versions
	@python=$$(sh scripts/find_python.sh) && "$$python" scripts/lock.py $(if $(UPGRADE),--upgrade)

clean: ## remove the environment, build leftovers and caches of this clone; models and chats stay
	@rm -rf .venv .build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.git/*' -exec rm -rf {} +
