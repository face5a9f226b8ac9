#include "learn/slice_net.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/portable_math.hpp"
#include "base/text.hpp"
#include "learn/canonical_levels.hpp"
#include "learn/tensor_lookup.hpp"

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

Result<std::vector<float>> bias_of(const NetworkWeights& weights, std::string_view name, int size) {
  SEPTULE_TRY(const Tensor* tensor, tensor_of_shape(weights, name, std::array{size}));
  return tensor->data;
}

std::string member_name(int index) {
  return fmt::format("member{}", index);
}

Status check_names(const NetworkWeights& weights, const SliceNetForm& form) {
  std::set<std::string> names{"class.is_job", "class.time", "class.speed"};
  if (form.counters == SliceNetForm::Counters::kUsed) {
    names.insert({"counter.mean", "counter.sd"});
  }
  for (int index = 0; index < form.members; ++index) {
    const std::string member = member_name(index);
    for (const char* part : {"input", "classes"}) {
      names.insert(fmt::format("{}.{}.weight", member, part));
      names.insert(fmt::format("{}.{}.bias", member, part));
    }
    for (int layer = 1; layer < form.layers; ++layer) {
      for (const char* part : {"own.weight", "mean.weight", "max.weight", "bias"}) {
        names.insert(fmt::format("{}.layer{}.{}", member, layer, part));
      }
    }
  }
  for (const Tensor& tensor : weights.tensors) {
    if (!names.contains(tensor.name)) {
      return invalid(fmt::format("kind \"slice-net\" has no tensor {} with these settings",
                                 quoted_for_message(tensor.name)));
    }
  }
  return {};
}

Status check_settings(const NetworkWeights& weights) {
  static constexpr std::array kNames = {"width",
                                        "layers",
                                        "classes",
                                        "members",
                                        "counters",
                                        "temperature",
                                        "sd_floor",
                                        "time_median_part"};
  for (const auto& setting : weights.settings) {
    if (std::ranges::find(kNames, setting.first) == kNames.end()) {
      return invalid(fmt::format("kind \"slice-net\" has no setting {}; it has {}",
                                 quoted_for_message(setting.first),
                                 fmt::join(kNames, ", ")));
    }
  }
  return {};
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

Result<std::unique_ptr<SliceNet>> SliceNet::make(const NetworkWeights& weights) {
  std::unique_ptr<SliceNet> net(new SliceNet());
  SliceNetForm& form = net->form_;
  constexpr auto kLaneCount = static_cast<int>(kLanes);
  SEPTULE_TRY(form.width,
              whole_setting(weights, "width", {.min = kLaneCount, .max = form.kWidthMax}));
  if (form.width % kLaneCount != 0) {
    return invalid(
        fmt::format("the setting \"width\" is {}; valid are multiples of {}", form.width, kLanes));
  }
  SEPTULE_TRY(form.layers, whole_setting(weights, "layers", {.min = 1, .max = form.kLayersMax}));
  SEPTULE_TRY(form.classes, whole_setting(weights, "classes", {.min = 1, .max = form.kClassesMax}));
  SEPTULE_TRY(form.members, whole_setting(weights, "members", {.min = 1, .max = form.kMembersMax}));
  if (weights.settings.contains("counters")) {
    SEPTULE_TRY(const int used, whole_setting(weights, "counters", {.min = 0, .max = 1}));
    form.counters = used == 1 ? SliceNetForm::Counters::kUsed : SliceNetForm::Counters::kNone;
  }
  SEPTULE_TRY(net->temperature_, real_setting(weights, "temperature", {.min = 0.1, .max = 10}));
  SEPTULE_TRY(net->sd_floor_, real_setting(weights, "sd_floor", {}));
  SEPTULE_TRY(net->time_median_part_, real_setting(weights, "time_median_part", {}));
  SEPTULE_TRY_STATUS(check_settings(weights));
  SEPTULE_TRY_STATUS(check_names(weights, form));
  SEPTULE_TRY_STATUS(net->read_members(weights));
  SEPTULE_TRY_STATUS(net->read_classes(weights));
  if (form.counters == SliceNetForm::Counters::kUsed) {
    SEPTULE_TRY_STATUS(net->read_counters(weights));
  }
  return net;
}

Status SliceNet::read_counters(const NetworkWeights& weights) {
  constexpr std::array kShape{static_cast<int>(kCounters)};
  SEPTULE_TRY(const Tensor* mean, tensor_of_shape(weights, "counter.mean", kShape));
  SEPTULE_TRY(const Tensor* sd, tensor_of_shape(weights, "counter.sd", kShape));
  for (std::size_t counter = 0; counter < kCounters; ++counter) {
    counter_scale_.mean[counter] = static_cast<double>(mean->data[counter]);
    counter_scale_.sd[counter] = static_cast<double>(sd->data[counter]);
    if (!(sd->data[counter] > 0)) {
      return invalid(fmt::format(
          "tensor \"counter.sd\" has the value {}; valid are numbers above 0", sd->data[counter]));
    }
  }
  return {};
}

Status SliceNet::read_members(const NetworkWeights& weights) {
  for (int index = 0; index < form_.members; ++index) {
    SEPTULE_TRY(Member member, make_member(weights, form_, index));
    members_.push_back(std::move(member));
  }
  return {};
}

Result<SliceNet::Member> SliceNet::make_member(const NetworkWeights& weights,
                                               const SliceNetForm& form,
                                               int index) {
  const std::string name = member_name(index);
  const LayerSize square{.inputs = form.width, .outputs = form.width};
  const bool has_counters = form.counters == SliceNetForm::Counters::kUsed;
  const auto inputs = static_cast<int>(has_counters ? kFeaturesMax : kTimeFeatures);
  Member member;
  SEPTULE_TRY(member.input,
              ColumnDense::make(weights, name + ".input.weight", {inputs, form.width}));
  SEPTULE_TRY(member.input_bias, bias_of(weights, name + ".input.bias", form.width));
  for (int number = 1; number < form.layers; ++number) {
    const std::string prefix = fmt::format("{}.layer{}", name, number);
    Layer layer;
    SEPTULE_TRY(layer.own, ColumnDense::make(weights, prefix + ".own.weight", square));
    SEPTULE_TRY(layer.mean, VectorDense::make(weights, prefix + ".mean.weight", square));
    SEPTULE_TRY(layer.max, VectorDense::make(weights, prefix + ".max.weight", square));
    SEPTULE_TRY(layer.bias, bias_of(weights, prefix + ".bias", form.width));
    layer.is_residual = number > 1;
    member.layers.push_back(std::move(layer));
  }
  SEPTULE_TRY(member.classes,
              ColumnDense::make(weights, name + ".classes.weight", {form.width, form.classes}));
  SEPTULE_TRY(member.classes_bias, bias_of(weights, name + ".classes.bias", form.classes));
  return member;
}

Status SliceNet::read_classes(const NetworkWeights& weights) {
  const int count = form_.classes;
  SEPTULE_TRY(const Tensor* is_job, tensor_of_shape(weights, "class.is_job", std::array{count}));
  SEPTULE_TRY(const Tensor* time,
              tensor_of_shape(weights, "class.time", std::array{count, static_cast<int>(kTimes)}));
  SEPTULE_TRY(const Tensor* speed,
              tensor_of_shape(
                  weights, "class.speed", std::array{count, static_cast<int>(predict::kSlices)}));
  for (const float flag : is_job->data) {
    if (flag != 0 && flag != 1) {
      return invalid(
          fmt::format("tensor \"class.is_job\" has the value {}; valid are 0 and 1", flag));
    }
    is_job_.push_back(flag == 1);
  }
  const auto read = [](const Tensor& tensor, std::size_t width, std::size_t at, Quantity* out) {
    std::vector<std::pair<double, std::size_t>> found;
    for (std::size_t index = at; index < tensor.data.size(); index += width) {
      if (tensor.data[index] > 0) {
        found.emplace_back(static_cast<double>(tensor.data[index]), index / width);
      }
    }
    std::ranges::sort(found);
    for (const auto& [value, index] : found) {
      out->values.push_back(value);
      out->classes.push_back(index);
    }
  };
  for (std::size_t slice = 0; slice < kTimes; ++slice) {
    read(*time, kTimes, slice, &times_[slice]);
    if (times_[slice].values.size() != is_job_.size()) {
      return invalid("tensor \"class.time\" has a value that is not above 0");
    }
  }
  smallest_.assign(is_job_.size(), 0);
  for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
    read(*speed, predict::kSlices, slice, &speeds_[slice]);
    for (const std::size_t index : speeds_[slice].classes) {
      smallest_[index] = slice;
    }
    const bool has_job = std::ranges::any_of(speeds_[slice].classes,
                                             [this](std::size_t index) { return is_job_[index]; });
    if (!has_job) {
      return invalid(fmt::format("tensor \"class.speed\" has no job with a speed on {}",
                                 predict::kSliceNames[slice]));
    }
  }
  return {};
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
    out.speed[slice] = speed.mean;
    out.speed_sd[slice] = speed.sd_around(speed.mean, sd_floor_);
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
  return predict_with(matrix, Fillers::kExcluded);
}

}  // namespace septule::learn
