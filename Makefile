# Targets explain themselves: `make help`. Everything happens in .venv (make docs: .venv-docs); nothing is installed elsewhere.
.DEFAULT_GOAL := help
SHELL := /bin/bash

FRAMEWORK ?= jax
PROVIDER ?= bare
KUBECONFIG_OPTION = $(if $(KUBECONFIG),--kubeconfig $(KUBECONFIG))
ARGS ?=
BENCH ?= one_job

ENVIRONMENT ?= .venv
PYTHON ?= python3.11 python3.12 python3.13 python3
BIN := $(ENVIRONMENT)/bin
INSTALLED := $(ENVIRONMENT)/.installed
DEMO_INSTALLED := $(ENVIRONMENT)/.installed-demo
DOCS_ENVIRONMENT ?= .venv-docs
DOCS_INSTALLED := $(DOCS_ENVIRONMENT)/.installed
# Frameworks that are too large for .venv have environments of their own.
DEMO_ENVIRONMENTS ?= .cache/demo
# PyTorch is large: a Python that has it already serves as well.
TORCH_IS_HERE = $(shell for python in "$$VIRTUAL_ENV/bin/python" "$$CONDA_PREFIX/bin/python" python3 /usr/bin/python3; do \
  $$python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null && echo yes && break; done)
PYTORCH_INDEX ?=
DEMO_ENVIRONMENT = $(if $(wildcard examples/$(FRAMEWORK)/requirements.txt),$(if $(and $(filter pytorch,$(FRAMEWORK)),$(TORCH_IS_HERE)),,$(DEMO_ENVIRONMENTS)/$(FRAMEWORK)))
FRAMEWORKS := jax pytorch tensorflow xgboost mpi paddle
# Their training tests fail instead of being skipped. PyTorch is left out: nobody should download it unasked.
REQUIRED ?= $(filter-out pytorch,$(FRAMEWORKS)) $(if $(TORCH_IS_THERE),pytorch $(LIBRARIES))
# Libraries on top of PyTorch, whose environments see the packages of a Python that has torch.
LIBRARIES := $(patsubst examples/libraries/%/requirements.txt,%,$(wildcard examples/libraries/*/requirements.txt))
TORCH_PYTHON ?= /usr/bin/python3
TORCH_IS_THERE := $(shell $(TORCH_PYTHON) -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null && echo yes)
LIBRARIES_INSTALLED = $(if $(TORCH_IS_THERE),$(LIBRARIES:%=$(DEMO_ENVIRONMENTS)/%/.installed))
ENVIRONMENTS_INSTALLED = $(LIBRARIES_INSTALLED) $(DEMO_INSTALLED) $(patsubst examples/%/requirements.txt,$(DEMO_ENVIRONMENTS)/%/.installed,$(filter-out examples/pytorch/%,$(wildcard examples/*/requirements.txt)))
UPSTREAM_INSTALLED = $(patsubst %,$(DEMO_ENVIRONMENTS)/%/.installed,mpi tensorflow xgboost)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := api controllers operator local migration console unit_tests e2e deploy examples

CHECK_BRANCHES := import json, sys; p = json.load(sys.stdin)["totals"]["percent_branches_covered"]; \
  print(f"branches of the decisions covered: {p:.1f} % (at least 95)"); sys.exit(p < 95)

# Else every program that a test starts compiles all of its modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo train weekly test coverage size lint format types e2e e2e-node e2e-upstream image bench crds pages docs constraints clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  FRAMEWORK=jax|pytorch|tensorflow|xgboost|mpi|paddle|all  job of the demo"
	@echo "  PROVIDER=bare|kind|existing|local  API server of e2e; existing takes KUBECONFIG=FILE"
	@echo "  REQUIRED='jax xgboost ...'       frameworks and libraries without which train and weekly fail"
	@echo "  ARGS=...                         further arguments for pytest or the benchmark"
	@echo "  ENVIRONMENT=FOLDER PYTHON=...    another environment than .venv, of another Python"

demo: $(INSTALLED) $(if $(filter jax,$(FRAMEWORK)),$(DEMO_INSTALLED)) $(DEMO_ENVIRONMENT:=/.installed) ## run a real training job on an embedded cluster
ifeq ($(FRAMEWORK),all)
	@$(BIN)/python -m e2e.tools.demos $(FRAMEWORKS)
else
	@$(BIN)/training-operator local demo --framework $(FRAMEWORK) $(DEMO_ENVIRONMENT:%=--python %)
endif

train: $(INSTALLED) $(ENVIRONMENTS_INSTALLED) ## tests that really train, with all frameworks
	@$(BIN)/pytest e2e/training -n 3 -rs --environments '$(DEMO_ENVIRONMENTS)' --require-frameworks '$(REQUIRED)' $(ARGS)

weekly: $(INSTALLED) $(ENVIRONMENTS_INSTALLED) $(if $(TORCH_IS_THERE),$(DEMO_ENVIRONMENTS)/deepspeed/.installed) ## all of train, and what else takes long; ends with a table
	@$(BIN)/python -m e2e.harness build >/dev/null
	@$(BIN)/python -m e2e.tools.weekly '$(DEMO_ENVIRONMENTS)' $(REQUIRED)

# Three processes on two cores: a fifth of the time of each is waiting for programs that tests start.
test: $(INSTALLED) ## unit tests and local-cluster tests
	@$(BIN)/pytest -n 3 --dist worksteal -rs $(ARGS)

coverage: $(INSTALLED) ## branches of the decisions that their unit tests take
	@$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report= unit_tests/controllers $(ARGS)
	@$(BIN)/coverage report --skip-covered --skip-empty --sort=cover
	@$(BIN)/coverage json --quiet -o - | $(BIN)/python -c '$(CHECK_BRANCHES)'

size: $(INSTALLED) ## lines of the product, of tests and of recordings; JSON where it is piped
	@$(BIN)/python -m e2e.tools.size

lint: $(INSTALLED) ## ruff: rules and format; import-linter: the direction of imports; Vale: words of pages and messages
	@$(BIN)/ruff check --no-cache $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@PYTHONPATH=. $(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/python -m e2e.tools.prose

format: $(INSTALLED) ## let ruff mend what it can
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

types: $(INSTALLED) ## mypy --strict
	@$(BIN)/mypy
	@$(BIN)/mypy -p e2e -p unit_tests
	@$(BIN)/mypy deploy/image
	@$(BIN)/mypy examples/plugin-deepspeed

e2e: $(INSTALLED) ## tests against a real API server, see PROVIDER; TESTS=e2e/FOLDER for some
	@$(if $(filter bare local,$(PROVIDER)),$(BIN)/python -m e2e.harness build >/dev/null)
	@$(BIN)/pytest $(or $(TESTS),e2e) --ignore e2e/fidelity/test_in_process.py -n 2 --dist loadfile --provider $(PROVIDER) $(KUBECONFIG_OPTION) $(ARGS)

e2e-node: $(DEMO_INSTALLED) ## jobs whose pods run on a real node of this machine, as root
	@$(BIN)/python -m e2e.node check
	@$(BIN)/python -m e2e.node build
	@$(BIN)/pytest e2e/node --provider node --environments '$(DEMO_ENVIRONMENTS)' $(ARGS)

e2e-upstream: $(DEMO_INSTALLED) $(UPSTREAM_INSTALLED) ## upstream's own end-to-end tests, unmodified, on a real node, as root; KINDS=... for some
	@$(BIN)/python -m e2e.node check
	@$(BIN)/python -m e2e.node build
	@$(BIN)/python -m e2e.upstream --environments '$(DEMO_ENVIRONMENTS)' $(KINDS) $(ARGS)

image: $(INSTALLED) ## build the operator's image, without a registry, and run it; as root on Debian
	@$(BIN)/python -m e2e.harness build >/dev/null
	@$(BIN)/python -m e2e.tools.image

bench: $(INSTALLED) ## one job of 1,000 replicas on a real API server, against the floor; BENCH=many: many jobs
	@$(BIN)/python -m e2e.harness build >/dev/null
	@$(BIN)/python -m e2e.bench.$(BENCH) $(ARGS)

crds: $(INSTALLED) ## generate crds/ from the types
	@$(BIN)/python -m training_api.crd

pages: $(INSTALLED) ## generate what docs/ takes from the code: API reference, flags, variables, permissions
	@$(BIN)/python -m e2e.support.documentation

docs: $(DOCS_INSTALLED) ## build the documentation as a site, build/site
	@NO_MKDOCS_2_WARNING=1 $(DOCS_ENVIRONMENT)/bin/mkdocs build --strict
	@echo "build/site/index.html"

# Reads the registry's index that pip is configured for; no address is written into the files.
constraints: $(INSTALLED) ## pin all dependencies anew, with hashes, for Python 3.11 and newer
	@python3 -m venv .cache/uv && .cache/uv/bin/pip --quiet install --require-hashes -r constraints-pins.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --group pins --output-file constraints-pins.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --extra dev --group build pyproject.toml --output-file constraints.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --extra demo pyproject.toml --constraint constraints.txt \
	  --output-file constraints-demo.txt
	@for framework in $(notdir $(patsubst %/,%,$(dir $(wildcard examples/*/requirements.in)))); do \
	  .cache/uv/bin/uv --quiet pip compile $(LOCK) examples/$$framework/requirements.in \
	    --output-file examples/$$framework/requirements.txt; done
	@for library in $(LIBRARIES); do .cache/uv/bin/uv --quiet pip compile $(LOCK) \
	  --override examples/libraries/without-torch.txt examples/libraries/$$library/requirements.in \
	  --output-file examples/libraries/$$library/requirements.txt; done
	@for library in deepspeed horovod; do .cache/uv/bin/uv --quiet pip compile $(LOCK) \
	  --override examples/libraries/without-torch.txt examples/libraries/$$library/from-source.in \
	  --output-file examples/libraries/$$library/from-source.txt; done
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) e2e/upstream/paddle.in --output-file e2e/upstream/paddle.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) e2e/clients/requirements.txt --output-file e2e/clients/constraints.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) e2e/upstream/requirements.txt --output-file e2e/upstream/constraints.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) e2e/migration/sdk/requirements.txt \
	  --output-file e2e/migration/sdk/constraints.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) e2e/migration/page/requirements.txt \
	  --output-file e2e/migration/page/constraints.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) e2e/bench/curve/requirements.txt --output-file e2e/bench/curve/constraints.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --group docs --output-file constraints-docs.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --extra console --extra speed pyproject.toml --constraint constraints.txt \
	  --output-file constraints-image.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --group package --constraint constraints.txt \
	  --output-file constraints-package.txt
	@.cache/uv/bin/uv --quiet pip compile $(LOCK) --extra dev --group mutation pyproject.toml --constraint constraints.txt \
	  --output-file constraints-mutation.txt
LOCK = --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
  --no-strip-extras --custom-compile-command 'make constraints'

clean: ## remove what the other targets made, .venv included
	rm -rf .venv .venv-docs .cache .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# Sets $python to the first one that is new enough and can make environments.
define FIND_PYTHON
python=; for candidate in $(PYTHON); do \
  if $$candidate -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
    python=$$candidate; break; fi; done; \
if [ -z "$$python" ]; then \
  echo "No Python 3.11 or newer with venv was found as $(PYTHON): install one (on Debian: apt-get install python3-venv)." >&2; \
  exit 1; fi
endef

$(INSTALLED): pyproject.toml constraints.txt
	@$(FIND_PYTHON); test -x $(BIN)/python || $$python -m venv $(ENVIRONMENT)
	@echo "Installing into $(ENVIRONMENT) ..." >&2
	@$(PIP) install --require-hashes -r constraints.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# $(call PINNED,WORDS,OPTIONS): lets pip install what the first prerequisite pins, unless that was installed already,
# as into an environment that outlives the clone.
define PINNED
cmp -s $< $(@D)/pins || { echo "$(1)" >&2; \
  $(@D)/bin/python -m pip --disable-pip-version-check --quiet install $(2) && cp $< $(@D)/pins; } && touch $@
endef

$(DOCS_INSTALLED): constraints-docs.txt
	@$(FIND_PYTHON); test -x $(@D)/bin/python || $$python -m venv $(@D)
	@$(call PINNED,Installing into $(@D) ...,--require-hashes -r $<)

$(DEMO_ENVIRONMENTS)/pytorch/.installed: examples/pytorch/requirements.txt
	@echo "Installing pytorch into $(@D): $(if $(PYTORCH_INDEX),0.2 GB from $(PYTORCH_INDEX),on Linux 3 GB to download and 5.4 GB on disk; PYTORCH_INDEX=URL of PyTorch's CPU index: 0.2 GB)" >&2
	@test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install $(if $(PYTORCH_INDEX),--index-url $(PYTORCH_INDEX) -r $(<:.txt=.in),--require-hashes -r $<)
	@touch $@

$(DEMO_ENVIRONMENTS)/%/.installed: examples/%/requirements.txt
	@test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(call PINNED,Installing $* into $(@D) ...,--require-hashes -r $<)

# torch lacks in the pins, so nothing may look for what they depend on.
$(DEMO_ENVIRONMENTS)/%/.installed: examples/libraries/%/requirements.txt
	@test -x $(@D)/bin/python || $(TORCH_PYTHON) -m venv --system-site-packages $(@D)
	@$(call PINNED,Installing $* into $(@D) beside torch of $(TORCH_PYTHON) ...,--no-deps --require-hashes -r $<)

# PyPI has no wheels of these; Debian: python3-wheel. DeepSpeed without extensions is Python alone, and part of weekly. Horovod takes cmake,
# g++, libtorch-dev and half an hour on two cores, so no target needs it: its tests are skipped without.
$(DEMO_ENVIRONMENTS)/%/.installed: examples/libraries/%/from-source.txt
	@echo "Building $* into $(@D), for torch of $(TORCH_PYTHON) ..." >&2
	@test -x $(@D)/bin/python || $(TORCH_PYTHON) -m venv --system-site-packages $(@D)
	@DS_BUILD_OPS=0 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 \
	  nice $(@D)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --require-hashes -r $<
	@touch $@

$(DEMO_INSTALLED): $(INSTALLED) constraints-demo.txt
	@echo "Installing JAX into $(ENVIRONMENT) ..." >&2
	@$(PIP) install --require-hashes -r constraints-demo.txt
	@touch $@
