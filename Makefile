# Everything a contributor runs. Needs Python 3.10 or later, make and nothing else.

PYTHON ?= python3
VENV ?= .venv
LOCK_PYTHONS ?= python3.10 python3.11 python3.12 python3.13

BIN := $(VENV)/bin
LOG := $(VENV)/install.log
# One thread each: the workers of pytest already fill the cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PARALLEL := -n auto --maxprocesses 4 --dist loadgroup

# What the quickstart needs; a variable, because a comma would part the arguments of a call.
BASE := .[train,sim]

# Into how many steps a target divides; the first two make the environment, where it is missing.
STEPS = 3
install: STEPS = 2
check: STEPS = 7
# Pyright is pinned; do not ask whether there is a newer one.
check: export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help quickstart install test test-slow check format docs bench results lock clean

help: ## Show this list
	@echo "goalsets: queryable robot goals. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

quickstart: $(VENV)/.base ## Install goalsets, train a small policy and ask it questions
	@echo "[3/$(STEPS)] Running goalsets quickstart"
	@$(BIN)/goalsets quickstart
	@echo
	@echo "Next: '$(BIN)/goalsets --help' lists the commands; 'make test' runs the tests."

install: $(VENV)/.dev ## Install goalsets with the tools to develop it
	@echo "Installed in $(VENV). Next: 'make check' before a commit, 'make test' for all the tests."

test: $(VENV)/.dev ## Run all tests but the slow ones (ONLY=full leaves out those of make check)
	@echo "[3/$(STEPS)] Running the tests"
	@$(PYTEST) -q $(PARALLEL) $(if $(ONLY),-m "$(ONLY) and not slow") --durations 10 --durations-min 10
	@echo "Next: 'make check' for style, types and imports; 'make test-slow' for the long tests."

test-slow: $(VENV)/.dev ## Run the slow tests, which take minutes each
	@echo "[3/$(STEPS)] Running the slow tests"
	@$(PYTEST) -q -m slow --timeout 3600

check: $(VENV)/.dev ## Check format, style, types and imports, then run the fast tests
	@echo "[3/$(STEPS)] Format"
	@$(BIN)/ruff format --check --quiet . || { echo "Run 'make format'."; exit 1; }
	@echo "[4/$(STEPS)] Style"
	@$(BIN)/ruff check --quiet .
	@echo "[5/$(STEPS)] Types"
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@echo "[6/$(STEPS)] Imports"
	@$(BIN)/lint-imports --no-logo
	@echo "[7/$(STEPS)] Fast tests"
	@$(PYTEST) -q $(PARALLEL) -m "not slow and not full" --durations 5 --durations-min 1
	@echo "Next: 'make test' runs all the tests."

format: $(VENV)/.dev ## Format the code and fix what can be fixed safely
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

docs: $(VENV)/.docs ## Build the documentation site in site/; a link that leads nowhere is an error
	@echo "[3/$(STEPS)] Building the site"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Next: open site/index.html, or '$(BIN)/mkdocs serve' to see pages as you write them."

bench: $(VENV)/.base ## Run the benchmarks
	@echo "[3/$(STEPS)] Running the benchmarks"
	@$(BIN)/python -m benchmarks

results: $(VENV)/.base ## Train and measure what results/ has, hours of it; continues where it stopped
	@echo "[3/$(STEPS)] Making the results"
	@$(BIN)/python -m goalsets.campaign

lock: $(VENV)/.created ## Resolve constraints.txt anew; needs each of LOCK_PYTHONS
	@$(BIN)/python tools/lock.py $(LOCK_PYTHONS)

clean: ## Remove the environment, caches and build products
	@rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- The environment ------------------------------------------------------------------------

# Installs $(1) at the pinned versions: a dot for each package, and all that pip says in a log.
# The constraints come by the environment so that they also hold for the build backend.
define pip-install
@{ PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt \
   PIP_BUILD_CONSTRAINT=constraints.txt \
   $(BIN)/python -m pip install --progress-bar off --editable '$(1)' 2>&1; \
   echo "pip left with $$?"; } \
 | tee $(LOG) \
 | awk '/^ *(Collecting|Processing|Obtaining) / { printf "."; fflush() } \
        /^Installing collected/ { printf " unpacking"; fflush() } \
        /^pip left with/ { code = $$4 } \
        END { print ""; exit code }' \
 || { tail -n 20 $(LOG); echo "The install failed; all of pip's output is in $(LOG)."; exit 1; }
endef

$(VENV)/.created:
	@echo "[1/$(STEPS)] Creating the environment $(VENV)"
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no '$(PYTHON)' here: install Python 3.10 or later, or say which to use" \
	       "with 'make PYTHON=/path/to/python'."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "goalsets needs Python 3.10 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	       "Say which to use with 'make PYTHON=/path/to/python'."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks its venv module; on Debian and Ubuntu, install python3-venv."; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || \
	  echo "Note: OGBench cannot be installed on Python 3.13 and later; its tasks will be missing."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: $(VENV)/.created pyproject.toml constraints.txt
	@echo "[2/$(STEPS)] Installing goalsets and its dependencies, a minute or more"
	$(call pip-install,$(BASE))
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml constraints.txt
	@echo "[2/$(STEPS)] Installing goalsets, its dependencies and the development tools, a minute or more"
	$(call pip-install,.[dev])
	@touch $(VENV)/.base $(VENV)/.docs $@

$(VENV)/.docs: $(VENV)/.created pyproject.toml constraints.txt
	@echo "[2/$(STEPS)] Installing goalsets, its dependencies and what builds the site, a minute or more"
	$(call pip-install,.[docs])
	@touch $@
