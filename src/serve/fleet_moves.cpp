#include "serve/fleet_moves.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/partition.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

/// Requests per second that are none.
constexpr double kTiny = 1e-9;

bool holds(const GpuHoldings& holdings, const Holding& wanted) {
  return std::ranges::any_of(holdings,
                             [&](const Holding& holding) { return holding.is_same_use(wanted); });
}

Status check_side(const FleetMovesProblem& problem,
                  std::span<const GpuHoldings> gpus,
                  std::string_view side) {
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    int last = -1;
    for (const Holding& holding : gpus[gpu]) {
      const bool is_known =
          holding.placement > last &&
          std::cmp_less(holding.placement, problem.lattice->placements().size()) &&
          holding.tenant >= 0 && std::cmp_less(holding.tenant, problem.need_rps.size());
      if (!is_known) {
        return Error{
            ErrorCode::kInvalidInput,
            fmt::format("GPU {} {}: placement {} with tenant {} is unknown or out of order",
                        gpu,
                        side,
                        holding.placement,
                        holding.tenant)};
      }
      last = holding.placement;
    }
    if (!problem.lattice->is_legal(placement_bits(gpus[gpu]))) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("GPU {} {}: its instances do not fit beside each other", gpu, side)};
    }
  }
  return {};
}

Status check(const FleetMovesProblem& problem) {
  if (problem.lattice == nullptr || problem.from.size() != problem.to.size() ||
      problem.throughput.size() != problem.need_rps.size()) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("moves from {} to {} GPUs with {} throughputs and {} needs; both pairs "
                    "must be equal",
                    problem.from.size(),
                    problem.to.size(),
                    problem.throughput.size(),
                    problem.need_rps.size())};
  }
  for (std::size_t tenant = 0; tenant < problem.need_rps.size(); ++tenant) {
    if (!std::isfinite(problem.need_rps[tenant]) || problem.need_rps[tenant] < 0) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("tenant {} needs {} requests per second, must be 0 or more",
                               tenant,
                               problem.need_rps[tenant])};
    }
  }
  SEPTULE_TRY_STATUS(check_side(problem, problem.from, "before"));
  return check_side(problem, problem.to, "after");
}

/// Which of the instances to be created is looked at first.
enum class Order { kFirstGpu, kLastGpu, kLargest, kSmallest };

/// The state on the way, and the phase that is being made.
class Mover {
 public:
  Mover(const FleetMovesProblem& problem, Order order)
      : problem_(problem), order_(order), now_(problem.from.begin(), problem.from.end()) {
    const std::vector<double> had = capacity(now_);
    for (std::size_t tenant = 0; tenant < had.size(); ++tenant) {
      floor_.push_back(std::min(problem.need_rps[tenant], had[tenant]));
    }
  }

  FleetMoves run();

 private:
  double throughput(const Holding& holding) const {
    const std::size_t size = at(problem_.lattice->placements()[at(holding.placement)].size);
    return holding.role == Role::kServe ? problem_.throughput[at(holding.tenant)][size] : 0.0;
  }
  std::vector<double> capacity(const std::vector<GpuHoldings>& gpus) const;
  std::vector<MovedInstance> pending() const;
  bool is_going(int gpu, const Holding& holding) const;
  /// What has to go before `wanted` can be created; nothing where that is not enough.
  std::optional<GpuHoldings> blockers(const MovedInstance& wanted) const;
  /// By tenant, how far below its floor it is without `gone`.
  std::vector<double> shortage(const GpuHoldings& gone) const;
  enum class Room { kFree, kMade };
  void create(const MovedInstance& wanted, Room room);
  void release(int gpu, const GpuHoldings& gone);
  bool create_in_free_places();
  bool release_and_create();
  bool bridge();
  void release_unneeded();
  bool cover(std::vector<double> wanted, const MovedInstance& reserved);
  std::optional<MovedInstance> spare_place(int tenant,
                                           double wanted,
                                           const MovedInstance& reserved) const;
  void force();
  void begin_phase();
  void end_phase();

  const FleetMovesProblem& problem_;
  Order order_;
  std::vector<GpuHoldings> now_;
  std::vector<double> floor_;
  std::vector<double> ready_;  // by tenant: of what is ready and not released
  // Each bridge is followed by something that was to be created.
  std::int64_t bridges_left_ = 0;
  MovePhase phase_;
  FleetMoves moves_;
};

std::vector<double> Mover::capacity(const std::vector<GpuHoldings>& gpus) const {
  std::vector<double> sum(problem_.need_rps.size(), 0);
  for (const GpuHoldings& holdings : gpus) {
    for (const Holding& holding : holdings) {
      sum[at(holding.tenant)] += throughput(holding);
    }
  }
  return sum;
}

/// What is to be and is not there yet.
std::vector<MovedInstance> Mover::pending() const {
  std::vector<MovedInstance> missing;
  for (std::size_t gpu = 0; gpu < now_.size(); ++gpu) {
    for (const Holding& holding : problem_.to[gpu]) {
      if (!holds(now_[gpu], holding)) {
        missing.push_back({static_cast<int>(gpu), holding});
      }
    }
  }
  if (order_ == Order::kLastGpu) {
    std::ranges::reverse(missing);
  } else if (order_ != Order::kFirstGpu) {
    const int sign = order_ == Order::kSmallest ? 1 : -1;
    std::ranges::stable_sort(missing, {}, [&](const MovedInstance& instance) {
      return sign * problem_.lattice->placements()[at(instance.holding.placement)].size;
    });
  }
  return missing;
}

bool Mover::is_going(int gpu, const Holding& holding) const {
  const bool is_new = std::ranges::any_of(phase_.created, [&](const MovedInstance& created) {
    return created.gpu == gpu && created.holding.is_same_use(holding);
  });
  return !is_new && !holds(problem_.to[at(gpu)], holding);
}

std::optional<GpuHoldings> Mover::blockers(const MovedInstance& wanted) const {
  const LayoutLattice& lattice = *problem_.lattice;
  GpuHoldings overlapping;
  GpuHoldings going;
  std::uint32_t staying = 0;
  for (const Holding& holding : now_[at(wanted.gpu)]) {
    if (!is_going(wanted.gpu, holding)) {
      staying |= bit(holding.placement);
      continue;
    }
    going.push_back(holding);
    const bool is_same = holding.placement == wanted.holding.placement;
    if (is_same || !lattice.is_legal(bit(holding.placement) | bit(wanted.holding.placement))) {
      overlapping.push_back(holding);
    }
  }
  const std::uint32_t all = placement_bits(now_[at(wanted.gpu)]);
  const std::uint32_t rest = all & ~placement_bits(overlapping);
  if ((rest & bit(wanted.holding.placement)) == 0 &&
      lattice.is_legal(rest | bit(wanted.holding.placement))) {
    return overlapping;
  }
  if ((staying & bit(wanted.holding.placement)) == 0 &&
      lattice.is_legal(staying | bit(wanted.holding.placement))) {
    return going;
  }
  return std::nullopt;
}

std::vector<double> Mover::shortage(const GpuHoldings& gone) const {
  std::vector<double> left = ready_;
  for (const Holding& holding : gone) {
    left[at(holding.tenant)] -= throughput(holding);
  }
  for (std::size_t tenant = 0; tenant < left.size(); ++tenant) {
    const double missing = floor_[tenant] - left[tenant];
    // Who is short already is not made shorter by others.
    const double before = std::max(0.0, floor_[tenant] - ready_[tenant]);
    left[tenant] = missing > before + kTiny * (1 + floor_[tenant]) ? missing : 0;
  }
  return left;
}

void Mover::create(const MovedInstance& wanted, Room room) {
  insert_holding(now_[at(wanted.gpu)], wanted.holding);
  const auto same = std::ranges::find_if(phase_.released, [&](const MovedInstance& gone) {
    return gone.gpu == wanted.gpu && gone.holding.is_same_use(wanted.holding);
  });
  if (same != phase_.released.end()) {
    // It was about to go and is wanted again: it stays.
    ready_[at(wanted.holding.tenant)] += throughput(wanted.holding);
    phase_.released.erase(same);
    return;
  }
  phase_.created.push_back(wanted);
  ++moves_.created;
  moves_.created_in_free_place += room == Room::kFree ? 1 : 0;
  moves_.temporary += holds(problem_.to[at(wanted.gpu)], wanted.holding) ? 0 : 1;
}

void Mover::release(int gpu, const GpuHoldings& gone) {
  for (const Holding& holding : gone) {
    ready_[at(holding.tenant)] -= throughput(holding);
    std::erase_if(now_[at(gpu)], [&](const Holding& other) { return other.is_same_use(holding); });
    phase_.released.push_back({gpu, holding});
  }
}

bool Mover::create_in_free_places() {
  bool is_changed = false;
  for (const MovedInstance& wanted : pending()) {
    const std::uint32_t held = placement_bits(now_[at(wanted.gpu)]);
    if ((held & bit(wanted.holding.placement)) == 0 &&
        problem_.lattice->is_legal(held | bit(wanted.holding.placement))) {
      const bool is_room_made = std::ranges::any_of(
          phase_.released, [&](const MovedInstance& gone) { return gone.gpu == wanted.gpu; });
      create(wanted, is_room_made ? Room::kMade : Room::kFree);
      is_changed = true;
    }
  }
  return is_changed;
}

/// The first instance, fewest blockers first, that can be created after releases nobody misses.
bool Mover::release_and_create() {
  std::optional<std::pair<MovedInstance, GpuHoldings>> best;
  for (const MovedInstance& wanted : pending()) {
    const std::optional<GpuHoldings> gone = blockers(wanted);
    const auto is_short = [](double missing) { return missing > 0; };
    if (!gone || std::ranges::any_of(shortage(*gone), is_short)) {
      continue;
    }
    if (!best || gone->size() < best->second.size()) {
      best.emplace(wanted, *gone);
    }
  }
  if (!best) {
    return false;
  }
  release(best->first.gpu, best->second);
  create(best->first, Room::kMade);
  return true;
}

/// A free place for a tenant that leaves a reserved one alone: on GPUs that are to stay unused
/// first, where the fewest instances that are to be created want to be; then the smallest size that
/// is enough, or the one that gives most.
std::optional<MovedInstance> Mover::spare_place(int tenant,
                                                double wanted,
                                                const MovedInstance& reserved) const {
  const LayoutLattice& lattice = *problem_.lattice;
  std::optional<MovedInstance> best;
  std::tuple<int, int, double> best_rank;
  for (int gpu = 0; std::cmp_less(gpu, now_.size()); ++gpu) {
    const std::uint32_t held = placement_bits(now_[at(gpu)]);
    const std::uint32_t planned = placement_bits(problem_.to[at(gpu)]) & ~held;
    for (int placement = 0; std::cmp_less(placement, lattice.placements().size()); ++placement) {
      const Holding holding{.placement = placement, .tenant = tenant, .since = {}};
      const double rate = throughput(holding);
      const std::uint32_t kept_free = gpu == reserved.gpu ? bit(reserved.holding.placement) : 0;
      if (rate <= 0 || (held & bit(placement)) != 0 || !lattice.is_legal(held | bit(placement)) ||
          !lattice.is_legal(kept_free | bit(placement)) || kept_free == bit(placement)) {
        continue;
      }
      int in_the_way = 0;
      for (std::uint32_t left = planned; left != 0; left &= left - 1) {
        const std::uint32_t one = left & (~left + 1);
        in_the_way += one == bit(placement) || !lattice.is_legal(one | bit(placement)) ? 1 : 0;
      }
      const double waste = rate >= wanted ? rate - wanted : 1e12 - rate;
      const std::tuple<int, int, double> rank(
          problem_.to[at(gpu)].empty() ? 0 : 1, in_the_way, waste);
      if (!best || rank < best_rank) {
        best = MovedInstance{gpu, holding};
        best_rank = rank;
      }
    }
  }
  return best;
}

/// Creates temporary instances until each tenant has so much more; false, and nothing done, where
/// there is no room.
bool Mover::cover(std::vector<double> wanted, const MovedInstance& reserved) {
  const std::vector<GpuHoldings> before = now_;
  std::vector<MovedInstance> added;
  for (std::size_t tenant = 0; tenant < wanted.size(); ++tenant) {
    while (wanted[tenant] > kTiny) {
      const std::optional<MovedInstance> place =
          spare_place(static_cast<int>(tenant), wanted[tenant], reserved);
      if (!place) {
        now_ = before;
        return false;
      }
      insert_holding(now_[at(place->gpu)], place->holding);
      wanted[tenant] -= throughput(place->holding);
      added.push_back(*place);
    }
  }
  now_ = before;
  for (const MovedInstance& place : added) {
    create(place, Room::kFree);
  }
  return !added.empty();
}

/// Releases what nobody misses any more, old or temporary, so that its place is a spare one.
void Mover::release_unneeded() {
  for (int gpu = 0; std::cmp_less(gpu, now_.size()); ++gpu) {
    const GpuHoldings there = now_[at(gpu)];
    for (const Holding& holding : there) {
      const auto is_short = [](double missing) { return missing > 0; };
      if (is_going(gpu, holding) && std::ranges::none_of(shortage({holding}), is_short)) {
        release(gpu, {holding});
      }
    }
  }
}

bool Mover::bridge() {
  release_unneeded();
  if (bridges_left_-- <= 0) {
    return false;
  }
  struct Choice {
    double sum = 0;
    std::vector<double> missing;
    MovedInstance wanted;
  };
  std::vector<Choice> choices;
  for (const MovedInstance& wanted : pending()) {
    if (const std::optional<GpuHoldings> gone = blockers(wanted)) {
      Choice& choice = choices.emplace_back(Choice{0, shortage(*gone), wanted});
      for (const double one : choice.missing) {
        choice.sum += one;
      }
    }
  }
  std::ranges::stable_sort(choices, {}, &Choice::sum);
  return std::ranges::any_of(
      choices, [&](const Choice& choice) { return cover(choice.missing, choice.wanted); });
}

/// Releases what leaves the tenants least short of their floors, as parts of these, and creates
/// what that makes room for.
void Mover::force() {
  std::optional<std::pair<MovedInstance, GpuHoldings>> best;
  double best_harm = 0;
  for (const MovedInstance& wanted : pending()) {
    const std::optional<GpuHoldings> gone = blockers(wanted);
    if (!gone) {
      continue;
    }
    const std::vector<double> missing = shortage(*gone);
    double harm = 0;
    for (std::size_t tenant = 0; tenant < missing.size(); ++tenant) {
      harm += missing[tenant] / std::max(floor_[tenant], kTiny);
    }
    if (!best || harm < best_harm) {
      best.emplace(wanted, *gone);
      best_harm = harm;
    }
  }
  const auto chosen = checked_value(std::move(best), "what is in the way of a goal may go");
  release(chosen.first.gpu, chosen.second);
  create(chosen.first, Room::kMade);
}

void Mover::begin_phase() {
  phase_ = {};
  ready_ = capacity(now_);
}

void Mover::end_phase() {
  phase_.gpus = now_;
  phase_.ready_rps = ready_;
  const auto number = static_cast<int>(moves_.phases.size());
  for (std::size_t tenant = 0; tenant < ready_.size(); ++tenant) {
    const double missing = floor_[tenant] - ready_[tenant];
    if (missing > kTiny * (1 + floor_[tenant])) {
      moves_.dips.push_back({number, static_cast<int>(tenant), missing});
    }
  }
  moves_.phases.push_back(std::move(phase_));
}

FleetMoves Mover::run() {
  bridges_left_ = std::ssize(pending());
  while (!pending().empty()) {
    begin_phase();
    create_in_free_places();
    while (release_and_create()) {
      create_in_free_places();
    }
    if (phase_.created.empty() && !bridge()) {
      force();
      create_in_free_places();
    }
    end_phase();
  }
  begin_phase();
  for (int gpu = 0; std::cmp_less(gpu, now_.size()); ++gpu) {
    GpuHoldings gone;
    std::ranges::copy_if(now_[at(gpu)], std::back_inserter(gone), [&](const Holding& holding) {
      return is_going(gpu, holding);
    });
    release(gpu, gone);
  }
  if (!phase_.released.empty()) {
    end_phase();
  }
  return std::move(moves_);
}

}  // namespace

Result<FleetMoves> order_moves(const FleetMovesProblem& problem) {
  SEPTULE_TRY_STATUS(check(problem));
  std::optional<FleetMoves> best;
  double best_short = 0;
  for (const Order order : {Order::kFirstGpu, Order::kLastGpu, Order::kLargest, Order::kSmallest}) {
    FleetMoves moves = Mover(problem, order).run();
    double sum = 0;
    for (const CapacityDip& dip : moves.dips) {
      sum += dip.short_rps;
    }
    if (!best || sum < best_short) {
      best = std::move(moves);
      best_short = sum;
    }
    if (best->dips.empty()) {
      break;
    }
  }
  return checked_value(std::move(best), "there is an order");
}

std::vector<gpu::DesiredGpu> desired_gpus(const LayoutLattice& lattice,
                                          std::span<const GpuHoldings> gpus,
                                          std::span<const GpuIndex> indices) {
  std::vector<gpu::DesiredGpu> desired;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    gpu::Layout layout;
    for (const Holding& holding : gpus[gpu]) {
      layout.push_back(lattice.placements()[at(holding.placement)].placed);
    }
    gpu::canonicalise(layout);
    desired.push_back(
        {.index = indices.empty() ? GpuIndex(static_cast<int>(gpu)) : indices[gpu],
         .partition = gpu::partition_with_full_instances(lattice.geometry(), layout)});
  }
  return desired;
}

}  // namespace septule::serve
