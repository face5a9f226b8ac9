#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/switch_costs.hpp"
#include "optimize/window_optimizer.hpp"
#include "predict/co_run_model.hpp"
#include "support/window_faults.hpp"

// Random windows.
namespace septule::test {

using optimize::GroupClock;

/// Whole numbers that are the same with every standard library.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// Rates drawn from the question: who is where, in whose company. Compute instances of equal size
/// are alike, as they are on a GPU. Alone on the whole GPU: 1.
class RandomCoRun final : public predict::CoRunModel {
 public:
  struct Kind {
    std::uint64_t seed = 1;
    bool only_slows = false;
    std::uint64_t zero_percent = 5;  ///< rates that are 0
    std::uint64_t steps = 1000;      ///< different rates; few = many ties
  };
  RandomCoRun(std::size_t job_count, const Kind& kind) : job_count_(job_count), kind_(kind) {}

  std::size_t job_count() const override { return job_count_; }
  bool only_slows() const override { return kind_.only_slows; }
  void rates(const predict::CoRunPlace& place,
             std::span<const predict::CoRunClient> clients,
             std::span<double> out) const override {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      out[i] = drawn(place, {clients.data() + i, 1}, 0);
      if (clients.size() > 1) {
        const double in_company = drawn(place, clients, i);
        out[i] = kind_.only_slows ? out[i] * in_company : in_company;
      }
    }
  }

 private:
  using Text = std::vector<std::uint64_t>;

  double drawn(const predict::CoRunPlace& place,
               std::span<const predict::CoRunClient> clients,
               std::size_t of) const {
    if (!place.profile.has_value() && clients.size() == 1) {
      return 1;
    }
    // The compute instances with their clients; the one of the client asked for in front.
    std::map<int, Text> inside;
    for (const predict::CoRunClient& client : clients) {
      const std::uint64_t atp =
          client.atp.has_value() ? static_cast<std::uint64_t>(client.atp->value()) : 0;
      inside[client.compute].push_back(client.job * 1000 + atp);
    }
    std::vector<Text> others;
    Text own;
    for (auto& [compute, text] : inside) {
      std::ranges::sort(text);
      const std::uint64_t size =
          place.profile.has_value()
              ? static_cast<std::uint64_t>(
                    place.compute[static_cast<std::size_t>(compute)].size.value())
              : 99;
      text.insert(text.begin(), 1000000 + size);
      (compute == clients[of].compute ? own : others.emplace_back()) = text;
    }
    std::ranges::sort(others);
    const std::uint64_t profile =
        place.profile.has_value() ? static_cast<std::uint64_t>(place.profile->value()) : 77;
    std::uint64_t hash = mixed(mixed(kind_.seed, profile), clients[of].job);
    hash = mixed(
        hash,
        clients[of].atp.has_value() ? static_cast<std::uint64_t>(clients[of].atp->value()) : 0);
    others.insert(others.begin(), own);
    for (const Text& text : others) {
      for (const std::uint64_t word : text) {
        hash = mixed(hash, word);
      }
    }
    if (hash % 100 < kind_.zero_percent) {
      return 0;
    }
    return static_cast<double>(1 + hash / 128 % kind_.steps) / static_cast<double>(kind_.steps);
  }

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 29U);
  }

  std::size_t job_count_;
  Kind kind_;
};

/// A window with all that its problem points to. Stays where it is made.
struct RandomWindow {
  std::vector<plan::WindowJob> jobs;
  std::unique_ptr<predict::CoRunModel> model;
  gpu::SharingCatalogue catalogue;
  optimize::SwitchCosts costs;
  optimize::WindowProblem problem;
};

inline const gpu::Geometry& gpu_of(std::string_view key) {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  return **catalogue.find(key);
}

inline const gpu::SharingCatalogue& all_templates(std::string_view key) {
  static std::map<std::string, gpu::SharingCatalogue, std::less<>> made;
  const auto known = made.find(key);
  if (known != made.end()) {
    return known->second;
  }
  auto result = gpu::make_sharing_catalogue(gpu_of(key), {});
  SEPTULE_CHECK(result.has_value(), "tests name GPUs with templates");
  return made.emplace(key, std::move(result).value()).first->second;
}

/// Time sharing and some others.
inline gpu::SharingCatalogue some_templates(const gpu::SharingCatalogue& all,
                                            std::size_t count,
                                            Draws& draws) {
  gpu::SharingCatalogue some{.geometry = all.geometry, .domains = all.domains, .templates = {}};
  some.templates.push_back(all.templates.front());
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(1 + draws.below(all.templates.size() - 1));
  }
  std::ranges::sort(chosen);
  const auto twice = std::ranges::unique(chosen);
  chosen.erase(twice.begin(), twice.end());
  for (const std::size_t index : chosen) {
    some.templates.push_back(all.templates[index]);
  }
  return some;
}

struct WindowShape {
  std::string_view gpu = "A100-80GB";
  std::size_t jobs = 4;
  std::size_t templates = 0;  ///< 0 = all
  std::optional<GroupClock> clock;
  bool can_lack_memory = true;
};

inline optimize::SwitchCosts random_costs(const gpu::Geometry& geometry, Draws& draws) {
  optimize::SwitchCosts costs =
      optimize::make_switch_costs(geometry, gpu::load_builtin_latencies());
  // Cheap, as published, or so dear that staying on a cut pays.
  const std::int64_t times = std::array{1, 10, 60}[draws.below(3)];
  const auto enlarged = [times](Duration one) {
    return Duration::nanoseconds(one.to_nanoseconds() * times / 10 + 1);
  };
  std::ranges::transform(costs.create, costs.create.begin(), enlarged);
  std::ranges::transform(costs.destroy, costs.destroy.begin(), enlarged);
  costs.compute_create = enlarged(costs.compute_create);
  costs.compute_destroy = enlarged(costs.compute_destroy);
  costs.mig_toggle = enlarged(costs.mig_toggle);
  return costs;
}

inline std::unique_ptr<RandomWindow> random_window(const WindowShape& shape, std::uint64_t seed) {
  Draws draws(seed);
  auto window = std::make_unique<RandomWindow>();
  const gpu::SharingCatalogue& all = all_templates(shape.gpu);
  window->catalogue = shape.templates == 0 ? all : some_templates(all, shape.templates, draws);
  for (std::size_t job = 0; job < shape.jobs; ++job) {
    const bool is_known = !shape.can_lack_memory || !draws.one_in(8);
    window->jobs.push_back(
        {.name = "job" + std::to_string(job),
         .user = std::array{"", "ada", "bob"}[draws.below(3)],
         .trust = draws.one_in(4) ? "other" : "",
         .memory =
             is_known ? std::optional(Bytes::mebibytes(100 + draws.below(30000))) : std::nullopt,
         .solo = Duration::milliseconds(1000 + static_cast<std::int64_t>(draws.below(20000)))});
  }
  window->model =
      std::make_unique<RandomCoRun>(shape.jobs,
                                    RandomCoRun::Kind{.seed = seed,
                                                      .only_slows = draws.one_in(2),
                                                      .zero_percent = draws.one_in(3) ? 30U : 3U,
                                                      .steps = draws.one_in(3) ? 4U : 100000U});
  window->costs = random_costs(*all.geometry, draws);
  window->problem = {
      .jobs = window->jobs,
      .model = window->model.get(),
      .catalogue = &window->catalogue,
      .traits = {},
      .rules = {.mps_users = draws.one_in(2) ? plan::SharingRules::Users::kAnyUsers
                                             : plan::SharingRules::Users::kSameUserOnly,
                .fairness = std::array{0.0, 0.0, 0.13, 0.37}[draws.below(4)]},
      .clock = shape.clock.value_or(std::array{
          GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp}[draws.below(3)]),
      .costs = draws.one_in(4) ? nullptr : &window->costs,
      .initial = std::nullopt};
  if (draws.one_in(3)) {
    const gpu::SharingTemplate& at = all.templates[draws.below(all.templates.size())];
    window->problem.initial =
        at.layout.empty()
            ? std::nullopt
            : std::optional(gpu::partition_with_full_instances(*all.geometry, at.layout));
  }
  return window;
}

}  // namespace septule::test
