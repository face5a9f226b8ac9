#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "job/perf_signature.hpp"
#include "predict/co_run_model.hpp"
#include "predict/mps_model.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict {

/// What is believed of one job.
struct BelievedJob {
  SpeedRow row;
  std::optional<int> kernel_count;  ///< of one step
  std::optional<Duration> step;     ///< alone on the whole GPU
};

struct BookCoRunOptions {
  MpsModel mps;
  double whole_instance_speed = 1;  ///< of an instance of the whole GPU, relative to MIG off
};

/// The simulator's way to run jobs together, as a co-run model: alone a job has the speed of the
/// book (1 on the whole GPU); whoever shares a place, or has a percentage, the one of MpsModel
/// there. A job that does not fit a profile (0 in the book) makes all rates there 0, and so do
/// divided instances: the simulator has none. Neighbours do not slow each other.
/// Immutable; any thread.
class BookCoRunModel final : public CoRunModel {
 public:
  /// The truth for these jobs. `book` outlives the model.
  static std::unique_ptr<BookCoRunModel> of_book(const SpeedBook& book,
                                                 std::span<const job::SignatureIndex> jobs,
                                                 const BookCoRunOptions& options);
  /// What a policy believes, by the same rules: a speed that is 0 on every profile fits nowhere.
  /// Kernel lengths count where the kernel count and the step of every client are known. Fails with
  /// kInvalidInput, naming the job (from 1) and the value, for a speed that is negative or not
  /// finite, a kernel count below 1 and a step that is not positive; and for a geometry without a
  /// profile table. `geometry` outlives the model.
  static Result<std::unique_ptr<BookCoRunModel>> of_rows(const gpu::Geometry& geometry,
                                                         std::span<const BelievedJob> jobs,
                                                         const BookCoRunOptions& options);

  std::size_t job_count() const override { return jobs_.size(); }
  void rates(const CoRunPlace& place,
             std::span<const CoRunClient> clients,
             std::span<double> out) const override;

 private:
  struct Job {
    SpeedRow row;
    std::optional<job::SignatureIndex> signature;  ///< nothing: fits nowhere
  };
  BookCoRunModel() = default;

  std::optional<SpeedBook> own_book_;
  const SpeedBook* book_ = nullptr;
  std::vector<Job> jobs_;
  BookCoRunOptions options_;
};

}  // namespace septule::predict
