#!/usr/bin/env bash
# run_fuzzers.sh DIRECTORY SECONDS: runs each *_fuzz program there for SECONDS, two at a time, from
# the committed corpus fuzz/corpus/NAME (read only). New inputs, logs and the inputs of failures go
# under build/fuzz/. FUZZ_JOBS changes how many run at a time. FUZZ_SEED and FUZZ_RUNS fix the
# sequence of inputs and their number (SECONDS stays the limit), so that two runs of one program see
# the same. Fails if one finds anything.
set -euo pipefail

directory=$1
seconds=$2
out=build/fuzz/found
mkdir -p "$out"

fuzz_one() {
  local program=$1 seconds=$2 out=$3
  local name log
  name=$(basename "$program" _fuzz)
  log=$out/$name.log
  mkdir -p "$out/$name/corpus" "$out/$name/artefacts"
  local extra=()
  if [[ -r fuzz/dict/$name.dict ]]; then
    extra+=("-dict=fuzz/dict/$name.dict")
  fi
  if [[ -n ${FUZZ_SEED:-} ]]; then
    extra+=("-seed=$FUZZ_SEED")
  fi
  if [[ -n ${FUZZ_RUNS:-} ]]; then
    extra+=("-runs=$FUZZ_RUNS")
  fi
  local status=0
  "$program" "${extra[@]}" -max_total_time="$seconds" -max_len=16384 -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/$name/artefacts/" \
    "$out/$name/corpus" "fuzz/corpus/$name" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    echo "$name: FAILED (exit $status); input under $out/$name/artefacts, log $log:"
    grep -v '^#' "$log" | tail -40
    return 1
  fi
  local runs coverage
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -1)
  echo "$name: $runs runs, $coverage edges reached, nothing found"
}
export -f fuzz_one

programs=("$directory"/*_fuzz)
if [[ ! -x ${programs[0]} ]]; then
  echo "run_fuzzers.sh: there is no fuzz program in $directory" >&2
  exit 1
fi
# shellcheck disable=SC2016  # expanded by the inner bash
printf '%s\0' "${programs[@]}" |
  xargs -0 -P "${FUZZ_JOBS:-2}" -I{} bash -c 'set -euo pipefail; fuzz_one "$@"' _ {} \
    "$seconds" "$out"
echo "fuzz: ${#programs[@]} programs, nothing found"
