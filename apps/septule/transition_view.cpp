#include "septule/transition_view.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

Json step_document(const gpu::Step& step, std::size_t number) {
  Json document{{"number", number}, {"action", gpu::step_name(step.kind)}};
  const bool is_mode =
      step.kind == gpu::StepKind::kEnableMig || step.kind == gpu::StepKind::kDisableMig;
  if (!is_mode) {
    document["instance"] = gpu::placed_text(*step.geometry, step.placed);
    document["gpu_instance_id"] =
        step.gpu_instance_id ? Json(step.gpu_instance_id->value()) : Json(nullptr);
  }
  if (step.is_every_compute_instance) {
    document["compute_instance"] = "all";
  } else if (step.compute_instance) {
    document["compute_instance"] = {{"slices", step.compute_instance->placement.size.value()},
                                    {"start", step.compute_instance->placement.start.value()}};
    document["compute_instance_id"] =
        step.compute_instance_id ? Json(step.compute_instance_id->value()) : Json(nullptr);
  }
  document["seconds"] = step.estimate.to_seconds();
  document["seconds_evidence"] = gpu::evidence_name(step.estimate_evidence);
  return document;
}

Json gpu_document_of(const gpu::GpuTransition& gpu) {
  Json kept = Json::array();
  for (const gpu::PlacedProfile& placed : gpu.kept) {
    kept.push_back(gpu::placed_text(*gpu.geometry, placed));
  }
  Json steps = Json::array();
  for (std::size_t i = 0; i < gpu.steps.size(); ++i) {
    steps.push_back(step_document(gpu.steps[i], i + 1));
  }
  Json undone = Json::array();
  for (const gpu::UndoneGoal& goal : gpu.undone) {
    undone.push_back(
        {{"wanted", goal.wanted}, {"blockers", goal.blockers}, {"reason", goal.reason}});
  }
  return {{"index", gpu.gpu.value()},
          {"model", gpu.geometry->key()},
          {"complete", gpu.is_complete()},
          {"kept", std::move(kept)},
          {"kept_unwanted", gpu.kept_unwanted},
          {"steps", std::move(steps)},
          {"undone", std::move(undone)},
          {"mig_enabled_after", gpu.is_mig_enabled_after},
          {"after", gpu::partition_text(*gpu.geometry, gpu.reached)},
          {"seconds", gpu.estimate.to_seconds()},
          {"seconds_evidence", gpu::evidence_name(gpu.estimate_evidence)}};
}

std::string seconds_text(Duration duration, gpu::Evidence evidence) {
  return fmt::format("{:.2f} s{}",
                     duration.to_seconds(),
                     evidence == gpu::Evidence::kVerified ? "" : " (inferred)");
}

std::string steps_text(std::size_t count) {
  return count == 1 ? "1 step" : fmt::format("{} steps", count);
}

std::string reason_text(const gpu::UndoneGoal& goal) {
  return goal.blockers.empty()
             ? goal.reason
             : fmt::format("{} (in the way: {})", goal.reason, joined_with_and(goal.blockers));
}

std::string gpu_text(const gpu::GpuTransition& gpu) {
  std::string text = fmt::format("GPU {} ({})", gpu.gpu.value(), gpu.geometry->key());
  if (gpu.steps.empty() && gpu.is_exact()) {
    return text + ": nothing to do\n";
  }
  text += gpu.steps.empty() ? ": nothing can be done now\n"
                            : fmt::format(": {}, about {}\n",
                                          steps_text(gpu.steps.size()),
                                          seconds_text(gpu.estimate, gpu.estimate_evidence));
  std::vector<std::string> kept;
  for (const gpu::PlacedProfile& placed : gpu.kept) {
    const std::string name = gpu::placed_text(*gpu.geometry, placed);
    const bool is_unwanted =
        std::ranges::any_of(gpu.kept_unwanted, [&](const std::string& text_of) {
          return text_of == name || text_of.starts_with(name + " ");
        });
    if (!is_unwanted) {
      kept.push_back(name);
    }
  }
  if (!kept.empty()) {
    text += fmt::format("  stays   {}\n", fmt::join(kept, ", "));
  }
  for (const std::string& unwanted : gpu.kept_unwanted) {
    text += fmt::format("  stays   {} although it is not wanted\n", unwanted);
  }
  for (std::size_t i = 0; i < gpu.steps.size(); ++i) {
    text += fmt::format("  {:>2}. {}\n", i + 1, step_text(gpu.steps[i]));
  }
  for (const gpu::UndoneGoal& goal : gpu.undone) {
    text += fmt::format("  undone  {}: {}\n", goal.wanted, reason_text(goal));
  }
  text += fmt::format(
      "  after   {}\n",
      gpu.is_mig_enabled_after ? gpu::partition_text(*gpu.geometry, gpu.reached) : "MIG off");
  return text;
}

/// GPUs are re-cut side by side, so the whole takes as long as the slowest.
const gpu::GpuTransition* slowest(const gpu::Transition& transition) {
  const auto found = std::ranges::max_element(transition.gpus, {}, &gpu::GpuTransition::estimate);
  return found == transition.gpus.end() ? nullptr : &*found;
}

}  // namespace

std::string step_text(const gpu::Step& step) {
  const auto name = [&] { return gpu::placed_text(*step.geometry, step.placed); };
  const std::string id =
      step.gpu_instance_id ? fmt::format(" (id {})", step.gpu_instance_id->value()) : "";
  const auto compute = [&]() -> std::string {
    if (step.is_every_compute_instance) {
      return "every compute instance";
    }
    if (!step.compute_instance ||
        gpu::is_full(*step.geometry, step.placed.profile, *step.compute_instance)) {
      return "the full compute instance";
    }
    return fmt::format("compute instance {}c@{}",
                       step.compute_instance->placement.size.value(),
                       step.compute_instance->placement.start.value());
  };
  switch (step.kind) {
    case gpu::StepKind::kEnableMig:
      return "turn MIG on";
    case gpu::StepKind::kDisableMig:
      return "turn MIG off";
    case gpu::StepKind::kDestroyComputeInstance:
      return fmt::format("destroy {} of {}{}", compute(), name(), id);
    case gpu::StepKind::kDestroyGpuInstance:
      return fmt::format("destroy GPU instance {}{}", name(), id);
    case gpu::StepKind::kCreateGpuInstance:
      return fmt::format("create GPU instance {}", name());
    case gpu::StepKind::kCreateComputeInstance:
      return fmt::format("create {} of {}{}", compute(), name(), id);
  }
  check_failed("step.kind", "a StepKind is one of the enumerators", __FILE__, __LINE__);
}

Json transition_document(const gpu::Transition& transition) {
  Json document{{"complete", transition.is_complete()}, {"different", is_different(transition)}};
  const gpu::GpuTransition* last = slowest(transition);
  document["seconds"] = last == nullptr ? Json(0.0) : Json(last->estimate.to_seconds());
  document["seconds_evidence"] =
      gpu::evidence_name(last == nullptr ? gpu::Evidence::kVerified : last->estimate_evidence);
  document["gpus"] = Json::array();
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    document["gpus"].push_back(gpu_document_of(gpu));
  }
  return document;
}

std::string transition_text(const gpu::Transition& transition) {
  std::string text;
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    text += gpu_text(gpu);
  }
  if (transition.gpus.size() > 1 && transition.step_count() > 0) {
    const gpu::GpuTransition* last = slowest(transition);
    text += fmt::format("all GPUs: {}, about {} side by side\n",
                        steps_text(transition.step_count()),
                        seconds_text(last->estimate, last->estimate_evidence));
  }
  return text;
}

bool is_different(const gpu::Transition& transition) {
  return std::ranges::any_of(transition.gpus, [](const gpu::GpuTransition& gpu) {
    return !gpu.steps.empty() || !gpu.is_exact();
  });
}

namespace {

/// What stays although the goal lacks it, where nothing of the goal itself is missing.
std::string unwanted_summary(const gpu::Transition& transition) {
  std::vector<std::string> staying;
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    for (const std::string& name : gpu.kept_unwanted) {
      staying.push_back(fmt::format("{} on GPU {}", name, gpu.gpu.value()));
    }
  }
  return staying.empty()
             ? ""
             : fmt::format("{} although the goal lacks {}: {}",
                           staying.size() == 1 ? "one instance stays"
                                               : fmt::format("{} instances stay", staying.size()),
                           staying.size() == 1 ? "it" : "them",
                           joined_with_and(staying));
}

}  // namespace

std::string undone_summary(const gpu::Transition& transition) {
  std::size_t count = 0;
  std::vector<std::string> gpus;
  const gpu::UndoneGoal* first = nullptr;
  for (const gpu::GpuTransition& gpu : transition.gpus) {
    if (gpu.undone.empty()) {
      continue;
    }
    count += gpu.undone.size();
    gpus.push_back(std::to_string(gpu.gpu.value()));
    first = first == nullptr ? &gpu.undone.front() : first;
  }
  if (first == nullptr) {
    return unwanted_summary(transition);
  }
  return fmt::format(
      "{} undone on GPU {}: {}: {}",
      count == 1 ? "one part of the goal stays" : fmt::format("{} parts of the goal stay", count),
      joined_with_and(gpus),
      first->wanted,
      first->reason);
}

}  // namespace septule::app
