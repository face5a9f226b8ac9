#include "sim/serving_fleet.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace septule::sim {
namespace {

using serve::Occupant;
using serve::Role;

bool is_same_place(const LiveInstance& live, const serve::ServingInstance& wanted) {
  return live.placed == wanted.placed;
}

bool is_same_occupant(const Occupant& a, const Occupant& b) {
  return a.tenant == b.tenant && a.role == b.role;
}

/// Whether going from one to the other needs no new process.
bool runs_alike(const Occupant& a, const Occupant& b) {
  return a.processes == b.processes && a.share == b.share;
}

bool overlaps(const gpu::Geometry& geometry, const LiveInstance& a, const LiveInstance& b) {
  if (!a.placed || !b.placed) {
    return true;
  }
  return gpu::placement_of(geometry, *a.placed).overlaps(gpu::placement_of(geometry, *b.placed));
}

/// Serving occupants that are up, with what they yield.
void add_stopped(std::span<const ServingMember> members,
                 SimTime now,
                 std::vector<std::pair<int, double>>& stopped) {
  for (const ServingMember& member : members) {
    if (member.as.role == Role::kServe && member.ready <= now) {
      stopped.emplace_back(member.as.tenant, member.capacity_rps);
    }
  }
}

}  // namespace

/// One GPU's part of an order while it is carried out.
struct ServingFleet::Order {
  int gpu = 0;
  SimTime now;
  Setting setting = Setting::kWarmsUp;
  int moves_before = 0;
  Duration mode_change;
  std::vector<LiveInstance> removed;  ///< instances of this GPU that go
  std::vector<ServingMove> moves;     ///< of all GPUs
  /// Of the instance being filled: who had to go to make room for newcomers.
  std::vector<std::pair<int, double>> stopped;
  bool has_free_slot = true;
};

ServingFleet::ServingFleet(const ServingSimSetup& setup)
    : setup_(&setup), shares_(setup.options.phi), is_retraining_(setup.tenants.size(), false) {
  current_.gpus.resize(static_cast<std::size_t>(setup.gpu_count));
  const Rng root(setup.options.seed);
  for (std::size_t i = 0; i < setup.tenants.size(); ++i) {
    warm_up_rngs_.push_back(root.stream("warm-up", i));
  }
}

std::vector<ServingMove> ServingFleet::apply(const serve::Deployment& wanted,
                                             SimTime now,
                                             Setting setting,
                                             int moves_before) {
  Order order;
  order.now = now;
  order.setting = setting;
  order.moves_before = moves_before;
  std::vector<LiveInstance> before = std::exchange(instances_, {});
  std::size_t next = 0;
  for (int gpu = 0; gpu < setup_->gpu_count; ++gpu) {
    const std::size_t first = next;
    while (next < before.size() && before[next].gpu == gpu) {
      ++next;
    }
    const std::span<LiveInstance> here = std::span(before).subspan(first, next - first);
    const auto g = static_cast<std::size_t>(gpu);
    if (wanted.gpus[g] == current_.gpus[g]) {
      std::move(here.begin(), here.end(), std::back_inserter(instances_));
      continue;
    }
    order.gpu = gpu;
    apply_gpu(order, wanted.gpus[g], here);
  }
  current_ = wanted;
  next_change_ = now;
  ++generation_;
  return std::move(order.moves);
}

LiveInstance ServingFleet::make_instance(int gpu, const serve::ServingInstance& wanted) const {
  LiveInstance instance{.gpu = gpu,
                        .placed = wanted.placed,
                        .size = std::nullopt,
                        .slices = setup_->lattice->geometry().compute_slices(),
                        .members = {}};
  if (wanted.placed) {
    const int placement =
        checked_value(setup_->lattice->find_placement(*wanted.placed), "a legal order is placed");
    instance.size = setup_->lattice->placements()[static_cast<std::size_t>(placement)].size;
    instance.slices = setup_->lattice->sizes()[static_cast<std::size_t>(*instance.size)].slices;
  } else {
    instance.size = setup_->lattice->size_of(instance.slices);
  }
  return instance;
}

void ServingFleet::apply_gpu(Order& order,
                             const serve::GpuDeployment& wanted,
                             std::span<LiveInstance> before) {
  order.removed.clear();
  std::vector<std::optional<LiveInstance>> kept(wanted.instances.size());
  bool was_mig = false;
  bool was_whole = false;
  for (LiveInstance& old : before) {
    (old.placed ? was_mig : was_whole) = true;
    const auto found = std::find_if(wanted.instances.begin(),
                                    wanted.instances.end(),
                                    [&](const auto& w) { return is_same_place(old, w); });
    if (found == wanted.instances.end()) {
      order.removed.push_back(std::move(old));
    } else {
      kept[static_cast<std::size_t>(found - wanted.instances.begin())] = std::move(old);
    }
  }
  for (std::size_t i = 0; i < wanted.instances.size(); ++i) {
    const serve::ServingInstance& instance = wanted.instances[i];
    const bool changes_mode = instance.placed ? was_whole : was_mig;
    order.mode_change =
        changes_mode && setup_->latencies != nullptr
            ? setup_->latencies->mig_mode_toggle(setup_->lattice->geometry().key()).duration
            : Duration();
    if (kept[i]) {
      LiveInstance live = checked_value(std::move(kept[i]), "it was looked at just now");
      fill_kept(order, instance, live);
      instances_.push_back(std::move(live));
    } else {
      LiveInstance made = make_instance(order.gpu, instance);
      fill_new(order, instance, made);
      instances_.push_back(std::move(made));
    }
  }
}

void ServingFleet::fill_new(Order& order,
                            const serve::ServingInstance& wanted,
                            LiveInstance& instance) {
  const gpu::Geometry& geometry = setup_->lattice->geometry();
  const gpu::LatencyTable* latencies = setup_->latencies;
  Duration driver = order.mode_change;
  order.stopped.clear();
  order.has_free_slot = true;
  for (const LiveInstance& old : order.removed) {
    if (!overlaps(geometry, old, instance)) {
      continue;
    }
    if (latencies != nullptr && old.placed) {
      driver += latencies->gpu_instance_destroy(geometry.key(), old.slices).duration +
                latencies->compute_instance_destroy(geometry.key()).duration;
    }
    order.has_free_slot = order.has_free_slot && old.members.empty();
    add_stopped(old.members, order.now, order.stopped);
  }
  if (latencies != nullptr && instance.placed) {
    driver += latencies->gpu_instance_create(geometry.key(), instance.slices).duration +
              latencies->compute_instance_create(geometry.key()).duration;
  }
  for (const Occupant& occupant : wanted.occupants) {
    instance.members.push_back(start(order, occupant, driver));
  }
}

void ServingFleet::fill_kept(Order& order,
                             const serve::ServingInstance& wanted,
                             LiveInstance& instance) {
  std::vector<ServingMember> before = std::exchange(instance.members, {});
  std::vector<std::optional<ServingMember>> staying(wanted.occupants.size());
  order.stopped.clear();
  order.has_free_slot = true;
  std::vector<ServingMember> going;
  for (ServingMember& member : before) {
    const auto found =
        std::find_if(wanted.occupants.begin(), wanted.occupants.end(), [&](const Occupant& w) {
          return is_same_occupant(member.as, w);
        });
    if (found != wanted.occupants.end()) {
      member.leaves = SimTime::never();
      staying[static_cast<std::size_t>(found - wanted.occupants.begin())] = member;
    } else if (member.ready <= order.now && may_hand_over(instance, wanted, member.as)) {
      going.push_back(member);
    } else {
      order.has_free_slot = false;
      add_stopped(std::span(&member, 1), order.now, order.stopped);
    }
  }
  for (std::size_t i = 0; i < wanted.occupants.size(); ++i) {
    if (staying[i]) {
      ServingMember member = checked_value(staying[i], "it was looked at just now");
      replace(order, wanted.occupants[i], member);
      instance.members.push_back(member);
    } else {
      instance.members.push_back(start(order, wanted.occupants[i], Duration()));
    }
  }
  SimTime ready = order.now;
  for (const ServingMember& member : instance.members) {
    ready = std::max(ready, member.ready);
  }
  for (ServingMember& member : going) {
    member.leaves = ready;
    if (ready > order.now) {
      instance.members.push_back(member);
    }
  }
}

std::optional<Bytes> ServingFleet::memory_of(const LiveInstance& instance,
                                             const Occupant& as) const {
  const serve::AdmittedTenant& tenant = setup_->tenants[static_cast<std::size_t>(as.tenant)];
  if (as.role == Role::kRetrain) {
    return tenant.tenant.retraining ? tenant.tenant.retraining->memory : std::nullopt;
  }
  const auto& point = tenant.serving[static_cast<std::size_t>(instance.size.value_or(0))];
  return point && instance.size ? point->memory : std::nullopt;
}

bool ServingFleet::may_hand_over(const LiveInstance& instance,
                                 const serve::ServingInstance& wanted,
                                 const Occupant& from) const {
  if (setup_->options.hand_over == HandOver::kNone || from.role != Role::kServe ||
      wanted.occupants.empty() || !instance.size) {
    return false;
  }
  const auto group = [&](const Occupant& as) {
    return setup_->tenants[static_cast<std::size_t>(as.tenant)].tenant.trust_group;
  };
  Bytes needed = memory_of(instance, from).value_or(Bytes());
  for (const Occupant& to : wanted.occupants) {
    if (group(to) != group(from)) {
      return false;
    }
    needed = Bytes(needed.value() + memory_of(instance, to).value_or(Bytes()).value());
  }
  const auto size = static_cast<std::size_t>(*instance.size);
  const std::optional<Bytes> there = setup_->lattice->sizes()[size].memory;
  return !there || needed <= *there;
}

ServingMember ServingFleet::start(Order& order, const Occupant& occupant, Duration driver) {
  ServingMember member;
  member.as = occupant;
  member.ready = order.now;
  if (order.setting == Setting::kReady) {
    return member;
  }
  const std::int64_t step = setup_->options.warm_up_step.to_nanoseconds();
  std::int64_t length = (driver + warm_up(occupant.tenant)).to_nanoseconds();
  if (step > 0) {
    length = (length + step - 1) / step * step;
  }
  member.ready = order.now + Duration::nanoseconds(length);
  member.move = order.moves_before + static_cast<int>(order.moves.size());
  order.moves.push_back({.tenant = occupant.tenant,
                         .role = occupant.role,
                         .begin = order.now,
                         .ready = member.ready,
                         .has_free_slot = order.has_free_slot,
                         .stopped = order.stopped});
  // What was stopped is counted once, with the first that takes its place.
  order.stopped.clear();
  return member;
}

void ServingFleet::replace(Order& order, const Occupant& occupant, ServingMember& member) {
  if (runs_alike(member.as, occupant)) {
    member.as.batch = occupant.batch;
    member.next.reset();
    member.next_ready = SimTime::never();
    return;
  }
  if (member.next && runs_alike(*member.next, occupant)) {
    member.next->batch = occupant.batch;
    return;
  }
  const auto stopped = std::exchange(order.stopped, {});
  const bool has_free_slot = std::exchange(order.has_free_slot, true);
  const ServingMember fresh = start(order, occupant, Duration());
  order.stopped = stopped;
  order.has_free_slot = has_free_slot;
  if (member.ready > order.now || order.setting == Setting::kReady) {
    member = fresh;  // what was not up yet is not worth waiting with
    return;
  }
  member.next = occupant;
  member.next_ready = fresh.ready;
  member.next_move = fresh.move;
}

Duration ServingFleet::warm_up(int tenant) {
  const auto t = static_cast<std::size_t>(tenant);
  const serve::WarmUp& quantiles = setup_->tenants[t].tenant.warm_up;
  if (setup_->options.warm_up) {
    return serve::warm_up_of(quantiles, *setup_->options.warm_up);
  }
  const double u = warm_up_rngs_[t].uniform();
  if (u <= 0.5) {
    return quantiles.p50;
  }
  if (u <= 0.9) {
    return quantiles.p50 + scaled(quantiles.p90 - quantiles.p50, (u - 0.5) / 0.4);
  }
  if (u <= 0.99) {
    return quantiles.p90 + scaled(quantiles.p99 - quantiles.p90, (u - 0.9) / 0.09);
  }
  return quantiles.p99;
}

void ServingFleet::settle(SimTime now, const std::vector<bool>& is_retraining) {
  if (now < next_change_ && is_retraining == is_retraining_) {
    return;
  }
  is_retraining_ = is_retraining;
  for (LiveInstance& instance : instances_) {
    std::erase_if(instance.members,
                  [now](const ServingMember& member) { return member.leaves <= now; });
    for (ServingMember& member : instance.members) {
      if (const auto next = member.next; next && member.next_ready <= now) {
        member.as = *next;
        member.next.reset();
        member.ready = std::exchange(member.next_ready, SimTime::never());
        member.move = std::exchange(member.next_move, -1);
      }
    }
    update_company(instance, now);
  }
  update_next_change(now);
  ++generation_;
}

void ServingFleet::update_next_change(SimTime now) {
  next_change_ = SimTime::never();
  for (const LiveInstance& instance : instances_) {
    for (const ServingMember& member : instance.members) {
      if (member.ready > now) {
        next_change_ = std::min(next_change_, member.ready);
      }
      next_change_ = std::min({next_change_, member.next_ready, member.leaves});
    }
  }
}

void ServingFleet::update_company(LiveInstance& instance, SimTime now) const {
  const auto is_active = [&](const ServingMember& member) {
    return member.ready <= now && (member.as.role == Role::kServe ||
                                   is_retraining_[static_cast<std::size_t>(member.as.tenant)]);
  };
  const auto active = std::count_if(instance.members.begin(), instance.members.end(), is_active);
  for (ServingMember& member : instance.members) {
    const auto others = active - (is_active(member) ? 1 : 0);
    member.company = others > 0 ? serve::MpsCompany::kShared : serve::MpsCompany::kAlone;
    update_yield(instance, member);
  }
}

void ServingFleet::update_yield(const LiveInstance& instance, ServingMember& member) const {
  const serve::AdmittedTenant& tenant = setup_->tenants[static_cast<std::size_t>(member.as.tenant)];
  const Occupant& as = member.as;
  member.capacity_rps = 0;
  if (as.role == Role::kRetrain) {
    member.retraining_speed =
        instance.size ? tenant.retraining_speed[static_cast<std::size_t>(*instance.size)] *
                            shares_.retraining_factor(as.share, member.company)
                      : 0;
    return;
  }
  const auto& point = instance.size ? tenant.serving[static_cast<std::size_t>(*instance.size)]
                                    : std::optional<serve::OperatingPoint>();
  if (point && member.company == serve::MpsCompany::kAlone && point->batch == as.batch &&
      point->processes == as.processes && point->share == as.share) {
    member.capacity_rps = point->throughput_rps;
    member.latency = point->latency;
    return;
  }
  const auto yield = shares_.yield(tenant.tenant.profile,
                                   {.slices = instance.slices,
                                    .batch = as.batch,
                                    .processes = as.processes,
                                    .share = as.share,
                                    .company = member.company});
  if (!yield) {
    return;
  }
  member.latency = yield->latency;
  const double in_time = tenant.tenant.slo.to_seconds() / yield->latency.to_seconds() - 1;
  member.capacity_rps = yield->throughput_rps * std::clamp(in_time, 0.0, 1.0);
}

}  // namespace septule::sim
