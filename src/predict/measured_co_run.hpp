#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "predict/co_run_model.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict {

/// How fast a job was measured alone on an instance.
struct MeasuredSpeed {
  std::size_t job = 0;
  ProfileIndex profile;
  double speed = 0;  ///< relative to the whole GPU with MIG off, > 0
};

/// How two jobs were measured together under MPS as it is by default.
struct MeasuredPair {
  std::size_t first = 0;
  std::size_t second = 0;                ///< another than `first`
  std::optional<ProfileIndex> profile;   ///< nothing = the whole GPU with MIG off
  std::array<double, 2> slowdown{1, 1};  ///< step together / step alone in the same place, > 0
};

/// Measured figures and nothing else: a job alone on the whole GPU has 1, alone on an instance its
/// measured speed, a pair in one undivided place its measured slowdowns. All else is 0: not known
/// (percentages, divided instances, three jobs and more). Immutable; any thread.
class MeasuredCoRunModel final : public CoRunModel {
 public:
  /// Fails with kInvalidInput, naming the row (from 1) and the value: a job that is not below
  /// `job_count`, a job paired with itself, a profile beyond kProfilesMax, figures that are not
  /// finite and above 0, a job and place (or two jobs and place) twice.
  static Result<std::unique_ptr<MeasuredCoRunModel>> make(std::size_t job_count,
                                                          std::span<const MeasuredSpeed> speeds,
                                                          std::span<const MeasuredPair> pairs);

  std::size_t job_count() const override { return job_count_; }
  void rates(const CoRunPlace& place,
             std::span<const CoRunClient> clients,
             std::span<double> out) const override;
  bool only_slows() const override { return only_slows_; }

 private:
  /// By place (the whole GPU, then profiles).
  struct Figures {
    std::vector<double> alone;     ///< by job; 0 = not measured
    std::vector<double> together;  ///< rate of a job beside another relative to alone there
  };

  MeasuredCoRunModel() = default;

  std::size_t job_count_ = 0;
  bool only_slows_ = true;
  std::array<Figures, kProfilesMax + 1> figures_;
};

}  // namespace septule::predict
