#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "learn/slice_net.hpp"
#include "learn/tensor_lookup.hpp"

// How a SliceNet comes from its weights.
namespace septule::learn {

namespace {

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
      if (slice > 0 && smallest_[index] + 1 != slice) {
        return invalid(fmt::format(
            "tensor \"class.speed\" has a speed of class {} on {} but none on a larger slice",
            index,
            predict::kSliceNames[slice]));
      }
      smallest_[index] = slice;
      const std::size_t at = index * predict::kSlices + slice;
      const auto larger = static_cast<double>(speed->data[slice == 0 ? at : at - 1]);
      losses_[slice].classes.push_back(index);
      losses_[slice].values.push_back(larger - static_cast<double>(speed->data[at]));
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

}  // namespace septule::learn
