#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/window_optimizer.hpp"
#include "predict/job_generator.hpp"
#include "predict/law_co_run.hpp"
#include "support/window_faults.hpp"

namespace septule::optimize::test {

/// Rates without any order in them: a number drawn for each job in each company, 0 now and then.
class ChanceCoRun final : public predict::CoRunModel {
 public:
  ChanceCoRun(std::size_t job_count, std::uint64_t seed, int zero_percent)
      : job_count_(job_count), seed_(seed), zero_percent_(zero_percent) {}

  std::size_t job_count() const override { return job_count_; }
  void rates(const predict::CoRunPlace& place,
             std::span<const predict::CoRunClient> clients,
             std::span<double> out) const override {
    // By job, so that the order of clients does not matter. Compute instances count by size.
    std::vector<std::array<std::uint64_t, 3>> all;
    for (const predict::CoRunClient& client : clients) {
      const auto compute = static_cast<std::size_t>(client.compute);
      const int size = place.compute.empty() ? 0 : place.compute[compute].size.value();
      all.push_back({client.job,
                     static_cast<std::uint64_t>(size),
                     static_cast<std::uint64_t>(client.atp.has_value() ? client.atp->value() : 0)});
    }
    std::sort(all.begin(), all.end());
    std::uint64_t company = seed_ + (place.profile.has_value()
                                         ? 100U + static_cast<std::uint64_t>(place.profile->value())
                                         : 7U);
    for (const auto& [job, size, atp] : all) {
      company = (company * 31 + job * 1009 + size * 101 + atp) * 0x9e3779b97f4a7c15U;
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      Rng rng(company ^ clients[i].job);
      const bool is_zero = rng.below(100) < static_cast<std::uint64_t>(zero_percent_);
      const double size = clients.size() == 1 ? 1.0 : static_cast<double>(clients.size()) * 0.7;
      out[i] = is_zero ? 0 : (0.05 + rng.uniform()) / size;
    }
  }

 private:
  std::size_t job_count_;
  std::uint64_t seed_;
  int zero_percent_;
};

/// A window with everything that its problem points to. Not movable once `problem` is made.
struct RandomWindow {
  std::vector<plan::WindowJob> jobs;
  std::unique_ptr<predict::CoRunModel> model;
  gpu::SharingCatalogue catalogue;
  SwitchCosts costs;
  WindowProblem problem;
};

inline const gpu::Geometry& geometry_of(std::string_view key) {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const auto found = catalogue.find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

/// Some of the templates of a GPU, time sharing and the whole GPU as one instance among them.
inline gpu::SharingCatalogue some_templates(const gpu::Geometry& geometry, Rng& rng, int of_ten) {
  auto catalogue = gpu::make_sharing_catalogue(geometry, {});
  SEPTULE_CHECK(catalogue.has_value(), "the GPU has templates");
  gpu::SharingCatalogue some = std::move(catalogue).value();
  std::erase_if(some.templates, [&](const gpu::SharingTemplate& one) {
    return one.concurrency > 1 && !rng.chance(static_cast<std::uint64_t>(of_ten), 10);
  });
  return some;
}

enum class ModelKind { kLaws, kChance };

struct WindowDrawing {
  std::size_t jobs = 6;
  ModelKind model = ModelKind::kLaws;
  int templates_of_ten = 3;
  bool has_costs = false;
  double fairness = 0;
  bool has_users = false;
};

/// The problem's pointers are into the window returned, which therefore stands on the heap.
inline std::unique_ptr<RandomWindow> random_window(const WindowDrawing& draw, std::uint64_t seed) {
  Rng rng(seed);
  const gpu::Geometry& geometry = geometry_of("A100-40GB");
  auto window = std::make_unique<RandomWindow>();
  window->catalogue = some_templates(geometry, rng, draw.templates_of_ten);
  const predict::JobGenerator generator(geometry, seed);
  std::vector<predict::LawJob> laws;
  for (std::size_t j = 0; j < draw.jobs; ++j) {
    const predict::GeneratedJob job = generator.job(j);
    laws.push_back(job.law);
    plan::WindowJob& own = window->jobs.emplace_back();
    own.name = job.name;
    own.user = draw.has_users ? (rng.chance(1, 2) ? "a" : "b") : "a";
    own.memory = rng.chance(1, 12) ? std::optional<Bytes>() : Bytes::mebibytes(512 << rng.below(6));
    own.solo = Duration::milliseconds(static_cast<std::int64_t>(1000 + rng.below(20000)));
  }
  if (draw.model == ModelKind::kLaws) {
    auto model = predict::LawCoRunModel::make(geometry, laws, window->catalogue.domains);
    SEPTULE_CHECK(model.has_value(), "generated jobs have valid laws");
    window->model = std::move(model).value();
  } else {
    // Single seats run, so that no job is blocked.
    window->model = std::make_unique<ChanceCoRun>(draw.jobs, seed, rng.chance(1, 2) ? 0 : 10);
  }
  if (draw.has_costs) {
    for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
      window->costs.create.push_back(Duration::milliseconds(100 + 10 * static_cast<int>(p)));
      window->costs.destroy.push_back(Duration::milliseconds(150));
    }
    window->costs.compute_create = Duration::milliseconds(20);
    window->costs.compute_destroy = Duration::milliseconds(15);
    window->costs.mig_toggle = Duration::milliseconds(900);
  }
  WindowProblem& problem = window->problem;
  problem.jobs = window->jobs;
  problem.model = window->model.get();
  problem.catalogue = &window->catalogue;
  problem.rules.fairness = draw.fairness;
  problem.costs = draw.has_costs ? &window->costs : nullptr;
  return window;
}

inline void expect_clean(const WindowProblem& problem, const WindowAnswer& answer) {
  EXPECT_EQ(septule::test::wrong_with(problem, answer), "");
}

}  // namespace septule::optimize::test
