// Speeds of jobs that share a GPU under MPS: time of one MpsModel::speeds() (docs/benchmarks.md).
// The simulator asks whenever the set of clients of a GPU changes. Sets of clients are drawn before
// the clock runs and used in rotation, so that no branch predictor learns one of them by heart.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "job/perf_signature.hpp"
#include "predict/mps_model.hpp"

namespace septule {
namespace {

using predict::MpsClient;
using predict::MpsModel;
using predict::SpeedBook;

constexpr std::size_t kInputs = 1024;  // a power of two
constexpr std::size_t kClientsMax = 7;

enum class Kernels { kUnknown, kKnown };

void speeds(benchmark::State& state, Kernels kernels, int atp) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find("A100-40GB");
  std::vector<job::PerfSignature> signatures = job::builtin_signatures();
  Rng rng(7);
  if (kernels == Kernels::kKnown) {
    for (job::PerfSignature& signature : signatures) {
      signature.kernel_count = static_cast<int>(30 + rng.below(470));
    }
  }
  const Result<SpeedBook> book = SpeedBook::make(geometry, signatures);
  SEPTULE_CHECK(book.has_value(), "the built-in signatures are valid");
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<std::array<MpsClient, kClientsMax>> inputs(kInputs);
  for (std::array<MpsClient, kClientsMax>& clients : inputs) {
    for (MpsClient& client : clients) {
      client = {.signature = job::SignatureIndex(static_cast<int>(rng.below(book->size()))),
                .atp = ActiveThreadPercentage(atp)};
    }
  }
  const MpsModel model;
  std::array<double, kClientsMax> out{};
  std::size_t at = 0;
  for (auto unused : state) {
    model.speeds(*book,
                 book->whole_profile(),
                 std::span<const MpsClient>(inputs[at]).first(count),
                 std::span<double>(out).first(count));
    benchmark::DoNotOptimize(out);
    at = (at + 1) & (kInputs - 1);
  }
}

/// Making the book of the 32 built-in jobs: once per GPU model of a cluster.
void make_book(benchmark::State& state, const char* key) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& geometry = **catalogue.find(key);
  const std::vector<job::PerfSignature> signatures = job::builtin_signatures();
  for (auto unused : state) {
    const Result<SpeedBook> book = SpeedBook::make(geometry, signatures);
    benchmark::DoNotOptimize(book.has_value());
  }
}

BENCHMARK_CAPTURE(speeds, shares, Kernels::kUnknown, 100)->DenseRange(1, 7, 2);
BENCHMARK_CAPTURE(speeds, shares_14, Kernels::kUnknown, 14)->Arg(7);
BENCHMARK_CAPTURE(speeds, kernels, Kernels::kKnown, 100)->DenseRange(1, 7, 2);
BENCHMARK_CAPTURE(speeds, kernels_capped, Kernels::kKnown, 50)->Arg(7);
BENCHMARK_CAPTURE(make_book, measured, "A100-40GB");
BENCHMARK_CAPTURE(make_book, predicted, "H100-80GB-SXM");

}  // namespace
}  // namespace septule
