// What the signature model costs: fitting a job to its points, one answer, and jobs that share a
// GPU (docs/benchmarks.md). Figures of accuracy: signature_model_report.
#include <array>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "predict/signature_model.hpp"

namespace septule {
namespace {

using predict::InterferenceClient;
using predict::InterferenceModel;
using predict::SoloFit;
using predict::SoloLaw;
using predict::SoloPoint;

constexpr std::array<const char*, 5> kProfiles = {
    "3g.40gb", "1g.10gb", "2g.20gb", "4g.40gb", "7g.80gb"};

/// The whole GPU and so many slices of a job drawn.
std::vector<SoloPoint> points_of(const gpu::Geometry& gpu, std::size_t count, Rng& rng) {
  const auto in = [&rng](double low, double high) { return low + (high - low) * rng.uniform(); };
  const SoloLaw law{
      .serial = in(0, 0.5), .compute = in(0.1, 1), .memory = in(0, 0.4), .usable = in(0.3, 1)};
  std::vector<SoloPoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<ProfileIndex> profile =
        i == 0 ? std::nullopt : gpu.find_profile(kProfiles[i - 1]);
    const auto at =
        predict::place_resources({.gpu = &gpu, .profile = profile}, ActiveThreadPercentage(100));
    SEPTULE_CHECK(at.has_value(), "the profiles exist");
    points.push_back({.at = at->resources, .step = law.step(at->resources) * in(0.99, 1.01)});
  }
  return points;
}

constexpr std::size_t kInputs = 64;

void fit(benchmark::State& state) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& gpu = **catalogue.find("A100-80GB");
  Rng rng(7);
  std::vector<std::vector<SoloPoint>> inputs;
  for (std::size_t i = 0; i < kInputs; ++i) {
    inputs.push_back(points_of(gpu, static_cast<std::size_t>(state.range(0)), rng));
  }
  std::size_t at = 0;
  for (auto unused : state) {
    const Result<SoloFit> made = SoloFit::make(
        inputs[at], {.kind = predict::JobKind::kTraining, .counters = {}, .usable = {}});
    benchmark::DoNotOptimize(made.has_value());
    at = (at + 1) % kInputs;
  }
}

void predict_step(benchmark::State& state) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& gpu = **catalogue.find("A100-80GB");
  Rng rng(7);
  const Result<SoloFit> made =
      SoloFit::make(points_of(gpu, static_cast<std::size_t>(state.range(0)), rng), {});
  SEPTULE_CHECK(made.has_value(), "the points are valid");
  predict::Resources at{.compute = 0.25, .bandwidth = 0.25};
  for (auto unused : state) {
    benchmark::DoNotOptimize(at);
    benchmark::DoNotOptimize(made->predict(at));
  }
}

void rates(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Rng rng(7);
  std::vector<std::vector<InterferenceClient>> inputs(kInputs);
  for (std::vector<InterferenceClient>& clients : inputs) {
    for (std::size_t i = 0; i < count; ++i) {
      const double serial = 0.8 * rng.uniform();
      clients.push_back({.serial = serial,
                         .busy = (1 - serial) * rng.uniform(),
                         .kernel_length = 0.01 + rng.uniform()});
    }
  }
  std::vector<double> out(count);
  std::size_t at = 0;
  for (auto unused : state) {
    InterferenceModel{}.rates(inputs[at], out);
    benchmark::DoNotOptimize(out.data());
    at = (at + 1) % kInputs;
  }
}

BENCHMARK(fit)->Arg(1)->Arg(3)->Arg(6);
BENCHMARK(predict_step)->Arg(1)->Arg(6);
BENCHMARK(rates)->Arg(2)->Arg(7)->Arg(48);

}  // namespace
}  // namespace septule
