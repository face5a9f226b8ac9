#!/bin/sh
# run_benchmarks.sh DIRECTORY: runs each *_bench program there, in the order of names. Medians over
# nine runs; BENCH_FLAGS replaces the flags of Google Benchmark.
set -eu

# A solve takes well under a microsecond: a hundredth of a second is thousands of them, and the time
# between the measured batches is not counted.
flags='--benchmark_repetitions=9 --benchmark_report_aggregates_only=true'
flags=${BENCH_FLAGS:-$flags --benchmark_min_time=0.01}
count=0
for program in "$1"/*_bench; do
  [ -x "$program" ] || continue
  echo "== $(basename "$program")"
  # shellcheck disable=SC2086  # flags is a list of words
  "$program" $flags
  count=$((count + 1))
done
echo "$count benchmark programs ran"
