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

/// How long driver operations take, by GPU architecture and compute slices:
/// data/gpus/latencies.json (medians published for A30, A100 and H100; others are taken from the
/// nearest measured part and marked inferred). For estimates only; immutable, any thread.
class LatencyTable {
 public:
  static Result<LatencyTable> parse(std::string_view json_text, std::string_view source_name);

  /// A GPU instance alone, without compute instances.
  LatencyFigure gpu_instance_create(std::string_view gpu_key, ComputeSlices slices) const;
  LatencyFigure gpu_instance_destroy(std::string_view gpu_key, ComputeSlices slices) const;
  LatencyFigure compute_instance_create(std::string_view gpu_key) const;
  LatencyFigure compute_instance_destroy(std::string_view gpu_key) const;
  LatencyFigure mig_mode_toggle(std::string_view gpu_key) const;

 private:
  struct Part {
    std::map<int, Duration> create_with_compute;  ///< by compute slices of the profile
    std::map<int, Duration> destroy_with_compute;
    Evidence evidence = Evidence::kInferred;
  };
  const Part& part_of(std::string_view gpu_key) const;
  LatencyFigure figure(const Part& part,
                       const std::map<int, Duration>& table,
                       ComputeSlices slices) const;

  std::map<std::string, Part, std::less<>> parts_;  ///< "A100" ...
  std::map<std::string, std::string, std::less<>>
      part_of_gpu_;  ///< catalogue key -> part measured or borrowed
  std::map<std::string, Evidence, std::less<>> evidence_of_gpu_;
  LatencyFigure compute_create_;
  LatencyFigure compute_destroy_;
  LatencyFigure toggle_;
};

}  // namespace septule::gpu
