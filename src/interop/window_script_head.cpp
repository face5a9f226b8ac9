#include "interop/window_script_head.hpp"

namespace septule::interop {

// The table that names MIG devices is the "MIG devices" part of plain nvidia-smi, read word by
// word: "|" GPU GPU-instance-id compute-instance-id number "|"; rows of processes have no bar
// there. `nvidia-smi -L` has the UUID: "MIG" name "Device" "number:" "(UUID:" "MIG-...)".
const std::string_view kWindowScriptHead = R"sh(
# A window of jobs: each is the program $SEPTULE_JOBS/NAME (./jobs/NAME). Their output and what MPS
# writes go to $SEPTULE_RUN, a new directory where it is not given. MPS_CONTROL may name another
# nvidia-cuda-mps-control. A job with a user runs as that user where the script is run by root.
jobs=${SEPTULE_JOBS:-./jobs}
mps=${MPS_CONTROL:-nvidia-cuda-mps-control}
run=${SEPTULE_RUN:-}
running=
daemons=
failed=

# leave: whatever happens, no daemon stays behind; jobs that run are waited for.
leave() {
  status=$?
  trap - EXIT
  for pid in $running; do wait "$pid" || status=1; done
  for key in $daemons; do quit_mps "$key"; done
  exit "$status"
}

interrupted() {
  echo "interrupted: running jobs are stopped" >&2
  for pid in $running; do kill "$pid" 2> /dev/null || true; done
  exit 130
}

# need_job NAME USER|-: looks whether the job can be started at all.
need_job() {
  [ -x "$jobs/$1" ] && [ ! -d "$jobs/$1" ] ||
    fail "$jobs/$1 is not a program; each job needs one (SEPTULE_JOBS names their directory)"
  [ "$2" = - ] || [ "$(id -u)" != 0 ] || id "$2" > /dev/null 2>&1 ||
    fail "job $1 belongs to user $2, whom this machine does not know"
}

# ready: makes the directory of the run.
ready() {
  if [ -z "$run" ]; then
    run=$(mktemp -d "${TMPDIR:-/tmp}/septule-window.XXXXXX") || fail "no directory for the run"
  fi
  mkdir -p "$run" && chmod 755 "$run" || fail "$run cannot be made"
  run=$(cd "$run" && pwd) || fail "$run cannot be entered"
  echo "output of the jobs: $run"
  trap leave EXIT
  trap interrupted INT TERM
}

# whole GPU: sets device to the UUID of a GPU whose MIG mode is off.
whole() {
  device=$("$smi" -L | while IFS= read -r line; do
    case $line in
      "GPU $1: "*"(UUID: "*)
        line=${line##*"(UUID: "}
        echo "${line%%)*}"
        ;;
    esac
  done)
  [ -n "$device" ] || fail "nvidia-smi -L does not list GPU $1"
}

# mig_number GPU GPU-INSTANCE-ID COMPUTE-INSTANCE-ID: which MIG device of the GPU that is.
mig_number() {
  "$smi" | while read -r bar gpu gi ci number end _rest; do
    if [ "$bar$end" = '||' ] && [ "$gpu" = "$1" ] && [ "$gi" = "$2" ] && [ "$ci" = "$3" ]; then
      echo "$number"
    fi
  done
}

# mig GPU PROFILE-ID START:SIZE NAME CI-START: sets device to the UUID of the MIG device there.
mig() {
  find_gi "$1" "$2" "$3" "$4" -
  ci=$(ci_at "$1" "$gi" "$5") || exit 1
  [ -n "$ci" ] || fail "no compute instance stands at $5 in $4 of GPU $1"
  number=$(mig_number "$1" "$gi" "$ci")
  [ -n "$number" ] || fail "nvidia-smi lists no MIG device for $4 of GPU $1"
  device=$("$smi" -L | {
    at=
    while read -r kind name _device index _uuid id _rest; do
      case $kind in
        GPU) at=${name%:} ;;
        MIG) if [ "$at" = "$1" ] && [ "$index" = "$number:" ]; then echo "${id%)}"; fi ;;
      esac
    done
  })
  [ -n "$device" ] || fail "nvidia-smi -L lists no MIG device $number of GPU $1"
}

# start_mps KEY [OPTION]: an MPS daemon for $device alone.
start_mps() {
  begin "start MPS for $device"
  mkdir -p "$run/$1/pipe" "$run/$1/log" || fail "$run/$1 cannot be made"
  CUDA_VISIBLE_DEVICES=$device CUDA_MPS_PIPE_DIRECTORY=$run/$1/pipe \
    CUDA_MPS_LOG_DIRECTORY=$run/$1/log "$mps" -d ${2:+"$2"} ||
    fail "MPS does not start for $device; see $run/$1/log"
  daemons="$daemons $1"
}

quit_mps() {
  echo quit | CUDA_MPS_PIPE_DIRECTORY=$run/$1/pipe CUDA_MPS_LOG_DIRECTORY=$run/$1/log "$mps" ||
    echo "MPS in $run/$1 did not answer" >&2
}

# stop_mps KEY
stop_mps() {
  begin "stop MPS in $run/$1"
  quit_mps "$1"
  left=
  for key in $daemons; do [ "$key" = "$1" ] || left="$left $key"; done
  daemons=$left
}

# start_job NUMBER NAME USER|- KEY|- PERCENTAGE|-: on $device, as a client of the MPS daemon KEY.
start_job() {
  begin "start job $2 on $device"
  (
    trap - EXIT INT TERM
    export CUDA_VISIBLE_DEVICES="$device"
    if [ "$4" = - ]; then
      # A directory without a daemon: no daemon of the machine is to take the job.
      export CUDA_MPS_PIPE_DIRECTORY="$run/no-mps"
    else
      export CUDA_MPS_PIPE_DIRECTORY="$run/$4/pipe" CUDA_MPS_LOG_DIRECTORY="$run/$4/log"
    fi
    unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
    [ "$5" = - ] || export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="$5"
    if [ "$3" != - ] && [ "$(id -u)" = 0 ]; then
      exec runuser -u "$3" -- "$jobs/$2"
    fi
    exec "$jobs/$2"
  ) > "$run/$2.log" 2>&1 &
  eval "pid_$1=$!"
  running="$running $!"
}

# finish NUMBER NAME: waits for the job; once is enough.
finish() {
  eval "pid=\${pid_$1:-}"
  [ -n "$pid" ] || return 0
  status=0
  wait "$pid" || status=$?
  eval "pid_$1="
  left=
  for other in $running; do [ "$other" = "$pid" ] || left="$left $other"; done
  running=$left
  [ "$status" = 0 ] || {
    echo "job $2 failed with exit code $status; see $run/$2.log" >&2
    failed="$failed $2"
  }
}

# done_with_all: how it went.
done_with_all() {
  echo "done: $step of $steps steps"
  [ -z "$failed" ] || {
    echo "jobs that failed:$failed" >&2
    exit 1
  }
}
)sh";

}  // namespace septule::interop
