// What keeps one instance off one GPU (declared in fit_explanation.hpp).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "optimize/fit_explanation.hpp"

namespace septule::optimize {
namespace {

// "held by 1g.5gb@5 (job 17) and 2g.10gb@2"; the instances chosen by `counts`.
template <class Predicate>
std::string held_by(const gpu::ObservedGpu& gpu, Predicate counts) {
  std::vector<std::string> names;
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    if (counts(instance)) {
      names.push_back(gpu::observed_text(gpu, instance));
    }
  }
  return names.empty() ? "none of them held" : fmt::format("held by {}", joined_with_and(names));
}

class GpuJudge {
 public:
  GpuJudge(const gpu::ObservedGpu& gpu, const gpu::InstanceRequest& request)
      : gpu_(gpu),
        geometry_(*gpu.geometry),
        request_(request),
        profile_(geometry_.profile(request.profile)) {}

  GpuFit judge() {
    GpuFit fit;
    fit.gpu = gpu_.index;
    fit.places = find_places();
    if (!fit.places.empty()) {
      return fit;
    }
    const std::optional<std::pair<FitLimit, std::string>> budget = over_budget();
    if (auto capacity = over_capacity()) {
      std::tie(fit.limit, fit.reason) = *std::move(capacity);
    } else if (budget && has_free_place()) {
      std::tie(fit.limit, fit.reason) = *budget;
    } else {
      fit.limit = FitLimit::kFragmentation;
      fit.blocked =
          blocked_placements(gpu_, request_, [](const gpu::ObservedInstance&) { return true; });
      fit.reason = fmt::format(
          "enough slices are free ({} compute, {} memory; {} needs {} and {}), but each possible "
          "placement is partly taken",
          compute_free(),
          memory_free(),
          profile_.name,
          profile_.slices.value(),
          profile_.size().value());
      if (budget) {
        fit.reason += fmt::format("; besides, {}", budget->second);
      }
    }
    return fit;
  }

 private:
  template <class Visit>
  void for_each_place(Visit visit) const {
    for (const gpu::Placement& place : profile_.placements) {
      if (!request_.start || *request_.start == place.start) {
        visit(place);
      }
    }
  }

  std::vector<FitPlace> find_places() const {
    std::vector<FitPlace> places;
    gpu::LayoutBuilder builder(geometry_);
    const gpu::Layout layout = gpu_.layout();
    for (const gpu::PlacedProfile& placed : layout) {
      builder.add(placed);
    }
    for_each_place([&](const gpu::Placement& place) {
      const gpu::PlacedProfile placed{request_.profile, place.start};
      const bool is_idle_there =
          std::ranges::any_of(gpu_.instances, [&placed](const gpu::ObservedInstance& instance) {
            return instance.placed == placed && instance.effective_hold() == gpu::Hold::kIdle;
          });
      if (is_idle_there) {
        places.push_back({placed, true, room_beside(geometry_, layout)});
      } else if (builder.can_add(placed)) {
        gpu::Layout after = layout;
        after.push_back(placed);
        places.push_back({placed, false, room_beside(geometry_, after)});
      }
    });
    return places;
  }

  bool has_free_place() const {
    bool is_free = false;
    for_each_place([&](const gpu::Placement& place) {
      is_free = is_free ||
                std::ranges::none_of(gpu_.instances, [&](const gpu::ObservedInstance& instance) {
                  return gpu::placement_of(geometry_, instance.placed).overlaps(place);
                });
    });
    return is_free;
  }

  int compute_free() const {
    int free = geometry_.compute_slices().value();
    for (const gpu::ObservedInstance& instance : gpu_.instances) {
      free -= geometry_.profile(instance.placed.profile).slices.value();
    }
    return free;
  }
  int memory_free() const {
    int free = geometry_.memory_slices().value();
    for (const gpu::ObservedInstance& instance : gpu_.instances) {
      free -= geometry_.profile(instance.placed.profile).size().value();
    }
    return free;
  }

  std::optional<std::pair<FitLimit, std::string>> over_capacity() const {
    if (profile_.slices.value() > compute_free()) {
      return std::pair(FitLimit::kComputeSlices,
                       fmt::format("{} needs {} compute slices, {} of {} are free",
                                   profile_.name,
                                   profile_.slices.value(),
                                   compute_free(),
                                   geometry_.compute_slices().value()));
    }
    if (profile_.size().value() > memory_free()) {
      return std::pair(FitLimit::kMemorySlices,
                       fmt::format("{} needs {} memory slices, {} of {} are free",
                                   profile_.name,
                                   profile_.size().value(),
                                   memory_free(),
                                   geometry_.memory_slices().value()));
    }
    return std::nullopt;
  }

  std::optional<std::pair<FitLimit, std::string>> over_budget() const {
    const auto is_same_profile = [&](const gpu::ObservedInstance& instance) {
      return instance.placed.profile == request_.profile;
    };
    const auto present = std::ranges::count_if(gpu_.instances, is_same_profile);
    if (present >= profile_.instances_max) {
      return std::pair(FitLimit::kProfileMaximum,
                       fmt::format("at most {} of {} may exist on the GPU, {}",
                                   profile_.instances_max,
                                   profile_.name,
                                   held_by(gpu_, is_same_profile)));
    }
    for (std::size_t e = 0; e < static_cast<std::size_t>(gpu::kEngineCount); ++e) {
      if (auto limit = over_engine_budget(e)) {
        return limit;
      }
    }
    const std::optional<int> instances_max = geometry_.facts().instances_max;
    if (instances_max && gpu_.instances.size() >= static_cast<std::size_t>(*instances_max)) {
      return std::pair(FitLimit::kInstanceMaximum,
                       fmt::format("the GPU can hold {} GPU instances and has {}",
                                   *instances_max,
                                   gpu_.instances.size()));
    }
    return std::nullopt;
  }

  std::optional<std::pair<FitLimit, std::string>> over_engine_budget(std::size_t e) const {
    const int needed = profile_.engines[e].value_or(0);
    const std::optional<int> budget = geometry_.engine_budget()[e];
    if (!budget || needed == 0) {
      return std::nullopt;
    }
    const auto engines_of = [&](const gpu::ObservedInstance& instance) {
      return geometry_.profile(instance.placed.profile).engines[e].value_or(0);
    };
    int used = 0;
    for (const gpu::ObservedInstance& instance : gpu_.instances) {
      used += engines_of(instance);
    }
    if (used + needed <= *budget) {
      return std::nullopt;
    }
    return std::pair(FitLimit::kEngineBudget,
                     fmt::format("{} needs {} {} engine{}, {} of {} are free, the others {}",
                                 profile_.name,
                                 needed,
                                 gpu::engine_name(static_cast<gpu::Engine>(e)),
                                 needed == 1 ? "" : "s",
                                 *budget - used,
                                 *budget,
                                 held_by(gpu_, [&](const gpu::ObservedInstance& instance) {
                                   return engines_of(instance) > 0;
                                 })));
  }

  const gpu::ObservedGpu& gpu_;
  const gpu::Geometry& geometry_;
  const gpu::InstanceRequest& request_;
  const gpu::GpuInstanceProfile& profile_;
};

}  // namespace

std::string_view fit_limit_name(FitLimit limit) {
  switch (limit) {
    case FitLimit::kNone:
      return "fits";
    case FitLimit::kMigOff:
      return "mig-off";
    case FitLimit::kNoProfileTable:
      return "no-profile-table";
    case FitLimit::kUnknownProfile:
      return "unknown-profile";
    case FitLimit::kStateNotLegal:
      return "state-not-legal";
    case FitLimit::kComputeSlices:
      return "capacity-compute";
    case FitLimit::kMemorySlices:
      return "capacity-memory";
    case FitLimit::kProfileMaximum:
      return "budget-profile";
    case FitLimit::kInstanceMaximum:
      return "budget-instances";
    case FitLimit::kEngineBudget:
      return "budget-engine";
    case FitLimit::kFragmentation:
      return "fragmentation";
  }
  return "unknown";
}

GpuFit explain_fit_on(const gpu::ObservedGpu& gpu, const RequestedInstances& item) {
  GpuFit fit;
  fit.gpu = gpu.index;
  const gpu::InstanceRequest* reading = item.on(*gpu.geometry);
  if (!gpu.is_mig_enabled) {
    fit.limit = FitLimit::kMigOff;
    fit.reason = "MIG is off";
  } else if (!gpu.geometry->has_profile_table()) {
    fit.limit = FitLimit::kNoProfileTable;
    fit.reason = fmt::format("no profile table is published for {}", gpu.geometry->key());
  } else if (reading == nullptr) {
    fit.limit = FitLimit::kUnknownProfile;
    fit.reason = fmt::format("{} has no {}", gpu.geometry->key(), item.name());
  } else if (!is_usable(gpu)) {
    fit.limit = FitLimit::kStateNotLegal;
    fit.reason = fmt::format("what the GPU holds is not possible on {} by the catalogue",
                             gpu.geometry->key());
  } else {
    return GpuJudge(gpu, *reading).judge();
  }
  return fit;
}

}  // namespace septule::optimize
