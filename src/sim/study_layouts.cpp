#include "sim/study_layouts.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "predict/table_predictor.hpp"

namespace septule::sim {

namespace {

/// Smallest profiles of the jobs, each once.
std::vector<ProfileIndex> needed_profiles(const predict::SpeedBook& book,
                                          const job::Workload& workload) {
  predict::TablePredictor predictor(book, {});
  std::vector<ProfileIndex> needed;
  for (const job::JobSpec& job : workload.jobs) {
    if (job.gpus > 1) {
      continue;
    }
    predictor.submitted(job);
    if (const auto smallest = predictor.smallest(job.id);
        smallest && std::ranges::find(needed, *smallest) == needed.end()) {
      needed.push_back(*smallest);
    }
  }
  return needed;
}

bool takes(const gpu::Geometry& geometry, const gpu::Layout& layout, ProfileIndex needed) {
  return std::ranges::any_of(layout, [&](const gpu::PlacedProfile& placed) {
    const gpu::GpuInstanceProfile& has = geometry.profile(placed.profile);
    const gpu::GpuInstanceProfile& wants = geometry.profile(needed);
    return placed.profile == needed || (has.slices >= wants.slices && has.size() >= wants.size());
  });
}

}  // namespace

std::vector<gpu::Layout> static_layouts(const predict::SpeedBook& book,
                                        const job::Workload& workload) {
  const gpu::Geometry& geometry = book.geometry();
  const std::vector<ProfileIndex> needed = needed_profiles(book, workload);
  std::set<std::vector<ProfileIndex>> seen;
  std::vector<gpu::Layout> layouts;
  for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain)) {
    std::vector<ProfileIndex> multiset;
    for (const gpu::PlacedProfile& placed : layout) {
      multiset.push_back(placed.profile);
    }
    std::ranges::sort(multiset);
    const bool is_feasible = std::ranges::all_of(
        needed, [&](ProfileIndex profile) { return takes(geometry, layout, profile); });
    if (is_feasible && seen.insert(multiset).second) {
      layouts.push_back(layout);
    }
  }
  SEPTULE_CHECK(!layouts.empty(), "the whole GPU as one instance takes every job");
  return layouts;
}

std::vector<int> jobs_without_place(const predict::SpeedBook& book,
                                    const job::Workload& workload,
                                    const gpu::Layout& layout) {
  predict::TablePredictor predictor(book, {});
  std::vector<int> jobs;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    predictor.submitted(workload.jobs[i]);
    const auto smallest = predictor.smallest(workload.jobs[i].id);
    if (workload.jobs[i].gpus == 1 && smallest && !takes(book.geometry(), layout, *smallest)) {
      jobs.push_back(static_cast<int>(i));
    }
  }
  return jobs;
}

gpu::Layout artifact_layout(const gpu::Geometry& geometry) {
  const auto three = geometry.plain_profile(ComputeSlices(3));
  const auto two = geometry.plain_profile(ComputeSlices(2));
  if (!three || !two || geometry.compute_slices() != ComputeSlices(7)) {
    return {};
  }
  return {{*two, MemorySlices(0)}, {*two, MemorySlices(2)}, {*three, MemorySlices(4)}};
}

}  // namespace septule::sim
