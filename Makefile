# Everything from nothing: each target makes the environment it needs, and again only if
# something changed. PYTHON names the interpreter (3.11 or newer).
PYTHON ?= python3
# The tests of one file run one after the other; `make test` keeps the order of the folders,
# so that the long end-to-end tests come before the many short ones.
WORKERS ?= -n auto --dist loadfile
# Each adapter in one layout and every mode, each embedder, statistics, and a whole run.
LOWEST = tests/contract/test_contract.py -k 'not (-partition or -index or -rls)' \
         tests/unit/embedding tests/unit/load/test_percentiles.py \
         tests/endtoend/test_leaks.py::test_clean_adapters_pass
PIP = -q --disable-pip-version-check --no-input
TOO_OLD = from sys import *; exit(version_info < (3, 11) and "%s is Python %d.%d; 3.11 or newer \
          is needed: add PYTHON=/path/to/python3.11 to the command" % ((executable,) + version_info[:2]))
# The commands of an environment name its folder and its interpreter: it is made anew where the
# clone was moved or the interpreter is gone.
GONE := $(shell for made in .venv-*/packages; do [ ! -f "$$made" ] || \
    { [ -x "$${made%packages}bin/python" ] && [ "$$(cat "$$made")" = "$$(pwd -P)" ]; } || \
    rm -f "$$made" "$${made%packages}installed"; done)
SOURCES := pyproject.toml README.md LICENSE \
           $(shell find src adapters -name __pycache__ -prune -o -print)
COMPILE = uv pip compile --generate-hashes --no-header \
          --no-emit-index-url --no-emit-find-links --python-version 3.11 --only-binary :all: -q
PROJECT = pyproject.toml --all-extras

.PHONY: demo test fuzz check fix lowest lock
demo: .venv-run/installed        ## the main job on every engine that can be started here
	.venv-run/bin/python -m retrieverbench run benchmarks/suites/demo.toml

test: .venv-test/installed       ## all tests, against the installed wheel
	.venv-test/bin/python -m pytest $(WORKERS) --no-loadscope-reorder

fuzz: .venv-test/installed       ## 100,000 searches of drawn tenants on each engine, or FUZZ_SEARCHES=n, for 15 minutes at most
	FUZZ_SEARCHES=$${FUZZ_SEARCHES:-100000} FUZZ_SECONDS=$${FUZZ_SECONDS:-900} \
	    .venv-test/bin/python -m pytest tests/contract/test_hostile_values.py --timeout 0

check: .venv-test/installed      ## format, lint, types, import contracts
	.venv-test/bin/ruff format --check -q .
	.venv-test/bin/ruff check -q .
	.venv-test/bin/mypy
	.venv-test/bin/lint-imports

fix: .venv-test/installed
	.venv-test/bin/ruff format -q .
	.venv-test/bin/ruff check --fix -q .

lowest: .venv-lowest/installed   ## the oldest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -q $(WORKERS) $(LOWEST)

# Made anew when its lock file changes or the last attempt was interrupted; kept otherwise. uv needs
# a tenth of pip's time, but is not to be had everywhere and knows nothing of pip's own configuration:
# where it fails, pip installs.
.PRECIOUS: .venv-%/packages
.venv-%/packages: requirements/%.txt requirements/installer.txt
	@$(PYTHON) -c '$(TOO_OLD)'
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/python -m pip install $(PIP) --require-hashes -r requirements/installer.txt \
	    && UV_HTTP_TIMEOUT=180 .venv-$*/bin/uv pip install -q --python .venv-$*/bin/python \
	        --require-hashes --no-deps -r $< \
	    || .venv-$*/bin/python -m pip install $(PIP) --require-hashes -r $<
	pwd -P > $@

.venv-%/installed: .venv-%/packages $(SOURCES)
	.venv-$*/bin/python -m pip install $(PIP) --no-deps --no-build-isolation --force-reinstall .
	touch $@

lock:                            ## needs uv; writes no registry address
	$(COMPILE) --group installer -o requirements/installer.txt
	$(COMPILE) $(PROJECT) --group build -o requirements/run.txt
	$(COMPILE) $(PROJECT) --group dev -o requirements/test.txt
	$(COMPILE) $(PROJECT) --group build --group test --resolution lowest-direct -o requirements/lowest.txt
