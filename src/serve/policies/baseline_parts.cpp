#include "serve/policies/baseline_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

namespace {

struct Placing {
  int kept = -1;
  std::vector<std::pair<int, std::size_t>> seats;  // placement, index of the wish
};

bool is_same_use(const ServingInstance& instance, const Occupant& occupant) {
  return instance.occupants.size() == 1 && instance.occupants.front().tenant == occupant.tenant &&
         instance.occupants.front().role == occupant.role;
}

const ServingInstance* instance_at(const GpuDeployment& gpu, const gpu::PlacedProfile& placed) {
  const auto found = std::ranges::find_if(
      gpu.instances, [&](const ServingInstance& instance) { return instance.placed == placed; });
  return found == gpu.instances.end() ? nullptr : &*found;
}

/// The wishes on the placements of one placed layout: those that stay first, then the rest in
/// order.
Placing place_on(const LayoutLattice& lattice,
                 std::span<const SizeWish> wishes,
                 std::uint32_t placements,
                 const GpuDeployment& current) {
  Placing placing{.kept = 0, .seats = {}};
  std::vector<bool> is_seated(wishes.size(), false);
  std::vector<int> free;
  for (int p = 0; p < static_cast<int>(lattice.placements().size()); ++p) {
    if ((placements >> static_cast<unsigned>(p) & 1U) == 0) {
      continue;
    }
    const SizePlacement& place = lattice.placements()[static_cast<std::size_t>(p)];
    const ServingInstance* const there = instance_at(current, place.placed);
    std::size_t wish = wishes.size();
    for (std::size_t i = 0; there != nullptr && i < wishes.size() && wish == wishes.size(); ++i) {
      if (!is_seated[i] && wishes[i].size == place.size &&
          is_same_use(*there, wishes[i].occupant)) {
        wish = i;
      }
    }
    if (wish == wishes.size()) {
      free.push_back(p);
      continue;
    }
    is_seated[wish] = true;
    ++placing.kept;
    placing.seats.emplace_back(p, wish);
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (is_seated[i]) {
      continue;
    }
    const auto at = std::ranges::find_if(free, [&](int p) {
      return lattice.placements()[static_cast<std::size_t>(p)].size == wishes[i].size;
    });
    SEPTULE_CHECK(at != free.end(), "a layout of these sizes has a place for every wish");
    placing.seats.emplace_back(*at, i);
    free.erase(at);
  }
  return placing;
}

}  // namespace

bool is_retraining_pending(const TenantState& state, SimTime now) {
  return !state.is_retrained && state.retraining_left_s > 0 &&
         state.retraining_release.has_value() && *state.retraining_release <= now &&
         (!state.retraining_deadline.has_value() || now < *state.retraining_deadline);
}

std::vector<bool> pending_retraining(const ServingView& view) {
  std::vector<bool> pending;
  for (const TenantState& state : view.tenants) {
    pending.push_back(is_retraining_pending(state, view.now));
  }
  return pending;
}

bool is_retraining_running(const ServingView& view, int tenant) {
  return std::ranges::any_of(view.instances, [&](const InstanceState& state) {
    return std::ranges::any_of(state.instance.occupants, [&](const Occupant& occupant) {
      return occupant.tenant == tenant && occupant.role == Role::kRetrain;
    });
  });
}

double accuracy_after(const Tenant& tenant) {
  return tenant.retraining.has_value() ? tenant.retraining->accuracy_after : tenant.accuracy;
}

bool is_fast_enough(Duration latency, Duration slo, const AdmissionRule& rule) {
  const Duration limit = scaled(slo, rule.margin);
  return rule.comparison == SloComparison::kStrictlyBelow ? latency < limit : latency <= limit;
}

std::optional<SharePoint> best_share_point(const Tenant& tenant,
                                           const MpsShareModel& model,
                                           const ShareQuery& query) {
  std::optional<SharePoint> best;
  for (const ProfileRow& row : tenant.profile.rows) {
    // A row measured at another share is found by the model itself.
    if (row.slices != query.gpu_slices || row.share != ActiveThreadPercentage(100) ||
        (row.is_suspect && query.rule.suspect == SuspectRows::kDropped) ||
        row.processes > query.rule.processes_max) {
      continue;
    }
    const std::optional<MpsYield> yield = model.yield(tenant.profile,
                                                      {.slices = row.slices,
                                                       .batch = row.batch,
                                                       .processes = row.processes,
                                                       .share = query.share,
                                                       .company = query.company});
    if (!yield.has_value() || !is_fast_enough(yield->latency, tenant.slo, query.rule)) {
      continue;
    }
    const auto key = [](const SharePoint& point) {
      return std::tuple(-point.yield.throughput_rps, point.batch, point.processes);
    };
    const SharePoint point{row.batch, row.processes, *yield};
    if (!best.has_value() || key(point) < key(*best)) {
      best = point;
    }
  }
  return best;
}

std::optional<int> find_multiset(const LayoutLattice& lattice, const SizeTable<int>& counts) {
  for (std::size_t i = 0; i < lattice.multisets().size(); ++i) {
    if (lattice.multisets()[i].counts == counts) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

std::optional<GpuDeployment> place_wishes(const LayoutLattice& lattice,
                                          std::span<const SizeWish> wishes,
                                          const GpuDeployment& current) {
  SizeTable<int> counts{};
  for (const SizeWish& wish : wishes) {
    ++counts[static_cast<std::size_t>(wish.size)];
  }
  const std::optional<int> multiset = find_multiset(lattice, counts);
  if (!multiset.has_value()) {
    return std::nullopt;
  }
  Placing best;
  for (const std::uint32_t placements : lattice.sets_of(*multiset)) {
    Placing placing = place_on(lattice, wishes, placements, current);
    if (placing.kept > best.kept) {
      best = std::move(placing);
    }
  }
  std::ranges::sort(best.seats);
  GpuDeployment gpu;
  for (const auto& [placement, wish] : best.seats) {
    gpu.instances.push_back({lattice.placements()[static_cast<std::size_t>(placement)].placed,
                             {wishes[wish].occupant}});
  }
  // Instances are listed by placement on the GPU, which the lattice numbers by start as well.
  std::ranges::sort(gpu.instances, [](const ServingInstance& a, const ServingInstance& b) {
    return std::pair(a.placed->start, a.placed->profile) <
           std::pair(b.placed->start, b.placed->profile);
  });
  return gpu;
}

Occupant serving_occupant(const AdmittedTenant& tenant, int index, int size) {
  const std::optional<OperatingPoint>& point = tenant.serving[static_cast<std::size_t>(size)];
  SEPTULE_CHECK(point.has_value(), "a tenant is served only on sizes where it has a point");
  return {.tenant = index,
          .role = Role::kServe,
          .batch = point->batch,
          .processes = point->processes,
          .share = point->share};
}

ActiveThreadPercentage share_of(int part, int whole) {
  SEPTULE_CHECK(part > 0, "a share is above 0");
  return ActiveThreadPercentage(std::clamp(100 * part / whole, 1, 100));
}

ComputeSlices whole_slices(const LayoutLattice& lattice) {
  return lattice.geometry().compute_slices();
}

GpuDeployment shared_gpu(std::vector<Occupant> occupants) {
  if (occupants.empty()) {
    return {};
  }
  std::ranges::sort(occupants, {}, [](const Occupant& occupant) {
    return std::pair(occupant.tenant, occupant.role);
  });
  return {{ServingInstance{.placed = std::nullopt, .occupants = std::move(occupants)}}};
}

}  // namespace septule::serve
