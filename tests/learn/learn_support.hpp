#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
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
  return matrix;
}

}  // namespace septule::test
