#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "learn/weights_file.hpp"

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

}  // namespace septule::test
