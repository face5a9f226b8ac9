#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "learn/partition_env.hpp"
#include "learn/partition_space.hpp"
#include "learn/q_network.hpp"
#include "learn/seating_times.hpp"
#include "learn/weights_file.hpp"
#include "learn/window_rows.hpp"
#include "optimize/window_optimizer.hpp"
#include "predict/job_generator.hpp"
#include "predict/law_co_run.hpp"

namespace septule::test {

/// A GPU's templates for four jobs, with what networks make of them.
struct WindowGpu {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  gpu::SharingCatalogue templates;

  explicit WindowGpu(const char* name = "A100-80GB", const gpu::SharingOptions& options = {}) {
    const auto geometry = catalogue.find(name);
    SEPTULE_CHECK(geometry.has_value(), "the GPU is in the catalogue");
    auto made = gpu::make_sharing_catalogue(**geometry, options);
    SEPTULE_CHECK(made.has_value(), "its templates can be made");
    templates = std::move(made).value();
  }
  const gpu::Geometry& geometry() const { return *templates.geometry; }
};

/// A window of generated jobs. Not moved: the problem points into it.
struct GeneratedWindow {
  std::vector<plan::WindowJob> jobs;
  std::vector<predict::JobTraits> traits;
  std::unique_ptr<predict::LawCoRunModel> model;
  optimize::WindowProblem problem;

  GeneratedWindow(const WindowGpu& gpu, std::uint64_t seed, std::size_t size) {
    const predict::JobGenerator generator(gpu.geometry(), seed);
    std::vector<predict::LawJob> laws;
    for (std::size_t i = 0; i < size; ++i) {
      const predict::GeneratedJob job = generator.job(i);
      laws.push_back(job.law);
      traits.push_back(job.traits);
      jobs.push_back({.name = job.name,
                      .user = {},
                      .trust = {},
                      .memory = job.memory,
                      .solo = job.traits.solo});
    }
    auto made = predict::LawCoRunModel::make(gpu.geometry(), laws, gpu.templates.domains);
    SEPTULE_CHECK(made.has_value(), "generated jobs have valid laws");
    model = std::move(made).value();
    problem = {.jobs = jobs, .model = model.get(), .catalogue = &gpu.templates, .traits = traits};
    problem.rules.mps_users = plan::SharingRules::Users::kAnyUsers;
  }
  GeneratedWindow(const GeneratedWindow&) = delete;
  GeneratedWindow& operator=(const GeneratedWindow&) = delete;
  ~GeneratedWindow() = default;
};

/// A network with weights drawn at random: valid, and not trained.
inline learn::NetworkWeights drawn_window_net(std::uint64_t seed) {
  learn::NetworkWeights weights;
  weights.kind = learn::kWindowNetKind;
  weights.settings["scale"] = 10;
  weights.recipe.data_digest = "0000000000000000";
  const Rng rng(seed);
  const auto add = [&](const std::string& name, std::vector<int> shape, double limit) {
    Rng draws = rng.stream(name);
    learn::Tensor& tensor = weights.tensors.emplace_back();
    tensor.name = name;
    std::size_t count = 1;
    for (const int extent : shape) {
      count *= static_cast<std::size_t>(extent);
    }
    tensor.shape = std::move(shape);
    for (std::size_t i = 0; i < count; ++i) {
      tensor.data.push_back(static_cast<float>(limit * (2 * draws.uniform() - 1)));
    }
  };
  for (const learn::QLayer& layer : learn::q_layers()) {
    const double limit = 1 / std::sqrt(static_cast<double>(layer.inputs));
    add(std::string(layer.name) + ".weight", {layer.outputs, layer.inputs}, limit);
    if (layer.bias == learn::QLayer::Bias::kAdded) {
      add(std::string(layer.name) + ".bias", {layer.outputs}, limit);
    }
  }
  add("plan.choice", {static_cast<int>(learn::lead_choices().size()), learn::kRowWidth}, 0.1);
  return weights;
}

/// All that an episode needs. Not moved.
struct EpisodeBench {
  learn::PartitionSpace space;
  learn::WindowRows rows;
  learn::SeatingTimes times;

  static learn::PartitionSpace space_of(const WindowGpu& gpu) {
    auto made = learn::PartitionSpace::make(gpu.templates);
    SEPTULE_CHECK(made.has_value(), "networks know the GPU");
    return std::move(made).value();
  }
  static std::vector<std::size_t> all(std::size_t count) {
    std::vector<std::size_t> jobs(count);
    std::iota(jobs.begin(), jobs.end(), std::size_t{0});
    return jobs;
  }
  EpisodeBench(const WindowGpu& gpu, const optimize::WindowProblem& problem)
      : space(space_of(gpu)), rows(space, problem, all(problem.jobs.size())), times(space, rows) {}
  EpisodeBench(const EpisodeBench&) = delete;
  EpisodeBench& operator=(const EpisodeBench&) = delete;
  ~EpisodeBench() = default;
};

}  // namespace septule::test
