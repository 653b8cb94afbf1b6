# Everything runs inside .venv, which the first target creates; nothing needs to be installed by hand
# but a C++20 compiler, make and Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.21" "ninja>=1.11"
SOURCES := $(shell find core src -name '*.cpp' -o -name '*.hpp' -o -name '*.py' -o -name '*.pyi' -o -name '*.toml' -o -name '*.csv' -o -path '*/assets/*') CMakeLists.txt pyproject.toml
SANITIZED := build/sanitized

.PHONY: demo test lint check docs wheel wheel-test sanitize sanitize-threads oracle bench bench-quick bench-environments clean help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/installed  ## build, install into .venv and run the main job on embedded data
	$(BIN)/labelboost demo

test: lint check wheel-test  ## lint, build with warnings as errors, and run all tests

lint: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src

check: $(VENV)/developed
	$(BIN)/python -m pytest -n 2

docs: $(VENV)/developed  ## build the documentation into build/docs; a warning, such as a broken link, is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "the documentation is in build/docs/index.html"

wheel: $(VENV)/created  ## build a wheel into dist/
	$(PIP) install "build>=1.2"
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist

wheel-test: wheel  ## install the wheel into an empty environment and predict there, without a compiler
	rm -rf build/wheel-test
	$(PYTHON) -m venv build/wheel-test
	build/wheel-test/bin/python -m pip --disable-pip-version-check -q install --only-binary :all: dist/*.whl
	cd build/wheel-test && env PATH=/nonexistent CC=false CXX=false bin/labelboost demo --rules 20 > demo.txt
	@grep -q "Subset 0/1" build/wheel-test/demo.txt && echo "the wheel works in an empty environment"

sanitize: $(VENV)/developed  ## run the core's tests under AddressSanitizer and UndefinedBehaviorSanitizer
	rm -rf $(SANITIZED)
	$(PIP) install --no-build-isolation --no-deps --target $(SANITIZED) . \
		-Cbuild-dir=build/sanitizer -Ccmake.define.LABELBOOST_SANITIZE=address,undefined
	PYTHONPATH=$(SANITIZED) LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(BIN)/python -m pytest -n 2 -p no:cacheprovider tests/test_core.py tests/test_oracle.py tests/test_prediction.py \
		tests/test_stages.py tests/test_label_sets.py tests/test_tree_oracle.py \
		-k "not real_data and not instruction_set and not any_setting"

sanitize-threads: $(VENV)/developed  ## run tests with several threads under ThreadSanitizer
	rm -rf $(SANITIZED)-threads
	$(PIP) install --no-build-isolation --no-deps --target $(SANITIZED)-threads . \
		-Cbuild-dir=build/thread-sanitizer -Ccmake.define.LABELBOOST_SANITIZE=thread
	PYTHONPATH=$(SANITIZED)-threads LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1 \
		$(BIN)/python -m pytest -p no:cacheprovider tests/test_core.py tests/test_stages.py tests/test_prediction.py \
		tests/test_tree_oracle.py -k "thread or attempts or left_over"

oracle: $(VENV)/developed  ## compare core and reference in every setting, on whole data sets (long)
	$(BIN)/python -m pytest -n 2 tests/test_oracle.py --exhaustive

# BENCH_DATA="yeast birds", BENCH_VARIANTS="none 0.04" and BENCH_THREADS=2 measure something else,
# PEER_PYTHON names a Python that has mlrl-boomer already, BENCH_OPTIONS is for everything else.
BENCH_ARGUMENTS = $(if $(BENCH_DATA),--data $(BENCH_DATA)) $(if $(BENCH_VARIANTS),--variants $(BENCH_VARIANTS)) \
	$(if $(BENCH_THREADS),--threads $(BENCH_THREADS)) $(if $(PEER_PYTHON),--peer-python $(PEER_PYTHON)) $(BENCH_OPTIONS)

bench: bench-environments  ## time, memory and loss beside the reference implementation (about an hour; see benchmarks/)
	$(BIN)/python benchmarks/compare_with_peer.py $(BENCH_ARGUMENTS)

bench-quick: bench-environments  ## a small part of that, in a few minutes
	$(BIN)/python benchmarks/compare_with_peer.py --quick $(BENCH_ARGUMENTS)

bench-environments: $(VENV)/installed
	@$(PIP) install "matplotlib>=3.8" || echo "matplotlib cannot be installed: there will be no plot"
	@$(if $(PEER_PYTHON),,$(BIN)/python benchmarks/set_up_peer.py)

clean:  ## remove everything that was built
	rm -rf $(VENV) .peer build dist

$(VENV)/created:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Labelboost needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Builds happen in the environment itself, so that compiled files are kept between runs.
$(VENV)/tools: $(VENV)/created
	$(PIP) install $(BUILD_TOOLS)
	@touch $@

$(VENV)/installed: $(VENV)/tools $(SOURCES)
	$(PIP) install --no-build-isolation .
	@touch $@

$(VENV)/developed: $(VENV)/tools $(SOURCES)
	$(PIP) install --no-build-isolation ".[dev]" -Ccmake.define.LABELBOOST_WERROR=ON
	@touch $@ $(VENV)/installed
