#include "optimize/moldable_generator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace septule::optimize {

namespace {

constexpr std::array<int, 5> kLimits = {1, 2, 3, 4, 7};
constexpr int kSlicesMax = 7;

struct MixRow {
  std::string_view name;
  std::array<int, kLimits.size()> limit_percent;
  int memory_percent;
};
constexpr std::array<MixRow, kMoldableMixCount> kMixes = {{
    {"good", {0, 0, 0, 50, 50}, 75},
    {"bad", {50, 50, 0, 0, 0}, 25},
    {"uniform", {20, 20, 20, 20, 20}, 50},
    {"extreme", {45, 5, 0, 5, 45}, 50},
}};

/// A normal draw cut to [low, high].
struct CutNormal {
  double mean;
  double sd;
  double low;
  double high;

  double draw(Rng& rng) const { return std::clamp(rng.normal(mean, sd), low, high); }
};
constexpr CutNormal kScales = {0.05, 0.05, 0, 0.1};
constexpr CutNormal kScalesNoMore = {0.75, 0.25, 0.5, 1};
constexpr CutNormal kBoundByMemory = {-0.25, 0.25, -0.3, 0};

int draw_limit(const MixRow& mix, Rng& rng) {
  auto left = static_cast<int>(rng.below(100));
  for (std::size_t at = 0; at < kLimits.size(); ++at) {
    left -= mix.limit_percent[at];
    if (left < 0) {
      return kLimits[at];
    }
  }
  return kLimits.back();
}

/// Seconds on 1 to 7 compute slices.
std::array<double, kSlicesMax> draw_times(const MixRow& mix, double first, Rng& rng) {
  const int limit = draw_limit(mix, rng);
  bool is_bound = rng.chance(static_cast<std::uint64_t>(mix.memory_percent), 100);
  std::array<double, kSlicesMax> times{first};
  for (int slices = 2; slices <= kSlicesMax; ++slices) {
    double x = 0;
    if (slices > limit || (slices == 4 && is_bound)) {
      x = kScalesNoMore.draw(rng);
    } else if (is_bound) {
      x = kBoundByMemory.draw(rng);
      is_bound = !rng.chance(1, 10);
    } else {
      x = kScales.draw(rng);
    }
    times[static_cast<std::size_t>(slices) - 1] =
        times[static_cast<std::size_t>(slices) - 2] * (slices - 1 + x) / slices;
  }
  return times;
}

}  // namespace

std::string_view moldable_mix_name(MoldableMix mix) {
  return kMixes[static_cast<std::size_t>(mix)].name;
}

MoldableProblem draw_moldable_tasks(const MoldableGpu& gpu, const MoldableDraw& draw, Rng& rng) {
  SEPTULE_CHECK(Duration() < draw.shortest && draw.shortest <= draw.longest,
                "times to draw are above 0 and in order");
  const MixRow& mix = kMixes[static_cast<std::size_t>(draw.mix)];
  MoldableProblem problem{&gpu, {}};
  for (std::size_t made = 0; made < draw.tasks; ++made) {
    const double first =
        draw.shortest.to_seconds() + (draw.longest - draw.shortest).to_seconds() * rng.uniform();
    const std::array<double, kSlicesMax> times = draw_times(mix, first, rng);
    MoldableTask task;
    for (const MoldableSize& size : gpu.sizes()) {
      SEPTULE_CHECK(size.slices.value() <= kSlicesMax, "sizes have at most 7 compute slices");
      task.times.emplace_back(
          std::max(seconds_to_duration(times[static_cast<std::size_t>(size.slices.value()) - 1]),
                   Duration::nanoseconds(1)));
    }
    problem.tasks.push_back(std::move(task));
  }
  return problem;
}

}  // namespace septule::optimize
