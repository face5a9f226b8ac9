#!/bin/sh
# Prints every figure of docs/benchmarks.md, "Serving". Usage: serving_figures.sh BENCHES SHARED
set -eu
benches=$1
shared=$2
"$benches/serving_mixes_report" bench/serve/mixes.yaml hindsight=on
"$benches/serving_mixes_report" bench/serve/mixes.yaml mode=request policy=septule \
  policy=ekya-like policy=astraea-like policy=paris-like
"$benches/horizon_report" "$shared/data/serving" twitter 0.8 24 3 1
"$benches/horizon_report" "$shared/data/serving" twitter 0.8 24 3 0
"$benches/horizon_report" "$shared/data/serving" code 0.8 1 3 1
"$benches/mlperf_p99_report" "$shared"
for bench in layout_dp fleet_plan serving_sim; do
  "$benches/${bench}_bench" --benchmark_counters_tabular=true
done
