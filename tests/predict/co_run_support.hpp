#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "predict/any_law.hpp"
#include "predict/co_run_model.hpp"
#include "predict/law_co_run.hpp"
#include "predict/predict_support.hpp"

namespace septule::predict::test {

inline const gpu::Geometry& a100_80() {
  return model("A100-80GB");
}

/// A place that owns its compute instances.
struct OwnedPlace {
  std::optional<ProfileIndex> profile;
  std::vector<gpu::ComputePlacement> compute;
  CoRunPlace view() const { return {.profile = profile, .compute = compute}; }
};

inline OwnedPlace whole_gpu() {
  return {};
}

/// An instance cut into compute instances of these sizes; none = one of all.
inline OwnedPlace instance(const gpu::Geometry& geometry,
                           std::string_view name,
                           const std::vector<int>& sizes = {}) {
  OwnedPlace place;
  place.profile = profile(geometry, name);
  int start = 0;
  for (const int size : sizes) {
    place.compute.push_back({.start = ComputeSlices(start), .size = ComputeSlices(size)});
    start += size;
  }
  if (sizes.empty()) {
    place.compute.push_back(
        {.start = ComputeSlices(0), .size = geometry.profile(*place.profile).slices});
  }
  return place;
}

inline OwnedPlace instance(std::string_view name, const std::vector<int>& sizes = {}) {
  return instance(a100_80(), name, sizes);
}

/// Without a percentage where it is 0.
inline CoRunClient client(std::size_t job, int compute = 0, int atp = 0) {
  return {.job = job,
          .compute = compute,
          .atp = atp == 0 ? std::nullopt : std::optional(ActiveThreadPercentage(atp))};
}

inline std::vector<double> rates(const CoRunModel& model,
                                 const OwnedPlace& place,
                                 const std::vector<CoRunClient>& clients) {
  std::vector<double> out(clients.size());
  model.rates(place.view(), clients, out);
  return out;
}

}  // namespace septule::predict::test
