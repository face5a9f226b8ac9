#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "serve/mps_share_model.hpp"
#include "serve/tenant.hpp"

namespace septule::serve {

/// How long one process takes for a batch, by the batch's size. Immutable; any thread may read.
class ServiceTimes {
 public:
  static constexpr int kBatchMax = 4096;

  /// From sizes that were measured, ascending, to the largest: linear between them, the smallest
  /// one's time below it. Not empty; sizes within 1..kBatchMax, times above 0.
  explicit ServiceTimes(std::span<const std::pair<int, Duration>> measured);
  /// Of a tenant's processes as `use` says, batches up to use.batch. A batch of b by k processes
  /// takes k b / throughput, so that full batches reach exactly the row's throughput (published
  /// latencies are rounded to milliseconds). Nothing where the profile has no row for it.
  static std::optional<ServiceTimes> of_profile(const ModelProfile& profile,
                                                const MpsUse& use,
                                                const MpsShareModel& shares);

  int batch_max() const { return static_cast<int>(times_.size()); }
  /// `batch` within 1..batch_max().
  Duration of(int batch) const { return times_[static_cast<std::size_t>(batch - 1)]; }

 private:
  std::vector<Duration> times_;
};

}  // namespace septule::serve
