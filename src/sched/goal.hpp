#pragma once

#include <string>

#include "base/inline_vector.hpp"
#include "base/units.hpp"
#include "gpu/layout.hpp"
#include "job/job.hpp"
#include "predict/predictor.hpp"

namespace septule::sched {

inline constexpr std::size_t kInstancesMax =
    8;                                        ///< GPU instances on one GPU (7 on every known GPU)
inline constexpr std::size_t kSlotsMax = 16;  ///< jobs on one GPU

/// Where one job runs on a GPU: an instance of the goal, or the whole GPU.
struct Slot {
  static constexpr int kWholeGpu = -1;
  job::JobId job;
  int instance = kWholeGpu;  ///< index into GpuGoal::instances
  ActiveThreadPercentage atp{100};

  friend bool operator==(const Slot&, const Slot&) = default;
};

enum class GoalPurpose {
  kRun,           ///< the jobs run
  kCharacterise,  ///< the jobs run under MPS in one instance, one level of ATP after the other
};

/// Which running jobs a change of goal stops.
enum class RestartRule {
  kMovedOnly,   ///< those whose instance or ATP changes; the others are not disturbed
  kEverything,  ///< all of the GPU: a re-cut resets the GPU (the MISO paper's way)
};

/// When the levels of a characterisation run begin.
enum class LevelsFrom { kFirstStep, kLaunch };

/// How a characterisation run goes.
struct CharacterisationPlan {
  InlineVector<ActiveThreadPercentage, predict::kLevelsMax> levels;
  Duration per_level;
  LevelsFrom from = LevelsFrom::kFirstStep;

  friend bool operator==(const CharacterisationPlan&, const CharacterisationPlan&) = default;
};

/// What one GPU should look like and who should run there: the whole of a decision about it. Slots
/// that share an instance (or the whole GPU) share by MPS. No instances and no whole-GPU slot =
/// left empty. A value.
struct GpuGoal {
  enum class Mode { kPartitioned, kWholeGpu };  ///< MIG on or off
  Mode mode = Mode::kPartitioned;
  InlineVector<gpu::PlacedProfile, kInstancesMax> instances;  ///< canonical order
  InlineVector<Slot, kSlotsMax> slots;                        ///< by job id
  GoalPurpose purpose = GoalPurpose::kRun;
  RestartRule restart = RestartRule::kMovedOnly;
  CharacterisationPlan characterisation;  ///< for kCharacterise

  const Slot* find(job::JobId job) const;
  /// Inserts in order of job ids.
  void add(const Slot& slot);
  void remove(job::JobId job);
  friend bool operator==(const GpuGoal&, const GpuGoal&) = default;
};
/// "3g.20gb@4: 17; 1g.5gb@0: -" and so on, for stories and messages.
std::string goal_text(const gpu::Geometry& geometry, const GpuGoal& goal);

}  // namespace septule::sched
