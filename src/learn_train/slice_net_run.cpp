#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "learn_train/network_trainer.hpp"
#include "learn_train/slice_net_module.hpp"
#include "learn_train/slice_net_trainer.hpp"
#include "learn_train/torch_support.hpp"

namespace septule::learn_train {

namespace {

/// A quantity of the classes under a belief: mean, median and spread, over those that have it.
struct Moments {
  double mean = 0;
  double median = 0;
  double variance_about(double centre) const {
    return second - 2 * centre * mean + centre * centre;
  }
  double second = 0;  ///< mean of squares
};

Moments moments_of(std::span<const double> belief, std::span<const double> values) {
  std::vector<std::pair<double, double>> by_value;  // value, probability
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) {
      by_value.emplace_back(values[i], belief[i]);
      total += belief[i];
    }
  }
  std::ranges::stable_sort(by_value, {}, &std::pair<double, double>::first);
  Moments moments;
  double below = 0;
  bool has_median = false;
  for (const auto& [value, probability] : by_value) {
    moments.mean += value * probability / total;
    moments.second += value * value * probability / total;
    below += probability / total;
    if (!has_median && below >= 0.5) {
      moments.median = value;
      has_median = true;
    }
  }
  return moments;
}

/// Column `at` of a tensor of classes.
std::vector<double> class_values(const learn::Tensor& tensor, std::size_t at) {
  const auto width = static_cast<std::size_t>(tensor.shape.back());
  std::vector<double> values;
  for (std::size_t i = at; i < tensor.data.size(); i += width) {
    values.push_back(static_cast<double>(tensor.data[i]));
  }
  return values;
}

predict::SlicePrediction prediction_of(const learn::NetworkWeights& weights,
                                       std::span<const double> belief) {
  const learn::Tensor& time = *weights.find("class.time");
  const learn::Tensor& speed = *weights.find("class.speed");
  const double median_part = weights.settings.at("time_median_part");
  const double floor = weights.settings.at("sd_floor");
  predict::SlicePrediction out;
  for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
    const Moments moments = moments_of(belief, class_values(time, slice));
    out.time[slice] = median_part * moments.median + (1 - median_part) * moments.mean;
    out.time_sd[slice] = std::sqrt(moments.variance_about(out.time[slice]) + floor * floor);
  }
  out.speed[0] = 1;
  std::vector<double> larger = class_values(speed, 0);
  for (std::size_t slice = 1; slice < predict::kSlices; ++slice) {
    const std::vector<double> here = class_values(speed, slice);
    const Moments moments = moments_of(belief, here);
    // Down from slice to slice by the mean loss of those that fit the smaller one.
    double loss = 0;
    double total = 0;
    double least = 1e9;
    double most = 0;
    for (std::size_t k = 0; k < here.size(); ++k) {
      if (here[k] > 0) {
        loss += belief[k] * (larger[k] - here[k]);
        total += belief[k];
        least = std::min(least, here[k]);
        most = std::max(most, here[k]);
      }
    }
    out.speed[slice] = std::clamp(out.speed[slice - 1] - loss / total, least, most);
    out.speed_sd[slice] = std::sqrt(moments.variance_about(out.speed[slice]) + floor * floor);
    larger = here;
  }
  return out;
}

Result<CounterScale> scale_of(const learn::NetworkWeights& weights) {
  CounterScale scale;
  const learn::Tensor* const mean = weights.find("counter.mean");
  const learn::Tensor* const sd = weights.find("counter.sd");
  if (mean != nullptr && sd != nullptr) {
    if (mean->data.size() != kCounters || sd->data.size() != kCounters) {
      return Error{ErrorCode::kInvalidInput, "the weights' scale of counters has another shape"};
    }
    std::ranges::copy(mean->data, scale.mean.begin());
    std::ranges::copy(sd->data, scale.sd.begin());
  }
  return scale;
}

}  // namespace

Result<std::vector<predict::SlicePredictions>> run_slice_net(const learn::NetworkWeights& weights,
                                                             const TrainingData& data,
                                                             std::span<const int> rows,
                                                             Fillers fillers) {
  using Made = Result<std::vector<predict::SlicePredictions>>;
  return without_exceptions("running the slice network", [&]() -> Made {
    const torch::NoGradGuard no_grad;
    const learn::Tensor* const found = weights.find("class.is_job");
    const learn::Tensor* const input = weights.find("member0.input.weight");
    if (weights.kind != "slice-net" || found == nullptr || input == nullptr) {
      return Error{ErrorCode::kInvalidInput, "the weights are not those of a slice network"};
    }
    const learn::Tensor& is_job = *found;
    SEPTULE_TRY(const CounterScale scale, scale_of(weights));
    const auto classes = static_cast<std::int64_t>(is_job.data.size());
    const auto members = static_cast<int>(weights.settings.at("members"));
    const BatchMaker maker{.data = &data,
                           .class_index = ClassIndex(data.classes.size(), 0),
                           .filler_weight = 1,
                           .lone_weight = 1,
                           .features = input->shape.back()};
    std::vector<Shown> shown;
    for (const int index : rows) {
      Shown& one = shown.emplace_back();
      one.row = &data.rows[static_cast<std::size_t>(index)];
      one.fillers = fillers;
      for (std::size_t column = 0; column < kColumns && maker.features > kFeatures; ++column) {
        one.counters[column] =
            scale.scaled(data.classes[static_cast<std::size_t>(one.row->classes[column])]);
      }
    }
    const SliceBatch batch = maker.make(shown);
    torch::Tensor belief =
        torch::zeros({static_cast<std::int64_t>(rows.size()), kColumnCount, classes});
    for (int member = 0; member < members; ++member) {
      SliceNetModule module(member, {.features = maker.features, .classes = classes}, Rng(0));
      for (NamedTensor& one : module.tensors()) {
        SEPTULE_TRY_STATUS(import_into(weights, one.name, one.value));
      }
      torch::Tensor logits =
          module.forward(batch, std::nullopt) / weights.settings.at("temperature");
      for (std::int64_t k = 0; k < classes && fillers == Fillers::kAbsent; ++k) {
        if (is_job.data[static_cast<std::size_t>(k)] == 0) {
          logits.select(-1, k).fill_(-1e9);
        }
      }
      belief += torch::softmax(logits, -1) / members;
    }
    std::vector<predict::SlicePredictions> all;
    const auto cells = belief.accessor<float, 3>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      predict::SlicePredictions& one = all.emplace_back();
      for (std::size_t column = 0; column < kColumns; ++column) {
        if (fillers == Fillers::kAbsent && data.is_dummy(shown[i].row->classes[column])) {
          continue;
        }
        std::vector<double> here;
        for (std::int64_t k = 0; k < classes; ++k) {
          here.push_back(static_cast<double>(
              cells[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(column)][k]));
        }
        one[column] = prediction_of(weights, here);
      }
    }
    return all;
  });
}

void use_one_torch_thread() {
  at::set_num_threads(1);
}

}  // namespace septule::learn_train
