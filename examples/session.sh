#!/bin/sh
# A planning session on the bundled example node: what `make tour` shows. Each command is printed
# before it runs. Usage: sh examples/session.sh [PATH OF septule]
set -eu

program=${1:-build/release/septule}
case $program in /*) ;; *) program=$PWD/$program ;; esac
cd "$(dirname "$0")"

step() {
  printf '\n--- %s\n' "$1"
  shift
  printf '$ septule'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9.,@/=_-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  status=0
  "$program" "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '(exit code %s)\n' "$status"
  fi
  # 5 is an answer ("does not fit"); anything else is a failure of the session.
  case $status in 0 | 5) ;; *) exit "$status" ;; esac
}

printf 'Septule: a planning session on examples/node.json (no GPU is needed).\n'
step 'What can an A100 with 40 GB be cut into?' gpus show A100-40GB
step 'Is this layout legal?' validate --gpu A100-40GB 4g.20gb,3g.20gb
step 'Does a 3g.20gb with a 4g.20gb fit on the node, as it is now?' \
  explain fit 3g.20gb,4g.20gb --state node.json
step 'Four compute slices are free on this GPU; why does 3g.20gb not fit, and what helps?' \
  explain fit 3g.20gb --state fragmented.json
step 'The least moves that make room for it' defrag 3g.20gb --state fragmented.json
step 'Pack instances onto the node, touching as little as possible' \
  plan --state node.json 2g.10gb,3g.20gb,1g.6gb
step 'How few fresh GPUs hold these?' plan --gpu A100-40GB '3 x 3g.20gb,5 x 2g.10gb,4 x 1g.5gb'
step 'The best layout for four jobs with measured speeds' plan --gpu A100-40GB --jobs jobs.csv
step 'From what is there to the configuration "mixed": steps, and what is blocked' \
  diff node.json config.yaml --config mixed
step 'The commands for one GPU' apply --dry-run node.json 3g.20gb,4g.20gb --index 2
printf '\nNext: README.md; septule COMMAND --help explains each command.\n'
