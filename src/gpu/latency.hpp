#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/profile.hpp"

namespace septule::gpu {

/// A published duration and how well it is founded.
struct LatencyFigure {
  Duration duration;
  Evidence evidence = Evidence::kInferred;
};

/// How long driver operations take, by GPU and compute slices: data/gpus/latencies.json (medians
/// published for A30, A100 and H100, of a GPU instance together with its compute instance). A GPU
/// without figures of its own borrows those of the part that the file names for it, and a GPU that
/// the file lacks those of the default part; both are inferred. A size without a figure borrows the
/// next larger one (the largest, if there is none), which is inferred too. A GPU instance alone is
/// the difference to a compute instance, never below zero: kPartial at best, because the compute
/// instance's share is an estimate. For estimates only; immutable, any thread.
class LatencyTable {
 public:
  /// Parses the file (format: docs/formats.md, "Latencies"). `source_name` is used in messages.
  /// Fails with kInvalidInput, naming the field.
  static Result<LatencyTable> parse(std::string_view json_text, std::string_view source_name);

  /// A GPU instance alone, without compute instances.
  LatencyFigure gpu_instance_create(std::string_view gpu_key, ComputeSlices slices) const;
  LatencyFigure gpu_instance_destroy(std::string_view gpu_key, ComputeSlices slices) const;
  LatencyFigure compute_instance_create(std::string_view gpu_key) const;
  LatencyFigure compute_instance_destroy(std::string_view gpu_key) const;
  /// Measured on one part only (the file says which); inferred for every other GPU.
  LatencyFigure mig_mode_toggle(std::string_view gpu_key) const;

 private:
  friend class LatencyReader;

  struct Part {
    std::map<int, Duration> create_with_compute;  ///< by compute slices of the profile; not empty
    std::map<int, Duration> destroy_with_compute;
    Evidence evidence = Evidence::kInferred;
  };
  struct Borrowed {
    std::string part;
    Evidence evidence = Evidence::kInferred;
  };

  LatencyTable() = default;
  Borrowed part_of(std::string_view gpu_key) const;
  const Part& part(const std::string& name) const;

  std::map<std::string, Part, std::less<>> parts_;  ///< "A100" ...
  std::map<std::string, Borrowed, std::less<>> gpus_;
  std::string default_part_;
  std::string toggle_part_;  ///< the part on which toggle_ was measured
  LatencyFigure compute_create_;
  LatencyFigure compute_destroy_;
  LatencyFigure toggle_;
};

}  // namespace septule::gpu
