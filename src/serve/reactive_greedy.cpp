#include "serve/reactive_greedy.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/portable_math.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

/// Memory slices that a placement covers.
std::uint32_t memory_slices(const LayoutLattice& lattice, int placement) {
  const SizePlacement& place = lattice.placements()[static_cast<std::size_t>(placement)];
  const int span = lattice.sizes()[static_cast<std::size_t>(place.size)].span.value();
  const std::uint32_t width = (std::uint32_t{1} << static_cast<unsigned>(span)) - 1;
  return width << static_cast<unsigned>(place.placed.start.value());
}

}  // namespace

ReactiveGreedy::ReactiveGreedy(const HoldingContext& context,
                               int gpu_count,
                               const ReactiveOptions& options)
    : context_(context),
      options_(options),
      accuracies_(context.tenants.size()),
      gpus_(static_cast<std::size_t>(gpu_count)) {
  for (const AdmittedTenant& admitted : context.tenants) {
    rates_.push_back(admitted.tenant.rate.at(SimTime()));
  }
  const int count = static_cast<int>(context.lattice->placements().size());
  for (int p = 0; p < count; ++p) {
    std::uint32_t overlap = 0;
    for (int q = 0; q < count; ++q) {
      const bool meets =
          (memory_slices(*context.lattice, p) & memory_slices(*context.lattice, q)) != 0;
      overlap |= meets ? bit(q) : 0;
    }
    overlaps_.push_back(overlap);
  }
}

void ReactiveGreedy::observe(const ServingView& view) {
  const double weight = 1 - portable_exp(-1 / options_.smoothing_s);
  for (std::size_t m = 0; m < rates_.size(); ++m) {
    const TenantState& state = view.tenants[m];
    const Tenant& tenant = context_.tenants[m].tenant;
    for (std::size_t s = seconds_seen_; s < state.arrived.size(); ++s) {
      rates_[m] = s == 0 ? state.arrived[0] : rates_[m] + weight * (state.arrived[s] - rates_[m]);
    }
    accuracies_[m] = state.is_retrained && tenant.retraining ? tenant.retraining->accuracy_after
                                                             : tenant.accuracy;
  }
  if (!view.tenants.empty()) {
    seconds_seen_ = view.tenants.front().arrived.size();
  }
}

std::vector<double> ReactiveGreedy::capacities(std::span<const GpuHoldings> gpus) const {
  std::vector<double> capacities(rates_.size(), 0.0);
  for (const GpuHoldings& gpu : gpus) {
    for (const Holding& holding : gpu) {
      capacities[static_cast<std::size_t>(holding.tenant)] += context_.throughput_rps(holding);
    }
  }
  return capacities;
}

double ReactiveGreedy::value_rate(int tenant, double capacity_rps) const {
  const auto m = static_cast<std::size_t>(tenant);
  return context_.tenants[m].tenant.weight * accuracies_[m] * std::min(rates_[m], capacity_rps);
}

double ReactiveGreedy::goodput_rate(std::span<const double> capacities) const {
  double rate = 0;
  for (std::size_t m = 0; m < capacities.size(); ++m) {
    rate += value_rate(static_cast<int>(m), capacities[m]);
  }
  return rate;
}

bool ReactiveGreedy::is_removable(const Holding& holding, SimTime now) const {
  const Duration dwell =
      scaled(context_.warm_up(holding.tenant, options_.warm_up), options_.dwell_factor);
  return holding.role == Role::kServe && holding.since + dwell <= now;
}

std::optional<std::uint32_t> ReactiveGreedy::in_the_way(const GpuHoldings& gpu,
                                                        int placement,
                                                        SimTime now) const {
  std::uint32_t destroyed = 0;
  for (const Holding& holding : gpu) {
    if ((overlaps_[static_cast<std::size_t>(placement)] & bit(holding.placement)) == 0) {
      continue;
    }
    if (!is_removable(holding, now)) {
      return std::nullopt;
    }
    destroyed |= bit(holding.placement);
  }
  const std::uint32_t after = (placement_bits(gpu) & ~destroyed) | bit(placement);
  return context_.lattice->is_legal(after) ? std::optional(destroyed) : std::nullopt;
}

std::optional<ReactiveGreedy::Move> ReactiveGreedy::judged(const Move& candidate,
                                                           std::span<const double> capacities,
                                                           const GpuHoldings& gpu) const {
  Move move = candidate;
  std::vector<double> without(capacities.begin(), capacities.end());
  std::uint32_t touched = memory_slices(*context_.lattice, move.created.placement);
  for (const Holding& holding : gpu) {
    if ((move.destroyed & bit(holding.placement)) == 0) {
      continue;
    }
    if (holding.is_same_use(move.created)) {
      return std::nullopt;
    }
    without[static_cast<std::size_t>(holding.tenant)] -= context_.throughput_rps(holding);
    touched |= memory_slices(*context_.lattice, holding.placement);
  }
  const double before = goodput_rate(capacities);
  const double warming = goodput_rate(without);
  const auto m = static_cast<std::size_t>(move.created.tenant);
  const double after =
      warming +
      value_rate(move.created.tenant, without[m] + context_.throughput_rps(move.created)) -
      value_rate(move.created.tenant, without[m]);
  // Over a dwell of `dwell_factor` warm-ups one warm-up's time yields `warming`, the rest `after`.
  const double warm_share = 1 / std::max(1.0, options_.dwell_factor);
  move.gain = (1 - warm_share) * (after - before) - warm_share * (before - warming);
  move.score = move.gain / std::popcount(touched);
  const double least = options_.hysteresis * before;
  return move.gain > std::max(least, 1e-9) ? std::optional(move) : std::nullopt;
}

std::optional<ReactiveGreedy::Move> ReactiveGreedy::best_move(std::span<const GpuHoldings> gpus,
                                                              SimTime now) const {
  const std::vector<double> capacity = capacities(gpus);
  std::optional<Move> best;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (std::size_t p = 0; p < overlaps_.size(); ++p) {
      const std::optional<std::uint32_t> destroyed = in_the_way(gpus[g], static_cast<int>(p), now);
      if (!destroyed) {
        continue;
      }
      for (std::size_t m = 0; m < rates_.size(); ++m) {
        const Move candidate{.gpu = static_cast<int>(g),
                             .created = {.placement = static_cast<int>(p),
                                         .tenant = static_cast<int>(m),
                                         .role = Role::kServe,
                                         .since = now},
                             .destroyed = *destroyed};
        if (context_.throughput_rps(candidate.created) <= 0) {
          continue;
        }
        const std::optional<Move> move = judged(candidate, capacity, gpus[g]);
        if (move && (!best || move->score > best->score)) {
          best = move;
        }
      }
    }
  }
  return best;
}

void ReactiveGreedy::apply(const Move& move, std::vector<GpuHoldings>& gpus) const {
  GpuHoldings& gpu = gpus[static_cast<std::size_t>(move.gpu)];
  std::erase_if(
      gpu, [&](const Holding& holding) { return (move.destroyed & bit(holding.placement)) != 0; });
  insert_holding(gpu, move.created);
}

void ReactiveGreedy::note_spares(std::span<const GpuHoldings> gpus, SimTime now) {
  const std::vector<double> capacity = capacities(gpus);
  std::vector<Spare> spares;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (std::size_t p = 0; p < overlaps_.size(); ++p) {
      const int placement = static_cast<int>(p);
      const std::optional<std::uint32_t> destroyed = in_the_way(gpus[g], placement, now);
      if (!destroyed) {
        continue;
      }
      std::vector<double> left = capacity;
      for (const Holding& holding : gpus[g]) {
        if ((*destroyed & bit(holding.placement)) != 0) {
          left[static_cast<std::size_t>(holding.tenant)] -= context_.throughput_rps(holding);
        }
      }
      bool is_spare = true;
      for (std::size_t m = 0; m < left.size(); ++m) {
        is_spare = is_spare && (left[m] >= capacity[m] || left[m] >= rates_[m]);
      }
      if (!is_spare) {
        continue;
      }
      const auto before = std::ranges::find_if(spares_, [&](const Spare& spare) {
        return spare.gpu == static_cast<int>(g) && spare.placement == placement;
      });
      spares.push_back({.gpu = static_cast<int>(g),
                        .placement = placement,
                        .since = before == spares_.end() ? now : before->since});
    }
  }
  spares_ = std::move(spares);
}

void ReactiveGreedy::end_retraining(const ServingView& view, std::vector<GpuHoldings>& gpus) const {
  for (GpuHoldings& gpu : gpus) {
    std::erase_if(gpu, [&](const Holding& holding) {
      return holding.role == Role::kRetrain &&
             view.tenants[static_cast<std::size_t>(holding.tenant)].retraining_left_s <= 0;
    });
  }
}

void ReactiveGreedy::start_retraining(const ServingView& view, std::vector<GpuHoldings>& gpus) {
  note_spares(gpus, view.now);
  const Duration wait = Duration::milliseconds(std::int64_t{1000} * options_.surplus_s);
  for (std::size_t m = 0; m < rates_.size(); ++m) {
    const TenantState& state = view.tenants[m];
    const bool is_due = state.retraining_left_s > 0 &&
                        (!state.retraining_release || *state.retraining_release <= view.now);
    const auto is_running = [&](const Holding& holding) {
      return holding.role == Role::kRetrain && holding.tenant == static_cast<int>(m);
    };
    if (!is_due || std::ranges::any_of(gpus, [&](const GpuHoldings& gpu) {
          return std::ranges::any_of(gpu, is_running);
        })) {
      continue;
    }
    std::optional<Move> best;
    for (const Spare& spare : spares_) {
      const Holding created{.placement = spare.placement,
                            .tenant = static_cast<int>(m),
                            .role = Role::kRetrain,
                            .since = view.now};
      const double speed =
          context_.tenants[m].retraining_speed[static_cast<std::size_t>(context_.size_of(created))];
      if (spare.since + wait <= view.now && speed > 0 && (!best || speed > best->score)) {
        best = Move{
            .gpu = spare.gpu,
            .created = created,
            .destroyed = checked_value(
                in_the_way(gpus[static_cast<std::size_t>(spare.gpu)], spare.placement, view.now),
                "a spare slice can be taken"),
            .score = speed};
      }
    }
    if (best) {
      apply(*best, gpus);
      note_spares(gpus, view.now);  // the next tenant sees what is left
    }
  }
}

std::vector<GpuHoldings> ReactiveGreedy::improved(const ServingView& view,
                                                  std::vector<GpuHoldings> gpus) {
  end_retraining(view, gpus);
  start_retraining(view, gpus);
  const bool is_first = std::ranges::all_of(gpus, &GpuHoldings::empty);
  const int moves_max =
      is_first ? static_cast<int>(gpus.size() * kInstancesMax) : options_.moves_max;
  for (int i = 0; i < moves_max; ++i) {
    const std::optional<Move> move = best_move(gpus, view.now);
    if (!move) {
      break;
    }
    apply(*move, gpus);
  }
  return gpus;
}

std::optional<Deployment> ReactiveGreedy::decide(const ServingView& view) {
  observe(view);
  if (view.current != nullptr) {
    gpus_ = adopted(context_, *view.current, gpus_, view.now);
  }
  constexpr std::int64_t kSecond = 1000000000;
  if (view.now.to_nanoseconds() / kSecond % options_.period_s != 0) {
    return std::nullopt;
  }
  gpus_ = improved(view, gpus_);
  Deployment wanted = to_deployment(context_, gpus_);
  if (view.current != nullptr && wanted == *view.current) {
    return std::nullopt;
  }
  return wanted;
}

std::vector<OptionRecord> reactive_greedy_options() {
  const ReactiveOptions defaults;
  return {
      {.name = "period",
       .value = "S",
       .text = "Seek moves so often.",
       .unit = "s",
       .default_text = std::to_string(defaults.period_s),
       .min = 1,
       .max = 3600,
       .is_integer = true},
      {.name = "moves",
       .value = "N",
       .text = "Moves per period.",
       .default_text = std::to_string(defaults.moves_max),
       .min = 1,
       .max = 100,
       .is_integer = true},
      {.name = "hysteresis",
       .value = "SHARE",
       .text = "Share of the current goodput rate that a move must gain.",
       .default_text = "0.05",
       .min = 0,
       .max = 1},
      {.name = "surplus",
       .value = "S",
       .text = "A slice must have been spare so long before a retraining takes it.",
       .unit = "s",
       .default_text = std::to_string(defaults.surplus_s),
       .min = 0,
       .max = 3600,
       .is_integer = true},
  };
}

Result<std::unique_ptr<ServingPolicy>> make_reactive_greedy(const ServingSetup& setup) {
  ReactiveOptions options;
  const PolicyOptions& given = setup.options;
  options.period_s = static_cast<int>(given.number("period", options.period_s));
  options.moves_max = static_cast<int>(given.number("moves", options.moves_max));
  options.hysteresis = given.number("hysteresis", options.hysteresis);
  options.surplus_s = static_cast<int>(given.number("surplus", options.surplus_s));
  return std::unique_ptr<ServingPolicy>(std::make_unique<ReactiveGreedy>(
      HoldingContext{.lattice = setup.lattice, .tenants = setup.tenants},
      setup.gpu_count,
      options));
}

}  // namespace septule::serve
