// A line of septule predict --jsonl without input and output: parse, predict, write. Weights drawn
// at random in the shape of the shipped ones; 1,024 lines of one to seven jobs in rotation.
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "base/rng.hpp"
#include "interop/mps_measurements.hpp"
#include "interop/slice_lines.hpp"
#include "learn/learn_support.hpp"
#include "learn/slice_models.hpp"

namespace septule {
namespace {

std::vector<std::string> drawn_lines() {
  constexpr int kLines = 1024;
  Rng rng(1);
  std::vector<std::string> lines;
  for (int i = 0; i < kLines; ++i) {
    const auto jobs = static_cast<std::size_t>(1 + rng.below(predict::kCoRunnersMax));
    std::string rows;
    for (int level = 0; level < 3; ++level) {
      rows += level == 0 ? "[" : ",[";
      for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
        rows += column == 0 ? "" : ",";
        rows += column < jobs ? fmt::format("{:.4f}", 0.1 + 0.9 * rng.uniform()) : "null";
      }
      rows += "]";
    }
    lines.push_back(fmt::format(R"({{"mps_levels":[100,50,14],"step_time":[{}]}})", rows));
  }
  return lines;
}

void answer(benchmark::State& state, const learn::NetworkWeights& weights) {
  const std::vector<std::string> lines = drawn_lines();
  const auto model = learn::make_slice_model(weights);
  if (!model) {
    state.SkipWithError(model.error().message.c_str());
    return;
  }
  std::size_t at = 0;
  for (auto _ : state) {
    const auto matrix = interop::parse_mps_line({.text = lines[at], .source_name = "lines"});
    const auto predictions = (*model)->predict(matrix.value());
    benchmark::DoNotOptimize(interop::write_slice_line(predictions.value()));
    at = (at + 1) % lines.size();
  }
  state.SetItemsProcessed(state.iterations());
}

void bm_predict_line_ours(benchmark::State& state) {
  answer(state, test::drawn_slice_net(4, {.width = 64, .layers = 4, .classes = 33, .members = 1}));
}
BENCHMARK(bm_predict_line_ours);

void bm_predict_line_unet(benchmark::State& state) {
  answer(state, test::drawn_unet(4));
}
BENCHMARK(bm_predict_line_unet);

}  // namespace
}  // namespace septule
