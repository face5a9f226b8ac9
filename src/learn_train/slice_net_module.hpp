#pragma once

// For the translation units that train or run the slice network under LibTorch; nobody else.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "learn_train/torch_support.hpp"
#include "learn_train/training_data.hpp"

namespace septule::learn_train {

inline constexpr std::int64_t kFeatures = 10;
inline constexpr std::size_t kCounters = 4;
/// Counters and whether they are known.
inline constexpr std::int64_t kCounterFeatures = static_cast<std::int64_t>(kCounters) + 1;
inline constexpr double kFeatureTimeLeast = 0.02;
inline constexpr std::int64_t kColumnCount = static_cast<std::int64_t>(kColumns);
/// Which levels a measurement shows: all, then each proper subset.
inline constexpr std::array<std::array<bool, kLevels>, 7> kLevelSubsets = {{{true, true, true},
                                                                            {true, true, false},
                                                                            {true, false, true},
                                                                            {false, true, true},
                                                                            {true, false, false},
                                                                            {false, true, false},
                                                                            {false, false, true}}};

/// What the network is shown of some measurements. A plain value.
struct SliceBatch {
  torch::Tensor features;  ///< [rows, columns, features]
  torch::Tensor present;   ///< [rows, columns, 1], 1 or 0
  torch::Tensor counts;    ///< [rows, 1], present columns
  torch::Tensor classes;   ///< [rows, columns], index of the class
  torch::Tensor weights;   ///< [rows, columns], in the loss
};

using CounterValues = std::array<double, kCounters>;

/// One measurement as it is shown.
struct Shown {
  const TrainingRow* row = nullptr;
  Fillers fillers = Fillers::kMeasured;
  std::array<bool, kLevels> levels{true, true, true};
  std::array<std::optional<CounterValues>, kColumns> counters{};
};

/// Counters of a class before they are scaled, as learn::SliceNet takes them.
inline CounterValues counters_of(const JobClass& job) {
  const predict::JobCounters& counters = job.counters;
  return {counters.sm_percent.value_or(0) / 100,
          counters.memory_percent.value_or(0) / 100,
          std::log(counters.power_watts.value_or(100) / 100),
          std::log(counters.footprint_mib.value_or(1000) / 1000)};
}

/// Mean and standard deviation of each counter over some classes. A plain value.
struct CounterScale {
  CounterValues mean{};
  CounterValues sd{1, 1, 1, 1};

  static CounterScale of(const TrainingData& data, std::span<const int> classes) {
    CounterScale scale;
    CounterValues squares{};
    const auto count = static_cast<double>(classes.size());
    for (const int index : classes) {
      const CounterValues values = counters_of(data.classes[static_cast<std::size_t>(index)]);
      for (std::size_t i = 0; i < kCounters; ++i) {
        scale.mean[i] += values[i] / count;
        squares[i] += values[i] * values[i] / count;
      }
    }
    for (std::size_t i = 0; i < kCounters; ++i) {
      scale.sd[i] = std::sqrt(std::max(squares[i] - scale.mean[i] * scale.mean[i], 1e-12));
    }
    return scale;
  }
  CounterValues scaled(const JobClass& job) const {
    CounterValues values = counters_of(job);
    for (std::size_t i = 0; i < kCounters; ++i) {
      values[i] = (values[i] - mean[i]) / sd[i];
    }
    return values;
  }
};

/// Classes of the data to classes of the network, -1 = not known to it.
using ClassIndex = std::vector<int>;

/// From measurements to tensors. A plain value.
struct BatchMaker {
  const TrainingData* data;
  ClassIndex class_index;
  double filler_weight;
  double lone_weight;
  std::int64_t features;

  SliceBatch make(std::span<const Shown> shown) const {
    const auto rows = static_cast<std::int64_t>(shown.size());
    SliceBatch batch{.features = torch::zeros({rows, kColumnCount, features}),
                     .present = torch::zeros({rows, kColumnCount, 1}),
                     .counts = torch::zeros({rows, 1}),
                     .classes = torch::zeros({rows, kColumnCount}, torch::kInt64),
                     .weights = torch::zeros({rows, kColumnCount})};
    auto cells = batch.features.accessor<float, 3>();
    auto present = batch.present.accessor<float, 3>();
    auto counts = batch.counts.accessor<float, 2>();
    auto classes = batch.classes.accessor<std::int64_t, 2>();
    auto weights = batch.weights.accessor<float, 2>();
    for (std::int64_t i = 0; i < rows; ++i) {
      const Shown& one = shown[static_cast<std::size_t>(i)];
      const TrainingRow& row = *one.row;
      const int count = one.fillers == Fillers::kMeasured ? static_cast<int>(kColumns) : row.active;
      counts[i][0] = static_cast<float>(count);
      for (std::int64_t column = 0; column < kColumnCount; ++column) {
        const auto at = static_cast<std::size_t>(column);
        const bool is_filler = data->is_dummy(row.classes[at]);
        if (is_filler && one.fillers == Fillers::kAbsent) {
          continue;
        }
        present[i][column][0] = 1;
        classes[i][column] = std::max(0, class_index[static_cast<std::size_t>(row.classes[at])]);
        weights[i][column] =
            static_cast<float>(is_filler ? filler_weight : (row.active == 1 ? lone_weight : 1));
        fill_features(one, at, count, cells[i][column]);
      }
    }
    return batch;
  }

 private:
  template <class Into>
  static void fill_features(const Shown& one, std::size_t column, int count, Into into) {
    double largest = 0;
    for (std::size_t level = 0; level < kLevels; ++level) {
      largest = one.levels[level] ? std::max(largest, one.row->input[level][column]) : largest;
    }
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (one.levels[level]) {
        const double time = one.row->input[level][column] / largest;
        const auto at = static_cast<std::int64_t>(level);
        into[at] = static_cast<float>(time);
        into[3 + at] = static_cast<float>(std::log(std::max(time, kFeatureTimeLeast)));
        into[6 + at] = 1;
      }
    }
    into[9] = static_cast<float>(static_cast<double>(count) / static_cast<double>(kColumns));
    if (const auto& counters = one.counters[column]) {
      for (std::size_t i = 0; i < kCounters; ++i) {
        into[kFeatures + static_cast<std::int64_t>(i)] = static_cast<float>((*counters)[i]);
      }
      into[kFeatures + kCounterFeatures - 1] = 1;
    }
  }
};

/// Zeroes a part of `hidden` at random and scales the rest, so that its mean stays.
inline torch::Tensor with_dropout(const torch::Tensor& hidden, double probability, Rng& rng) {
  torch::Tensor mask = torch::empty_like(hidden);
  float* const values = mask.data_ptr<float>();
  const auto threshold = static_cast<std::uint64_t>(probability * 65536);
  const auto kept = static_cast<float>(1 / (1 - static_cast<double>(threshold) / 65536));
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    bits = i % 4 == 0 ? rng.next() : bits >> 16U;  // four draws of 16 bits each
    values[i] = (bits & 0xFFFFU) < threshold ? 0.0F : kept;
  }
  return hidden * mask;
}

/// One member's tensors and its pass forward (learn/slice_net.hpp says what the network is). One
/// thread.
class SliceNetModule {
 public:
  static constexpr int kWidth = 64;
  static constexpr int kLayers = 4;

  struct Shape {
    std::int64_t features = kFeatures;
    std::int64_t classes = 0;
  };
  SliceNetModule(int member, const Shape& shape, Rng rng)
      : prefix_(fmt::format("member{}.", member)), rng_(rng) {
    add_matrix("input.weight", {kWidth, shape.features}, 2);
    add_zeros("input.bias", kWidth);
    for (int layer = 1; layer < kLayers; ++layer) {
      const std::string name = fmt::format("layer{}.", layer);
      add_matrix(name + "own.weight", {kWidth, kWidth}, 1);
      add_matrix(name + "mean.weight", {kWidth, kWidth}, 1);
      add_matrix(name + "max.weight", {kWidth, kWidth}, 0.5);
      add_zeros(name + "bias", kWidth);
    }
    add_matrix("classes.weight", {shape.classes, kWidth}, 0.5);
    add_zeros("classes.bias", shape.classes);
  }

  /// Logits [rows, columns, classes]. With `dropout` the training's noise, without none.
  struct Dropout {
    double probability;
    Rng* rng;
  };
  torch::Tensor forward(const SliceBatch& batch, std::optional<Dropout> dropout) const {
    const auto noisy = [&](const torch::Tensor& hidden) {
      return dropout ? with_dropout(hidden, dropout->probability, *dropout->rng) : hidden;
    };
    torch::Tensor hidden =
        torch::relu(torch::linear(batch.features, tensor("input.weight"), tensor("input.bias")));
    for (int layer = 1; layer < kLayers; ++layer) {
      const std::string name = fmt::format("layer{}.", layer);
      const torch::Tensor shown = hidden * batch.present;
      const torch::Tensor mean = shown.sum(1) / batch.counts;
      const torch::Tensor max = std::get<0>(shown.max(1));
      const torch::Tensor together = torch::matmul(mean, tensor(name + "mean.weight").t()) +
                                     torch::matmul(max, tensor(name + "max.weight").t());
      const torch::Tensor update =
          torch::relu(torch::linear(hidden, tensor(name + "own.weight"), tensor(name + "bias")) +
                      together.unsqueeze(1));
      hidden = noisy(layer == 1 ? update : hidden + update);
    }
    return torch::linear(hidden, tensor("classes.weight"), tensor("classes.bias"));
  }

  NamedTensors& tensors() { return tensors_; }
  const NamedTensors& tensors() const { return tensors_; }

 private:
  void add_matrix(const std::string& name, const std::vector<std::int64_t>& shape, double gain) {
    const double sd = std::sqrt(gain / static_cast<double>(shape[1]));
    tensors_.push_back(
        {prefix_ + name, normal_tensor(shape, sd, rng_.stream(name)).set_requires_grad(true)});
  }
  void add_zeros(const std::string& name, std::int64_t length) {
    tensors_.push_back({prefix_ + name, torch::zeros({length}).set_requires_grad(true)});
  }
  const torch::Tensor& tensor(const std::string& name) const {
    const std::string whole = prefix_ + name;
    const auto found =
        std::ranges::find_if(tensors_, [&](const NamedTensor& one) { return one.name == whole; });
    SEPTULE_CHECK(found != tensors_.end(), "a layer asks for tensors that were made for it");
    return found->value;
  }

  std::string prefix_;
  Rng rng_;
  NamedTensors tensors_;
};

}  // namespace septule::learn_train
