#include "learn/slice_net.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/portable_math.hpp"
#include "learn/canonical_levels.hpp"

namespace septule::learn {

namespace {

constexpr std::size_t kColumns = predict::kCoRunnersMax;
constexpr auto kWidthMax = static_cast<std::size_t>(SliceNetForm::kWidthMax);
/// The training takes logarithms of nothing smaller.
constexpr float kTimeFloor = 0.02F;
/// Units of counters before they are scaled.
constexpr double kSmUnit = 100;
constexpr double kMemoryUnit = 100;
constexpr double kPowerUnit = 100;
constexpr double kFootprintUnit = 1000;
/// What is left of the belief in classes that fit other slices: only a tie-break, and an answer
/// where no class fits what the job fits.
constexpr float kOtherSmallest = 1e-9F;
/// No class is believed less likely than this beside the most likely one, so that the classes that
/// fit a slice never all have no weight.
constexpr float kLogBeliefMin = -46;

using LaneArray = Eigen::Array<float, static_cast<int>(kLanes), 1>;
using LaneMap = Eigen::Map<LaneArray, Eigen::Aligned32>;
using ConstLaneMap = Eigen::Map<const LaneArray, Eigen::Aligned32>;

LaneMap mapped(Lanes* lanes) {
  return LaneMap(lanes->at.data());
}
ConstLaneMap mapped(const Lanes& lanes) {
  return ConstLaneMap(lanes.at.data());
}

Error invalid(std::string what) {
  return {ErrorCode::kInvalidInput, std::move(what)};
}

}  // namespace

/// The present columns, ordered by what they show.
struct SliceNet::Columns {
  struct Column {
    std::array<float, kTimes> time{};   ///< normalised; 0 = not known
    std::array<float, kTimes> known{};  ///< 1 or 0
    std::array<float, kCounters + 1> counters{};
    std::size_t index = 0;  ///< in the matrix

    /// The index comes last: equal columns get equal answers whatever their order.
    friend auto operator<=>(const Column&, const Column&) = default;
  };
  std::array<Column, kColumns> columns{};
  std::size_t count = 0;

  /// `scale` is null where counters are not used.
  static Result<Columns> read(const predict::MpsMatrix& matrix, const CounterScale* scale);
  static void read_counters(const predict::JobCounters& counters,
                            const CounterScale& scale,
                            Column* column);
  void insert(const Column& column) {
    std::size_t at = count++;
    for (; at > 0 && column < columns[at - 1]; --at) {
      columns[at] = columns[at - 1];
    }
    columns[at] = column;
  }
  std::array<Lanes, kFeaturesMax> features() const;
};

Result<SliceNet::Columns> SliceNet::Columns::read(const predict::MpsMatrix& matrix,
                                                  const CounterScale* scale) {
  Columns out;
  for (std::size_t index = 0; index < kColumns; ++index) {
    if (!matrix.is_present(index)) {
      continue;
    }
    const CanonicalTimes times = canonical_times(matrix, index);
    const double largest =
        std::max({times[0].value_or(0), times[1].value_or(0), times[2].value_or(0)});
    if (largest == 0) {
      return invalid(fmt::format(
          "column {} has no step time at 100, 50 or 14 %, nor at percentages on both sides of one "
          "of them; the model \"ours\" needs at least one",
          index + 1));
    }
    Column column;
    column.index = index;
    for (std::size_t level = 0; level < kTimes; ++level) {
      column.time[level] = static_cast<float>(times[level].value_or(0) / largest);
      column.known[level] = times[level].has_value() ? 1.0F : 0.0F;
    }
    if (scale != nullptr) {
      read_counters(matrix.counters[index], *scale, &column);
    }
    out.insert(column);
  }
  return out;
}

void SliceNet::Columns::read_counters(const predict::JobCounters& counters,
                                      const CounterScale& scale,
                                      Column* column) {
  if (!counters.sm_percent.has_value() || !counters.memory_percent.has_value() ||
      !counters.power_watts.has_value() || !counters.footprint_mib.has_value()) {
    return;
  }
  const std::array<double, kCounters> values = {
      *counters.sm_percent / kSmUnit,
      *counters.memory_percent / kMemoryUnit,
      portable_log(*counters.power_watts / kPowerUnit),
      portable_log(*counters.footprint_mib / kFootprintUnit)};
  for (std::size_t counter = 0; counter < kCounters; ++counter) {
    column->counters[counter] =
        static_cast<float>((values[counter] - scale.mean[counter]) / scale.sd[counter]);
  }
  column->counters[kCounters] = 1;
}

std::array<Lanes, SliceNet::kFeaturesMax> SliceNet::Columns::features() const {
  std::array<Lanes, kFeaturesMax> out{};
  for (std::size_t lane = 0; lane < count; ++lane) {
    for (std::size_t level = 0; level < kTimes; ++level) {
      out[level].at[lane] = columns[lane].time[level];
      out[2 * kTimes + level].at[lane] = columns[lane].known[level];
    }
    out[3 * kTimes].at[lane] = static_cast<float>(count) / static_cast<float>(kColumns);
    for (std::size_t counter = 0; counter <= kCounters; ++counter) {
      out[kTimeFeatures + counter].at[lane] = columns[lane].counters[counter];
    }
  }
  for (std::size_t level = 0; level < kTimes; ++level) {
    mapped(&out[kTimes + level]) =
        mapped(out[level]).max(kTimeFloor).log() * mapped(out[2 * kTimes + level]);
  }
  return out;
}

void SliceNet::apply(const Layer& layer, std::size_t count, std::span<Lanes> own) const {
  const std::size_t width = own.size();
  alignas(32) std::array<float, kWidthMax> mean{};
  alignas(32) std::array<float, kWidthMax> max{};
  alignas(32) std::array<float, kWidthMax> common{};
  for (std::size_t unit = 0; unit < width; ++unit) {
    float sum = 0;
    float largest = 0;  // h is never negative
    for (std::size_t lane = 0; lane < count; ++lane) {
      sum += own[unit].at[lane];
      largest = std::max(largest, own[unit].at[lane]);
    }
    mean[unit] = sum / static_cast<float>(count);
    max[unit] = largest;
    common[unit] = layer.bias[unit];
  }
  layer.mean.add_to(std::span(mean).first(width), std::span(common).first(width));
  layer.max.add_to(std::span(max).first(width), std::span(common).first(width));
  std::array<Lanes, kWidthMax> next;
  for (std::size_t unit = 0; unit < width; ++unit) {
    next[unit].at.fill(common[unit]);
  }
  layer.own.add_to(own, std::span(next).first(width));
  const float keep = layer.is_residual ? 1.0F : 0.0F;
  for (std::size_t unit = 0; unit < width; ++unit) {
    mapped(&own[unit]) = mapped(own[unit]) * keep + mapped(next[unit]).max(0.0F);
  }
}

void SliceNet::logits(const Member& member, const Columns& columns, std::span<Lanes> out) const {
  const auto width = static_cast<std::size_t>(form_.width);
  std::array<Lanes, kWidthMax> storage;
  const std::span<Lanes> own = std::span(storage).first(width);
  for (std::size_t unit = 0; unit < width; ++unit) {
    own[unit].at.fill(member.input_bias[unit]);
  }
  const std::array<Lanes, kFeaturesMax> features = columns.features();
  member.input.add_to(std::span(features).first(member.input.inputs()), own);
  for (Lanes& unit : own) {
    mapped(&unit) = mapped(unit).max(0.0F);
  }
  for (const Layer& layer : member.layers) {
    apply(layer, columns.count, own);
  }
  for (std::size_t index = 0; index < out.size(); ++index) {
    out[index].at.fill(index < member.classes_bias.size() ? member.classes_bias[index] : 0.0F);
  }
  member.classes.add_to(own, out);
}

void SliceNet::add_belief(const Member& member,
                          const Columns& columns,
                          Fillers fillers,
                          Belief* belief) const {
  Belief terms;
  logits(member, columns, std::span(terms).first(member.classes.outputs_padded()));
  const auto counts = [this, fillers](std::size_t index) {
    return is_job_[index] || fillers == Fillers::kPossible;
  };
  LaneArray largest = LaneArray::Constant(std::numeric_limits<float>::lowest());
  for (std::size_t index = 0; index < is_job_.size(); ++index) {
    if (counts(index)) {
      largest = largest.max(mapped(terms[index]));
    }
  }
  const auto scale = static_cast<float>(1 / temperature_);
  LaneArray sum = LaneArray::Zero();
  for (std::size_t index = 0; index < is_job_.size(); ++index) {
    if (counts(index)) {
      mapped(&terms[index]) = ((mapped(terms[index]) - largest) * scale).max(kLogBeliefMin).exp();
      sum += mapped(terms[index]);
    }
  }
  const LaneArray factor = 1 / (sum * static_cast<float>(form_.members));
  for (std::size_t index = 0; index < is_job_.size(); ++index) {
    if (counts(index)) {
      mapped(&(*belief)[index]) += mapped(terms[index]) * factor;
    }
  }
}

void SliceNet::condition(const predict::MpsMatrix& matrix,
                         const Columns& columns,
                         Belief* belief) const {
  for (std::size_t lane = 0; lane < columns.count; ++lane) {
    const std::optional<ComputeSlices>& smallest = matrix.smallest[columns.columns[lane].index];
    if (!smallest.has_value()) {
      continue;
    }
    for (std::size_t index = 0; index < smallest_.size(); ++index) {
      if (predict::kSliceComputeSlices[smallest_[index]] != smallest->value()) {
        (*belief)[index].at[lane] *= kOtherSmallest;
      }
    }
  }
}

namespace {

struct Estimate {
  double mean = 0;
  double median = 0;
  double second_moment = 0;

  /// Root mean square distance of the belief from `point`, with `floor`.
  double sd_around(double point, double floor) const {
    const double square = second_moment - 2 * point * mean + point * point;
    return std::sqrt(std::max(square, 0.0) + floor * floor);
  }
};

/// Of the belief about a quantity, among the classes that have it.
template <class Beliefs>
Estimate estimated(const std::vector<std::size_t>& classes,
                   const std::vector<double>& values,
                   const Beliefs& belief,
                   std::size_t lane) {
  double total = 0;
  double first = 0;
  double second = 0;
  for (std::size_t index = 0; index < classes.size(); ++index) {
    const auto weight = static_cast<double>(belief[classes[index]].at[lane]);
    total += weight;
    first += weight * values[index];
    second += weight * values[index] * values[index];
  }
  Estimate out{.mean = first / total, .median = values.back(), .second_moment = second / total};
  double sum = 0;
  for (std::size_t index = 0; index < classes.size(); ++index) {
    sum += static_cast<double>(belief[classes[index]].at[lane]);
    if (sum >= total / 2) {
      out.median = values[index];
      break;
    }
  }
  return out;
}

}  // namespace

predict::SlicePrediction SliceNet::prediction(const Belief& belief, std::size_t lane) const {
  predict::SlicePrediction out;
  for (std::size_t slice = 0; slice < kTimes; ++slice) {
    const Estimate time = estimated(times_[slice].classes, times_[slice].values, belief, lane);
    out.time[slice] = time_median_part_ * time.median + (1 - time_median_part_) * time.mean;
    out.time_sd[slice] = time.sd_around(out.time[slice], sd_floor_);
  }
  out.speed[0] = 1;
  for (std::size_t slice = 1; slice < predict::kSlices; ++slice) {
    const Estimate speed = estimated(speeds_[slice].classes, speeds_[slice].values, belief, lane);
    const Estimate loss = estimated(losses_[slice].classes, losses_[slice].values, belief, lane);
    out.speed[slice] = std::clamp(out.speed[slice - 1] - loss.mean,
                                  speeds_[slice].values.front(),
                                  speeds_[slice].values.back());
    out.speed_sd[slice] = speed.sd_around(out.speed[slice], sd_floor_);
  }
  return out;
}

Result<predict::SlicePredictions> SliceNet::predict_with(const predict::MpsMatrix& matrix,
                                                         Fillers fillers) const {
  SEPTULE_TRY_STATUS(predict::check_mps_matrix(matrix));
  const bool has_counters = form_.counters == SliceNetForm::Counters::kUsed;
  SEPTULE_TRY(const Columns columns,
              Columns::read(matrix, has_counters ? &counter_scale_ : nullptr));
  Belief belief{};
  for (const Member& member : members_) {
    add_belief(member, columns, fillers, &belief);
  }
  condition(matrix, columns, &belief);
  predict::SlicePredictions predictions;
  for (std::size_t lane = 0; lane < columns.count; ++lane) {
    const predict::SlicePrediction answer = prediction(belief, lane);
    if (!std::isfinite(answer.time[0])) {
      return invalid("the weights of the model \"ours\" are so large that sums overflow");
    }
    predictions[columns.columns[lane].index] = answer;
  }
  return predictions;
}

Result<predict::SlicePredictions> SliceNet::predict(const predict::MpsMatrix& matrix) const {
  const bool is_possible = matrix.fillers == predict::MpsMatrix::Fillers::kPossible;
  return predict_with(matrix, is_possible ? Fillers::kPossible : Fillers::kExcluded);
}

}  // namespace septule::learn
