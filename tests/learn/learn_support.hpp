#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "learn/slice_net.hpp"
#include "learn/unet.hpp"
#include "learn/weights_file.hpp"
#include "predict/mps_matrix.hpp"

namespace septule::test {

/// A tensor of this shape with values drawn from a normal distribution.
inline learn::Tensor drawn_tensor(std::string name, std::vector<int> shape, double sd, Rng* rng) {
  learn::Tensor tensor{.name = std::move(name), .shape = std::move(shape), .data = {}};
  std::size_t size = 1;
  for (const int extent : tensor.shape) {
    size *= static_cast<std::size_t>(extent);
  }
  for (std::size_t index = 0; index < size; ++index) {
    tensor.data.push_back(static_cast<float>(rng->normal(0, sd)));
  }
  return tensor;
}

/// Small weights of no network, with all fields filled.
inline learn::NetworkWeights drawn_weights(std::uint64_t seed) {
  Rng rng(seed);
  learn::NetworkWeights weights;
  weights.kind = rng.below(2) == 0 ? "slice-net" : "unet";
  for (std::uint64_t index = rng.below(4); index > 0; --index) {
    weights.settings["setting" + std::to_string(index)] = rng.normal(0, 1e6);
  }
  for (std::uint64_t index = rng.below(5); index > 0; --index) {
    std::vector<int> shape(1 + rng.below(4));
    for (int& extent : shape) {
      extent = static_cast<int>(1 + rng.below(3));
    }
    weights.tensors.push_back(drawn_tensor("part." + std::to_string(index), shape, 1.0, &rng));
  }
  weights.recipe = {.command = "septule train \"\xC3\xA9\" \n \\",
                    .seed = rng.next(),
                    .data_digest = "0123456789abcdef",
                    .rows = static_cast<int>(rng.below(20000)),
                    .metrics = {{"val5_all", rng.uniform()}, {"zero", 0.0}}};
  return weights;
}

/// Weights of the U-Net with every tensor drawn at random, about the scale of a trained one.
inline learn::NetworkWeights drawn_unet(std::uint64_t seed) {
  Rng rng(seed);
  learn::NetworkWeights weights{.kind = "unet", .settings = {}, .tensors = {}, .recipe = {}};
  for (const learn::TensorForm& form : learn::unet_form()) {
    const double fan_in = form.shape.size() == 4 ? form.shape[0] + form.shape[1] : 8;
    learn::Tensor tensor = drawn_tensor(form.name, form.shape, 1 / std::sqrt(fan_in), &rng);
    const bool is_positive = form.name.ends_with("_var") || form.name.ends_with("_sd") ||
                             form.name == "dummy_input" || form.name.find("norm") < 20;
    if (is_positive) {
      for (float& value : tensor.data) {
        value = std::fabs(value) + 0.1F;
      }
    }
    weights.tensors.push_back(std::move(tensor));
  }
  weights.recipe = {.command = "drawn",
                    .seed = seed,
                    .data_digest = "0000000000000000",
                    .rows = 0,
                    .metrics = {}};
  return weights;
}

/// Weights of our network with every tensor drawn at random: `jobs` classes and one filler.
inline learn::NetworkWeights drawn_slice_net(std::uint64_t seed, const learn::SliceNetForm& form) {
  Rng rng(seed);
  learn::NetworkWeights weights{.kind = "slice-net", .settings = {}, .tensors = {}, .recipe = {}};
  weights.settings = {{"width", form.width},
                      {"layers", form.layers},
                      {"classes", form.classes},
                      {"members", form.members},
                      {"temperature", 1.15},
                      {"sd_floor", 0.005},
                      {"time_median_part", 0.75}};
  const double sd = 1 / std::sqrt(form.width);
  std::vector<learn::Tensor>& tensors = weights.tensors;
  for (int member = 0; member < form.members; ++member) {
    const std::string name = "member" + std::to_string(member);
    const int inputs = form.counters == learn::SliceNetForm::Counters::kUsed ? 15 : 10;
    tensors.push_back(drawn_tensor(name + ".input.weight", {form.width, inputs}, 0.5, &rng));
    tensors.push_back(drawn_tensor(name + ".input.bias", {form.width}, 0.3, &rng));
    for (int layer = 1; layer < form.layers; ++layer) {
      const std::string prefix = name + ".layer" + std::to_string(layer);
      for (const char* part : {".own.weight", ".mean.weight", ".max.weight"}) {
        tensors.push_back(drawn_tensor(prefix + part, {form.width, form.width}, sd, &rng));
      }
      tensors.push_back(drawn_tensor(prefix + ".bias", {form.width}, 0.3, &rng));
    }
    tensors.push_back(
        drawn_tensor(name + ".classes.weight", {form.classes, form.width}, 2 * sd, &rng));
    tensors.push_back(drawn_tensor(name + ".classes.bias", {form.classes}, 0.3, &rng));
  }
  learn::Tensor is_job{.name = "class.is_job", .shape = {form.classes}, .data = {}};
  learn::Tensor time{.name = "class.time", .shape = {form.classes, 3}, .data = {}};
  learn::Tensor speed{.name = "class.speed", .shape = {form.classes, 5}, .data = {}};
  for (int index = 0; index < form.classes; ++index) {
    is_job.data.push_back(index == 1 && form.classes > 2 ? 0.0F : 1.0F);
    for (int slice = 0; slice < 3; ++slice) {
      time.data.push_back(static_cast<float>(0.1 + 0.9 * rng.uniform()));
    }
    bool fits = true;
    for (int slice = 0; slice < 5; ++slice) {
      fits = fits && (index == 0 || slice < 3 || rng.below(3) != 0);
      speed.data.push_back(slice == 0 ? 1.0F
                           : fits     ? static_cast<float>(0.05 + 0.9 * rng.uniform())
                                      : 0.0F);
    }
  }
  for (learn::Tensor* tensor : {&is_job, &time, &speed}) {
    tensors.push_back(std::move(*tensor));
  }
  if (form.counters == learn::SliceNetForm::Counters::kUsed) {
    weights.settings["counters"] = 1;
    tensors.push_back({.name = "counter.mean", .shape = {4}, .data = {0.5F, 0.25F, 0.5F, 1.0F}});
    tensors.push_back({.name = "counter.sd", .shape = {4}, .data = {0.25F, 0.5F, 0.75F, 2.0F}});
  }
  weights.recipe = {.command = "drawn",
                    .seed = seed,
                    .data_digest = "0000000000000000",
                    .rows = 0,
                    .metrics = {}};
  return weights;
}

/// A matrix at these percentages with times drawn for the first `jobs` of a random order of
/// columns.
inline predict::MpsMatrix drawn_matrix(std::span<const int> percentages,
                                       std::size_t jobs,
                                       Rng* rng) {
  std::array<std::size_t, predict::kCoRunnersMax> order{0, 1, 2, 3, 4, 5, 6};
  rng->shuffle(std::span<std::size_t>(order));
  predict::MpsMatrix matrix;
  for (const int percentage : percentages) {
    matrix.levels.push_back({.atp = ActiveThreadPercentage(percentage), .step = {}});
    for (std::size_t job = 0; job < jobs; ++job) {
      matrix.levels.back().step[order[job]] = 0.01 + rng->uniform() * 3;
    }
  }
  for (predict::JobCounters& counters : matrix.counters) {
    counters = {.sm_percent = 100 * rng->uniform(),
                .memory_percent = 100 * rng->uniform(),
                .power_watts = 50 + 250 * rng->uniform(),
                .footprint_mib = 500 + 10000 * rng->uniform()};
    if (rng->below(3) == 0) {
      counters.power_watts.reset();
    }
  }
  return matrix;
}

}  // namespace septule::test
