# The commands of a contributor. They need only Python 3.10 or later and make.

PYTHON ?= python3
VENV ?= .venv
LOCK_PYTHONS ?= python3.10 python3.11 python3.12 python3.13

BIN := $(VENV)/bin
LOG := $(VENV)/install.log
# LeRobot and its packages, beside the environment: see tests/interop/lerobot.txt.
LEROBOT := $(VENV)/lerobot
# One thread for each process: the workers of pytest already fill the cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PARALLEL := -n auto --maxprocesses 4 --no-loadscope-reorder

# The extras of the quickstart; play brings train and sim, and the README opens the playground next.
BASE := .[play]

# The number of steps of a target. The first two make the environment if it is missing.
STEPS = 3
install: STEPS = 2
test: STEPS = 4
lint: STEPS = 7
check: STEPS = 8
# Pyright is pinned, so it need not look for a newer version.
lint: export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help quickstart install lerobot test test-slow lint check format docs paper bench results lock clean

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

lerobot: $(VENV)/.dev $(LEROBOT)/.installed ## Install LeRobot beside the environment, for its tests

test: $(VENV)/.dev $(LEROBOT)/.installed ## Run all tests except the slow ones
	@echo "[4/$(STEPS)] Running the tests"
	@$(PYTEST) -q $(PARALLEL) --durations 10 --durations-min 10
	@echo "Next: 'make check' for style, prose, types and imports; 'make test-slow' for the long tests."

test-slow: $(VENV)/.dev ## Run the slow tests, which take minutes each
	@echo "[3/$(STEPS)] Running the slow tests"
	@$(PYTEST) -q -m slow --timeout 3600

lint: $(VENV)/.dev ## Check format, style, prose, types and imports
	@echo "[3/$(STEPS)] Format"
	@$(BIN)/ruff format --check --quiet . || { echo "Run 'make format'."; exit 1; }
	@echo "[4/$(STEPS)] Style"
	@$(BIN)/ruff check --quiet .
	@echo "[5/$(STEPS)] Prose"
	@$(BIN)/python -m tools.prose
	@echo "[6/$(STEPS)] Types"
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@echo "[7/$(STEPS)] Imports"
	@$(BIN)/lint-imports --no-logo

check: ## Do what lint does, then run the fast tests
	@$(MAKE) --no-print-directory lint STEPS=$(STEPS)
	@echo "[8/$(STEPS)] Fast tests"
	@$(PYTEST) -q $(PARALLEL) -m "not slow and not full" --durations 5 --durations-min 1
	@echo "Next: 'make test' runs all the tests."

format: $(VENV)/.dev ## Format the code and apply safe fixes
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

docs: $(VENV)/.docs ## Build the documentation site in site/; a broken link is an error
	@echo "[3/$(STEPS)] Building the site"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Next: open site/index.html, or '$(BIN)/mkdocs serve' to see pages as you write them."

paper: ## Write docs/report.md as a PDF, site/report.pdf; needs pandoc and XeLaTeX
	@$(PYTHON) tools/paper.py site/report.pdf

bench: $(VENV)/.base ## Run the benchmarks
	@echo "[3/$(STEPS)] Running the benchmarks"
	@$(BIN)/python -m benchmarks

results: $(VENV)/.base ## Train and measure what results/ lacks (hours; STAGES="chains direct" for some); continues
	@echo "[3/$(STEPS)] Making the results"
	@$(BIN)/python -m goalsets.campaign $(STAGES)

lock: $(VENV)/.created ## Resolve constraints.txt again; needs each of LOCK_PYTHONS
	@$(BIN)/python tools/lock.py $(LOCK_PYTHONS)

clean: ## Remove the environment, caches and build products
	@rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- The environment ------------------------------------------------------------------------

# Installs $(1) at the pinned versions. It prints a dot for each package and writes pip's output to a log.
# The constraints are environment variables, so that they also hold for the build backend.
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
 || { tail -n 20 $(LOG); echo "The install failed; $(LOG) has all of pip's output."; exit 1; }
endef

$(VENV)/.created:
	@echo "[1/$(STEPS)] Creating the environment $(VENV)"
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no '$(PYTHON)' here: install Python 3.10 or later, or name one" \
	       "with 'make PYTHON=/path/to/python'."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "goalsets needs Python 3.10 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	       "Name another one with 'make PYTHON=/path/to/python'."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks its venv module; on Debian and Ubuntu, install python3-venv."; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || \
	  echo "Note: OGBench cannot be installed on Python 3.13 and later, so its tasks will be missing."
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
	@echo "[2/$(STEPS)] Installing goalsets, its dependencies and the site builder, a minute or more"
	$(call pip-install,.[docs])
	@touch $@

# Without constraints and without dependencies, because LeRobot requires other versions than ours.
# The last file says that the install is complete. If it fails, the next call tries again.
$(LEROBOT)/.installed: $(VENV)/.created tests/interop/lerobot.txt
	@echo "[3/$(STEPS)] Installing LeRobot beside the environment, half a minute or more"
	@rm -rf $(LEROBOT)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --progress-bar off --no-deps \
	   --only-binary :all: --target $(LEROBOT) --requirement tests/interop/lerobot.txt \
	   >$(LEROBOT).log 2>&1 && touch $@ \
	 || echo "LeRobot does not install here, so its tests will be skipped; $(LEROBOT).log says why."
