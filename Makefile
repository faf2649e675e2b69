# The tasks of this checkout; `make` alone lists them. Needs make and Python 3.11 or newer, nothing else.

# Asked, not only looked up: pyenv leaves a python3.13 on PATH that does not run, Debian a Python without venv.
# Not `:=`, so that it is looked for only when .venv is to be made.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import sys, ensurepip, ssl, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo "$$python"; break; }; done)
VENV = .venv
BIN = $(VENV)/bin
# Touched when what a server needs, and when everything, was installed from the files that each depends on.
SERVER_STAMP = $(VENV)/.installed-server
STAMP = $(VENV)/.installed
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Of the tests, what a change can break; all with `MARKERS=`.
MARKERS ?= not release
STEPS ?= 1000000
SEEDS ?= 500
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
# Only root may make the networks and disks of a cluster.
FAILOVER = [ $$(id -u) -ne 0 ] && echo "not as root, so without failovers" || $(BIN)/python -m fuzz failover

# Each process of a test run or a campaign would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run demo test check fuzz nightly bench bench-full docs screenshots dist lock clean
.DEFAULT_GOAL := help

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## make .venv and install what requirements.lock names (the others do as much of it as they need)

$(SERVER_STAMP): requirements-server.lock pyproject.toml
	@if [ ! -x $(BIN)/pip ]; then \
		python="$(PYTHON)"; \
		if [ -z "$$python" ]; then \
			echo "No Python 3.11 or newer with venv was found. Install one (Debian, Ubuntu:" >&2; \
			echo "apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3" >&2; \
			exit 1; \
		fi; \
		echo "Making $(VENV) with $$python"; \
		"$$python" -m venv $(VENV); \
	fi
	$(INSTALL) --require-hashes -r requirements-server.lock
	@# What the build needs is in the lock, so nothing is fetched past it.
	$(INSTALL) --no-index --no-deps --no-build-isolation -e .
	@touch $@

# The server's lock is a part of this one, so neither undoes what the other installed.
$(STAMP): requirements.lock $(SERVER_STAMP)
	$(INSTALL) --require-hashes -r requirements.lock
	@touch $@

run: $(SERVER_STAMP)  ## start the server (BIND=127.0.0.1:8000 and the other settings come from the environment)
	@$(BIN)/ostiary serve

demo: $(SERVER_STAMP)  ## the whole protocol in a browser: the server with sample data, and a third party
	@PYTHONPATH=docs/examples $(BIN)/python -m demo

test: $(STAMP)  ## what a change can break, in as many processes as cores and one; every test with MARKERS=
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m "$(MARKERS)"

# Quick, for before a commit: tests only of the folders touched since HEAD. .ci/run takes them all.
check: $(STAMP)  ## lint, format, types, and the tests of what was touched
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict core net web fuzz tests docs/bench
	@touched=$$(git diff --name-only HEAD 2>/dev/null && git ls-files --others --exclude-standard) \
		|| touched=pyproject.toml; \
	if echo "$$touched" | grep -Eq '^(pyproject\.toml|requirements(-server)?\.lock|Makefile|tests/[^/]*)$$'; then \
		paths=everything; \
	else \
		paths=; \
		for part in core net web fuzz; do \
			! echo "$$touched" | grep -Eq "^(tests/)?$$part/" || paths="$$paths tests/$$part"; \
		done; \
		[ -z "$$paths" ] || paths="$$paths tests/test_doctests.py"; \
	fi; \
	case "$$paths" in \
		"") echo "No code touched since HEAD: no test run." ;; \
		everything) echo "$(BIN)/python -m pytest -q"; exec $(BIN)/python -m pytest -q -m "$(MARKERS)" ;; \
		*) echo "$(BIN)/python -m pytest -q$$paths"; exec $(BIN)/python -m pytest -q -m "$(MARKERS)" $$paths ;; \
	esac

fuzz: $(STAMP)  ## sequences (STEPS, SEED), simulation (SEEDS), failing machines, readers, failovers: docs/proving.md
	$(BIN)/python -m fuzz sequences --seed $(SEED) --steps $(STEPS)
	$(BIN)/python -m fuzz simulate --seed $(SEED) --seeds $(SEEDS)
	$(BIN)/python -m fuzz machine --seed $(SEED) --rounds 100 --seconds 300
	$(BIN)/python -m fuzz parsers --seed $(SEED) --seconds 120
	$(FAILOVER) --seed $(SEED) --seconds 600 --rounds 100

nightly: fuzz  ## make fuzz, then every test, every planted fault and every mutant, the time of refusals
	$(MAKE) test MARKERS=
	$(BIN)/python -m fuzz --selftest
	for campaign in simulate machine parsers timing; do $(BIN)/python -m fuzz $$campaign --selftest || exit 1; done
	$(FAILOVER) --selftest
	$(BIN)/python -m fuzz mutants
	$(BIN)/python -m fuzz timing

bench: $(STAMP)  ## measure this server beside others, in under 10 minutes (docs/performance.md)
	$(BIN)/python -m docs.bench

bench-full: $(STAMP)  ## the same with five million sessions and more rounds
	$(BIN)/python -m docs.bench --full

docs: $(STAMP)  ## write the generated pages in docs/ again, and build the book into build/docs
	$(BIN)/python -m docs.generate
	$(BIN)/python -m sphinx -W --keep-going -q -E -b dirhtml docs build/docs

screenshots: $(STAMP)  ## look at every page again (needs chromium): docs/pages.md
	$(BIN)/python -m docs.screenshots

# From the last commit alone, whatever else lies in the checkout, and with its time: who builds it again on the same
# Python gets the same bytes.
dist: $(STAMP)  ## build the last commit into dist: wheel, sdist, bill of materials, the same bytes each time
	rm -rf dist build/dist
	mkdir -p build/dist/source
	git archive --output=build/dist/source.tar HEAD
	tar -xf build/dist/source.tar -C build/dist/source
	cd build/dist/source && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		$(abspath $(BIN))/python -m build --no-isolation --outdir $(CURDIR)/dist . >../log || { cat ../log >&2; exit 1; }
	@cd build/dist/source && for wheel in $(CURDIR)/dist/*.whl; do \
		$(abspath $(BIN))/python -m docs.bill_of_materials "$$wheel" >"$${wheel%-py3-none-any.whl}.cdx.json" || exit 1; \
	done
	@cd dist && sha256sum *

# Resolved on the oldest Python supported, so that no version is chosen that has dropped it. The machine's pip
# settings stay out: hashes must be those of the public index. To take newer versions: make lock UPGRADE=--upgrade
# requirements-server.lock is the part of it that a server needs: `make run`, docs/deploy/Containerfile.
COMPILE = env -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS -u PIP_NO_INDEX -u PIP_TRUSTED_HOST \
	PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock" \
	$(BIN)/pip-compile --quiet --extra server --extra postgres --extra traces --build-deps-for editable \
	--generate-hashes --allow-unsafe --strip-extras --no-config \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

lock: $(STAMP)  ## write both lock files from pyproject.toml (Python 3.11 only)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo "make lock needs $(VENV) on Python 3.11: rm -r $(VENV); make lock PYTHON=python3.11" >&2; exit 1; }
	$(COMPILE) $(UPGRADE) --extra dev --extra examples --output-file requirements.lock pyproject.toml
	$(COMPILE) --constraint requirements.lock --output-file requirements-server.lock pyproject.toml

clean:  ## remove caches and build output; .venv and data stay
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov
	find core net web fuzz tests -name __pycache__ -type d -prune -exec rm -rf {} +
