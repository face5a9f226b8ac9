#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace septule::test {

/// A pretended nvidia-smi of one A100: keeps its instances in files, logs its calls, and breaks in
/// the way that FAKE_FAULT names.
inline constexpr std::string_view kFakeSmi = R"sh(#!/bin/sh
d=$FAKE_STATE
echo "$*" >> "$d/log"
if [ $# = 0 ]; then
  # The plain table: MIG devices are numbered from the last to the first, as nobody would guess.
  echo "| MIG devices: |"
  n=$(grep -c . "$d/ci" || true)
  while read -r g i p id s z; do
    n=$((n - 1))
    echo "|  $g    $i   $id   $n  |    37MiB / 40192MiB  | 42 0 | 3 0 2 0 0 |"
  done < "$d/ci"
  echo "| Processes: |"
  echo "|    0    20    0      12345      C   python     37MiB |"
  exit 0
fi
if [ "$1" = -L ]; then
  echo "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-zero)"
  n=$(grep -c . "$d/ci" || true)
  while read -r g i p id s z; do
    n=$((n - 1))
    echo "  MIG 1g.5gb      Device  $n: (UUID: MIG-$i-$id)"
  done < "$d/ci"
  echo "GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-one)"
  exit 0
fi
if [ "$1" != mig ]; then
  case $3 in
    -mig) [ "$FAKE_FAULT" = mode ] || echo "$4" > "$d/mode"; exit 0 ;;
    *) if [ "$(cat "$d/mode")" = 1 ]; then echo Enabled; else echo Disabled; fi; exit 0 ;;
  esac
fi
gpu= gi= ci= verb= arg= full=
while [ $# -gt 0 ]; do
  case $1 in
    -i) gpu=$2; shift ;;
    -gi) gi=$2; shift ;;
    -ci) ci=$2; shift ;;
    -cgi | -cci) verb=$1; arg=$2; shift ;;
    -C) full=1 ;;
    -lgi | -lci | -dgi | -dci) verb=$1 ;;
  esac
  shift
done
size_of() { case $1 in 19) echo 1 ;; 14 | 15) echo 2 ;; 9 | 5) echo 4 ;; 0) echo 8 ;; esac; }
case $verb in
  -lgi)
    [ "$FAKE_FAULT" != list ] || { echo "Insufficient Permissions"; exit 4; }
    [ -s "$d/gi" ] || { echo "No GPU instances found: Not Found"; exit 6; }
    echo "| GPU instances: |"; echo "|====|"
    while read -r g p id s z; do
      echo "|   $g  MIG 1g.5gb            $p        $id          $s:$z     |"
    done < "$d/gi" ;;
  -lci)
    [ -s "$d/ci" ] || { echo "No compute instances found: Not Found"; exit 6; }
    echo "| Compute instances: |"; echo "|====|"
    while read -r g i p id s z; do
      echo "|   $g      $i       MIG 1g.5gb           $p         $id          $s:$z     |"
    done < "$d/ci" ;;
  -cgi)
    [ "$FAKE_FAULT" != create ] || { echo "Insufficient Resources"; exit 23; }
    n=$(cat "$d/next"); echo $((n + 1)) > "$d/next"
    p=${arg%%:*}
    [ "$FAKE_FAULT" = ignore ] || echo "$gpu $p $n ${arg##*:} $(size_of "$p")" >> "$d/gi"
    [ -z "$full" ] || [ "$FAKE_FAULT" = half ] || echo "$gpu $n 0 0 0 1" >> "$d/ci" ;;
  -cci) echo "$gpu $gi ${arg%%:*} 5 ${arg##*:} 1" >> "$d/ci" ;;
  -dgi)
    if grep -q "^$gpu $gi " "$d/ci"; then echo "In use by another client"; exit 19; fi
    [ "$FAKE_FAULT" = ignore ] ||
      { grep -v "^$gpu [0-9]* $gi " "$d/gi" > "$d/t"; mv "$d/t" "$d/gi"; } ;;
  -dci)
    if [ -n "$ci" ]; then grep -v "^$gpu $gi [0-9]* $ci " "$d/ci" > "$d/t"; else
      grep -v "^$gpu $gi " "$d/ci" > "$d/t"; fi
    mv "$d/t" "$d/ci" ;;
esac
exit 0
)sh";

/// A directory of its own with the fake in it, removed at the end.
class FakeNode {
 public:
  FakeNode() {
    std::string pattern = (std::filesystem::temp_directory_path() / "septule_smi_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    program("smi", kFakeSmi);
    write("gi", "");
    write("ci", "");
    write("next", "20\n");
    write("mode", "1\n");
  }
  ~FakeNode() { std::filesystem::remove_all(directory_); }
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(directory_ / name) << text;
  }
  void program(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    write(name, text);
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(directory_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// Runs a script against the fake; its output is read("out").
  int run(const std::string& script,
          const std::string& fault,
          const std::string& shell = "sh") const {
    write("script", script);
    const std::string at = directory_.string();
    const std::string command = "FAKE_STATE='" + at + "' FAKE_FAULT='" + fault + "' NVIDIA_SMI='" +
                                at + "/smi' MPS_CONTROL='" + at + "/mps' SEPTULE_JOBS='" + at +
                                "/jobs' SEPTULE_RUN='" + at + "/run' " + shell + " '" + at +
                                "/script' > '" + at + "/out' 2>&1";
    const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace septule::test
