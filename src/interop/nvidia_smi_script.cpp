#include "interop/nvidia_smi_script.hpp"

namespace septule::interop {

// Every failure ends with an explicit exit: bash forgets "set -e" inside $(...).
// A table row read word by word: "|" GPU "MIG" name profile-id instance-id start:size "|" (-lgi)
// and
// "|" GPU GPU-instance-id "MIG" name profile-id instance-id start:size "|" (-lci).
const std::string_view kScriptHead = R"sh(#!/bin/sh
# Written by septule. Carries out one plan step by step, reads the driver's listing before and after
# each step and stops at the first surprise. Run as root. NVIDIA_SMI may name another nvidia-smi.
set -eu

smi=${NVIDIA_SMI:-nvidia-smi}
step=0
steps=0

fail() {
  echo "stopped at step $step of $steps: $1; later steps were not started" >&2
  exit 1
}

begin() {
  step=$((step + 1))
  echo "step $step of $steps: $1"
}

# run COMMAND...: runs nvidia-smi, whose answer is shown if it fails.
run() {
  if ! answer=$("$smi" "$@" 2>&1); then
    fail "nvidia-smi $* failed: $answer"
  fi
}

# listing GPU -lgi|-lci: the driver's table; empty when it says that there is nothing.
listing() {
  if ! table=$("$smi" mig -i "$1" "$2" 2>&1); then
    case $table in
      *'No GPU instances found'* | *'No compute instances found'*) return 0 ;;
      *) fail "nvidia-smi mig -i $1 $2 failed: $table" ;;
    esac
  fi
  printf '%s\n' "$table"
}

# gi_at GPU PROFILE-ID START:SIZE: the id of the GPU instance standing there, or nothing.
gi_at() {
  table=$(listing "$1" -lgi) || exit 1
  printf '%s\n' "$table" | while read -r bar gpu mig _name profile id place _rest; do
    if [ "$bar" = '|' ] && [ "$gpu" = "$1" ] && [ "$mig" = MIG ] && [ "$profile" = "$2" ] &&
      [ "$place" = "$3" ]; then
      echo "$id"
    fi
  done
}

# ci_at GPU GPU-INSTANCE-ID START: the id of the compute instance that starts there, or nothing;
# with START "any", the ids of all.
ci_at() {
  table=$(listing "$1" -lci) || exit 1
  printf '%s\n' "$table" | while read -r bar gpu gi mig _name profile id place _rest; do
    if [ "$bar" = '|' ] && [ "$gpu" = "$1" ] && [ "$gi" = "$2" ] && [ "$mig" = MIG ]; then
      if [ "$3" = any ] || [ "${place%%:*}" = "$3" ]; then
        echo "$id"
      fi
    fi
  done
}

# find_gi GPU PROFILE-ID START:SIZE NAME KNOWN-ID: sets gi, and stops if it is not as planned.
find_gi() {
  gi=$(gi_at "$1" "$2" "$3") || exit 1
  [ -n "$gi" ] || fail "GPU $1 has no GPU instance $4 now; the plan is out of date"
  [ "$5" = - ] || [ "$gi" = "$5" ] ||
    fail "GPU instance $4 of GPU $1 has id $gi, not $5 as planned; the plan is out of date"
}

set_mig() {
  if [ "$2" = 1 ]; then wanted=Enabled; else wanted=Disabled; fi
  begin "set MIG mode of GPU $1: $wanted"
  run -i "$1" -mig "$2"
  mode=$("$smi" -i "$1" --query-gpu=mig.mode.current --format=csv,noheader) ||
    fail "the MIG mode of GPU $1 cannot be read"
  [ "$mode" = "$wanted" ] ||
    fail "the MIG mode of GPU $1 is still $mode (somebody uses the GPU, or it needs a reset)"
}

# destroy_gi GPU PROFILE-ID START:SIZE NAME KNOWN-ID
destroy_gi() {
  begin "destroy GPU instance $4 on GPU $1"
  find_gi "$@"
  run mig -i "$1" -dgi -gi "$gi"
  left=$(gi_at "$1" "$2" "$3") || exit 1
  [ -z "$left" ] || fail "GPU instance $4 of GPU $1 is still listed"
}

# create_gi GPU PROFILE-ID START:SIZE NAME -C|-
create_gi() {
  begin "create GPU instance $4 on GPU $1"
  gi=$(gi_at "$1" "$2" "$3") || exit 1
  [ -z "$gi" ] || fail "GPU $1 has a GPU instance $4 already; the plan is out of date"
  if [ "$5" = -C ]; then
    run mig -i "$1" -cgi "$2:${3%%:*}" -C
  else
    run mig -i "$1" -cgi "$2:${3%%:*}"
  fi
  gi=$(gi_at "$1" "$2" "$3") || exit 1
  [ -n "$gi" ] || fail "GPU instance $4 of GPU $1 is not listed after its creation"
  if [ "$5" = -C ]; then
    ci=$(ci_at "$1" "$gi" any) || exit 1
    [ -n "$ci" ] || fail "GPU instance $4 of GPU $1 was created without its compute instance"
  fi
}

# destroy_ci GPU PROFILE-ID START:SIZE NAME KNOWN-ID CI-START KNOWN-CI-ID
destroy_ci() {
  begin "destroy the compute instance at $6 in $4 on GPU $1"
  find_gi "$1" "$2" "$3" "$4" "$5"
  ci=$(ci_at "$1" "$gi" "$6") || exit 1
  [ -n "$ci" ] || fail "no compute instance stands at $6 in $4 of GPU $1; the plan is out of date"
  [ "$7" = - ] || [ "$ci" = "$7" ] ||
    fail "the compute instance at $6 in $4 of GPU $1 has id $ci, not $7; the plan is out of date"
  run mig -i "$1" -dci -gi "$gi" -ci "$ci"
  left=$(ci_at "$1" "$gi" "$6") || exit 1
  [ -z "$left" ] || fail "the compute instance at $6 in $4 of GPU $1 is still listed"
}

# destroy_every_ci GPU PROFILE-ID START:SIZE NAME KNOWN-ID
destroy_every_ci() {
  begin "destroy the compute instances in $4 on GPU $1"
  find_gi "$@"
  ci=$(ci_at "$1" "$gi" any) || exit 1
  if [ -n "$ci" ]; then
    run mig -i "$1" -dci -gi "$gi"
    left=$(ci_at "$1" "$gi" any) || exit 1
    [ -z "$left" ] || fail "compute instances in $4 of GPU $1 are still listed"
  fi
}

# create_ci GPU PROFILE-ID START:SIZE NAME KNOWN-ID CI-START CI-PROFILE-ID
create_ci() {
  begin "create a compute instance at $6 in $4 on GPU $1"
  find_gi "$1" "$2" "$3" "$4" "$5"
  ci=$(ci_at "$1" "$gi" "$6") || exit 1
  [ -z "$ci" ] || fail "a compute instance stands at $6 in $4 of GPU $1; the plan is out of date"
  run mig -i "$1" -gi "$gi" -cci "$7:$6"
  ci=$(ci_at "$1" "$gi" "$6") || exit 1
  [ -n "$ci" ] || fail "the compute instance at $6 in $4 of GPU $1 is not listed after its creation"
}
)sh";

}  // namespace septule::interop
