#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/objective.hpp"
#include "plan/window.hpp"
#include "predict/table_predictor.hpp"
#include "sched/policy.hpp"

namespace septule::sched {

/// Whose semantics a MISO-like policy follows (miso.md section 1).
enum class Setting {
  kPaper,     ///< the paper's: sum of speeds, re-optimise on every start and end
  kArtifact,  ///< the public artifact's: mean slowdown, no re-cut while jobs wait, one MPS level
};

/// What a call of decide() may do: all that is due, or the next thing only. The controller of the
/// artifact is one thread that acts before it looks again; it then asks until nothing is left.
enum class Pass { kWhole, kOneByOne };

/// What policies that plan windows of jobs are made with (hierarchical.hpp). Plain value; pointers
/// outlive the policy.
struct WindowSettings {
  const optimize::WindowOptimizer* optimizer = nullptr;  ///< of `hierarchical`; null = exact
  const optimize::WindowOptimizer* learned = nullptr;    ///< of `hierarchical-rl`; null = exact
  const optimize::SwitchCosts* costs = nullptr;          ///< null = re-cuts cost nothing in plans
  int window = 8;                                        ///< jobs planned together, 1 to 16
  /// Jobs that must wait for each GPU of the cluster (two at least) for windows to be planned.
  double congested_per_gpu = 0.5;
  plan::SharingRules rules{.mps_users = plan::SharingRules::Users::kAnyUsers, .fairness = 0};
};

/// What policies are made with. Plain value; pointers outlive the policy.
struct PolicySetup {
  const gpu::Geometry* geometry = nullptr;
  int gpu_count = 0;
  int jobs_max = 0;  ///< ids are below
  Setting setting = Setting::kPaper;
  Pass pass = Pass::kWhole;  ///< kOneByOne for serial controllers; looked at under kArtifact only
  /// What each GPU is worth; nothing = the setting's own (paper: sum, artifact: mean-slowdown).
  std::optional<plan::ObjectiveKind> objective;
  CharacterisationPlan
      characterisation;  ///< paper: 100, 50, 14 % x 10 s; artifact: 50 % x 30 s from launch
  double recharacterise_threshold = 0.2;  ///< relative change of speed that voids what is known
  Duration recharacterise_gap;            ///< at least so long between characterisations of a GPU
  gpu::Layout static_layout;              ///< optsta: the one layout of all GPUs
  WindowSettings windows;
};
CharacterisationPlan default_characterisation(Setting setting);

/// A policy by name, as `--policies` and docs/policies.md list it.
struct PolicyVariant {
  std::string_view name;     ///< "miso-wide"
  std::string_view summary;  ///< half a line
  predict::Knowledge knowledge = predict::Knowledge::kPerJob;
  bool has_error = false;     ///< its table gets the prediction error of the run
  bool is_free = false;       ///< runs without checkpoint, re-cut and restart costs
  bool begins_whole = false;  ///< its GPUs have MIG off at the start
  bool needs_layout = false;  ///< wants PolicySetup::static_layout
  std::unique_ptr<Policy> (*make)(const PolicySetup& setup) = nullptr;
};
/// In the order of the documentation.
std::span<const PolicyVariant> policy_variants();
/// kNotFound, naming near names.
Result<const PolicyVariant*> find_policy(std::string_view name);

}  // namespace septule::sched
