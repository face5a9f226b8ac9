#!/bin/sh
# lint.sh BUILD_DIR JOBS [all|shipped|quick]: every check that runs no program of ours. BUILD_DIR
# is a configured clang build with compile_commands.json. All checks run, even after one has failed.
# "shipped" leaves clang-tidy out for tests and benchmarks, "quick" its analyzer as well.
set -eu

build=$1
jobs=$2
scope=${3:-all}
failed=''

python3 tools/tidy.py . || failed="$failed tidy"

# shellcheck disable=SC2046  # file names of ours have no blanks (tidy.py checks them)
clang-format-19 --dry-run -Werror $(find src apps tests bench fuzz -name '*.[ch]pp') ||
  failed="$failed clang-format"

# shellcheck disable=SC2046
shellcheck $(find tools examples -name '*.sh') .ci/run || failed="$failed shellcheck"

python3 tools/run_clang_tidy.py "$build" "$jobs" "$scope" || failed="$failed clang-tidy"

if [ -n "$failed" ]; then
  echo "lint failed:$failed (formatting: clang-format-19 -i FILE)" >&2
  exit 1
fi
echo "lint: no complaints"
