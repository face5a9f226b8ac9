// Learned predictors: time of one predict() after loading, and of loading (docs/benchmarks.md).
// Weights are drawn at random: the time does not depend on them. Matrices are drawn before the
// clock runs and used in rotation.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "learn/learn_support.hpp"
#include "learn/slice_models.hpp"
#include "learn/slice_net.hpp"
#include "learn/unet.hpp"

namespace septule {
namespace {

constexpr std::size_t kInputs = 256;  // a power of two
constexpr std::array<int, 3> kMeasured = {100, 50, 14};
constexpr std::array<int, 4> kOthers = {100, 60, 30, 10};

void predict_with(benchmark::State& state,
                  const learn::NetworkWeights& weights,
                  std::span<const int> percentages) {
  const auto model = learn::make_slice_model(weights);
  SEPTULE_CHECK(model.has_value(), "drawn weights are valid");
  Rng rng(3);
  std::vector<predict::MpsMatrix> inputs;
  for (std::size_t index = 0; index < kInputs; ++index) {
    inputs.push_back(
        test::drawn_matrix(percentages, static_cast<std::size_t>(state.range(0)), &rng));
  }
  std::size_t at = 0;
  for (auto unused : state) {
    const auto predictions = (*model)->predict(inputs[at]);
    benchmark::DoNotOptimize(predictions.has_value());
    at = (at + 1) & (kInputs - 1);
  }
}

void ours(benchmark::State& state, int members) {
  predict_with(state, test::drawn_slice_net(1, {.members = members}), kMeasured);
}
void ours_between_levels(benchmark::State& state) {
  predict_with(state, test::drawn_slice_net(1, {}), kOthers);
}
void unet(benchmark::State& state) {
  predict_with(state, test::drawn_unet(1), kMeasured);
}

/// From the bytes of a file to a model.
void load(benchmark::State& state, const learn::NetworkWeights& weights) {
  const std::string bytes = learn::write_weights(weights);
  for (auto unused : state) {
    const auto parsed = learn::parse_weights(bytes, "bench");
    const auto model = learn::make_slice_model(*parsed);
    benchmark::DoNotOptimize(model.has_value());
  }
}
void load_ours(benchmark::State& state) {
  load(state, test::drawn_slice_net(1, {}));
}
void load_unet(benchmark::State& state) {
  load(state, test::drawn_unet(1));
}

BENCHMARK_CAPTURE(ours, one_member, 1)->DenseRange(1, 7, 2);
BENCHMARK_CAPTURE(ours, three_members, 3)->Arg(7);
BENCHMARK(ours_between_levels)->Arg(7);
BENCHMARK(unet)->Arg(7);
BENCHMARK(load_ours);
BENCHMARK(load_unet);

}  // namespace
}  // namespace septule
