# The commands of the project. `make help` lists them. Everything is built under build/.

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
export FUZZ_SEED FUZZ_RUNS
LINT_SCOPE ?= all
SEPTULE_SHARED ?= ../shared
BINARY := build/release/septule

.DEFAULT_GOAL := build
.PHONY: build run study tour test bench accuracy train-evaluate window-figures window-rl serving-figures \
        lint clang determinism sanitize fuzz \
        install clean help build-packages test-packages lint-packages

build: build-packages ## Release build to build/release/septule (the default)
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j $(JOBS)

run: study ## Build, then simulate the MISO paper's testbed study (8 A100, 100 jobs, 20 seeds)

study: build ## The same; the report is build/study/report.html
	@rm -rf build/study
	@$(BINARY) simulate --study examples/study.yaml --out build/study

tour: build ## Build, then show a planning session on the bundled example node
	@sh examples/session.sh $(BINARY)

test: test-packages ## Build everything and run every test
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS)
	@python3 tools/run_tests.py build/test $(JOBS)

bench: test-packages ## Run the benchmarks (figures: docs/benchmarks.md)
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS) --target septule_benchmarks
	@sh tools/run_benchmarks.sh build/test/bench

train-evaluate: test-packages ## Train and judge all predictors (about an hour; build/train-runs; resumes)
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS) --target septule septule-train
	@SEPTULE_SHARED=$(SEPTULE_SHARED) build/test/septule train predictor --evaluate --runs build/train-runs --resume

window-figures: test-packages ## What windows of jobs gain, FAR and ours, larger windows (SEPTULE_SHARED)
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS) --target window_report far_report window_dp_bench window_large_bench
	@build/test/bench/window_report $(SEPTULE_SHARED)
	@build/test/bench/far_report $(SEPTULE_SHARED)
	@build/test/bench/window_dp_bench
	@build/test/bench/window_large_bench

window-rl: test-packages ## Judge the learned window agent: held-out jobs, measured pairs (SEPTULE_SHARED), time
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS) --target septule septule-train window_rl_report window_agent_bench
	@build/test/septule train window --evaluate --windows 500 --report build/window-rl.html
	@build/test/bench/window_rl_report $(SEPTULE_SHARED)
	@build/test/bench/window_agent_bench

serving-figures: test-packages ## Serving policies on the mixes, forecasts, tails, planners (SEPTULE_SHARED)
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS) --target serving_mixes_report horizon_report mlperf_p99_report \
		layout_dp_bench fleet_plan_bench serving_sim_bench
	@SEPTULE_SHARED=$(SEPTULE_SHARED) sh tools/serving_figures.sh build/test/bench $(SEPTULE_SHARED)

accuracy: test-packages ## Errors of the signature model on the reference material (SEPTULE_SHARED)
	@cmake --preset test --log-level=WARNING
	@cmake --build --preset test -j $(JOBS) --target signature_model_report
	@build/test/bench/signature_model_report $(SEPTULE_SHARED)

lint: lint-packages ## Layers, words, formatting, clang-tidy, shellcheck (LINT_SCOPE=shipped|quick: less)
	@cmake --preset clang --log-level=WARNING
	@sh tools/lint.sh build/clang $(JOBS) $(LINT_SCOPE)

clang: lint-packages ## Build with clang 19 and run every test
	@cmake --preset clang --log-level=WARNING
	@cmake --build --preset clang -j $(JOBS)
	@python3 tools/run_tests.py build/clang $(JOBS)

determinism: test-packages ## Compare the digests of runs without optimisation with the committed ones
	@cmake --preset debug --log-level=WARNING
	@cmake --build --preset debug -j $(JOBS) --target septule
	@python3 tools/console.py --binary build/debug/septule --fixtures tests/golden/fixtures \
	  tests/golden/simulate_digest.console

sanitize: lint-packages ## Build with clang 19, run the tests under ASan and UBSan
	@cmake --preset asan-ubsan --log-level=WARNING
	@cmake --build --preset asan-ubsan -j $(JOBS)
	@python3 tools/run_tests.py build/asan-ubsan $(JOBS)

fuzz: lint-packages ## Fuzz each parser for FUZZ_SECONDS (30) from the committed corpus
	@cmake --preset asan-ubsan --log-level=WARNING
	@cmake --build --preset asan-ubsan -j $(JOBS) --target septule_fuzzers
	@bash tools/run_fuzzers.sh build/asan-ubsan/fuzz $(FUZZ_SECONDS)

install: build ## Install program, man pages and completions under $(DESTDIR)$(PREFIX)
	@sh tools/install.sh $(BINARY) "$(DESTDIR)$(PREFIX)"

clean: ## Remove everything that was built
	rm -rf build

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 20

build-packages:
	@sh tools/install_packages.sh build

test-packages:
	@sh tools/install_packages.sh build test train

lint-packages:
	@sh tools/install_packages.sh build test lint
