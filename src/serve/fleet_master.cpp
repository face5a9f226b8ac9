#include "serve/fleet_master.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

using optimize::kUnlimited;
using optimize::LinearColumn;
using optimize::LinearGoal;
using optimize::LinearOutcome;
using optimize::LinearProgram;
using optimize::LinearRow;
using optimize::LinearSolution;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kRoundsMax = 200;
/// What a missing instance costs, relative to the dearest thing there is; raised where instances
/// are missing in the end.
constexpr double kMissing = 64;
constexpr int kRaisesMax = 3;
constexpr double kMissingNone = 1e-7;
/// A value so close to a whole number is taken for it.
constexpr double kWholeValue = 1e-6;
/// What a compute slice costs where no prices are known yet, relative to the same.
constexpr double kPriceOfSlice = 1.0 / 7;
/// A column enters if it improves by this, relative to the dearest thing there is.
constexpr double kImprovement = 1e-7;
/// What floating-point error may have added to a bound, as a part of all that was summed.
constexpr double kErrorPart = 1e-11;
/// Prices are rounded to this, relative: the last bits of Clp's differ between machines.
constexpr double kPriceGrid = 1e-10;

double rounded(double price, double grid) {
  return std::max(0.0, std::round(price / grid) * grid);
}

NodeSolution closed_at(double bound) {
  NodeSolution closed;
  closed.bound = bound;
  closed.is_closed = true;
  return closed;
}

/// Several columns may mix to whole counts, which serve the tenant as well: they are what is
/// nearest then.
void take_if_whole(NodeSolution& read, std::size_t tenant) {
  SizeTable<int> counts{};
  for (std::size_t s = 0; s < kSizesMax; ++s) {
    const double value = read.instances[tenant][s];
    counts[s] = static_cast<int>(std::round(value));
    if (std::abs(value - counts[s]) > kWholeValue) {
      return;
    }
  }
  read.nearest[tenant] = counts;
  read.weight[tenant] = 1;
}

}  // namespace

std::optional<double> FleetStage::shortfall_price(const FleetTenant& tenant) const {
  if (unserved == Unserved::kForbidden) {
    return std::nullopt;
  }
  return tenant.weight * tenant.accuracy;
}

/// The linear program of one node while it is solved.
struct FleetMaster::Round {
  LinearProgram program{LinearGoal::kMinimise};
  LinearSolution solution;
  std::vector<CountLimits> limits;                           // by tenant
  std::vector<std::pair<std::size_t, std::size_t>> columns;  // tenant, index into columns_
  double scale = 1;
  double missing_price = 0;
  SizeTable<double> prices{};
  double bound = -kInfinite;
  std::size_t added = 0;
};

FleetMaster::FleetMaster(const FleetProblem& problem, FleetStage stage)
    : problem_(problem),
      stage_(stage),
      size_count_(problem.lattice->sizes().size()),
      columns_(problem.tenants.size()) {
  const auto multisets = problem.lattice->multisets();
  for (std::size_t m = 0; m < multisets.size(); ++m) {
    if (multisets[m].is_undominated) {
      layouts_.push_back(static_cast<int>(m));
    }
  }
}

const SizeTable<int>& FleetMaster::held_by(std::size_t layout) const {
  const auto multiset = static_cast<std::size_t>(layouts_[layout]);
  return problem_.lattice->multisets()[multiset].counts;
}

FleetNode FleetMaster::root() const {
  FleetNode node;
  node.layout_least.assign(layouts_.size(), 0);
  node.layout_most.assign(layouts_.size(), stage_.gpus_max);
  return node;
}

double FleetMaster::column_cost(std::size_t tenant, const SizeTable<int>& counts) const {
  const FleetTenant& own = problem_.tenants[tenant];
  double cost = 0;
  for (std::size_t s = 0; s < size_count_; ++s) {
    cost += stage_.instance_cost[s] * counts[s];
  }
  if (const auto price = stage_.shortfall_price(own)) {
    const double left = own.rate_rps * (1 - kRateTolerance) - capacity_of(own, counts);
    cost += *price * std::max(0.0, left);
  }
  return cost;
}

bool FleetMaster::add(std::size_t tenant, const SizeTable<int>& counts) {
  std::vector<Column>& own = columns_[tenant];
  if (std::ranges::any_of(own, [&](const Column& c) { return c.counts == counts; })) {
    return false;
  }
  own.push_back({counts, column_cost(tenant, counts)});
  return true;
}

void FleetMaster::offer(std::size_t tenant, const SizeTable<int>& counts) {
  if (stage_.unserved == FleetStage::Unserved::kPaid ||
      covers_rate(problem_.tenants[tenant], counts)) {
    add(tenant, counts);
  }
}

LinearColumn FleetMaster::line_of(std::size_t tenant, const Column& column) const {
  LinearColumn line{.cost = column.cost};
  for (std::size_t s = 0; s < size_count_; ++s) {
    if (column.counts[s] > 0) {
      line.entries.push_back({static_cast<int>(s), static_cast<double>(column.counts[s])});
    }
  }
  line.entries.push_back({static_cast<int>(size_count_ + 1 + tenant), 1});
  return line;
}

double FleetMaster::scale() const {
  double most = std::max(stage_.gpu_cost, 1e-300);
  for (std::size_t s = 0; s < size_count_; ++s) {
    most = std::max(most, stage_.instance_cost[s]);
    for (const FleetTenant& tenant : problem_.tenants) {
      const double worth = stage_.shortfall_price(tenant).value_or(0);
      most = std::max(most, worth * std::min(tenant.throughput[s], tenant.rate_rps));
    }
  }
  return most;
}

/// Rows: a size each, the number of GPUs, a tenant each. Columns: what is missing of each size and
/// of GPUs, layouts; then tenants' columns.
void FleetMaster::add_rows_and_layouts(const FleetNode& node, Round& round) const {
  std::vector<LinearRow> rows(size_count_, LinearRow{-kUnlimited, 0, {}});
  rows.push_back({-kUnlimited, static_cast<double>(stage_.gpus_max), {}});
  rows.insert(rows.end(), problem_.tenants.size(), LinearRow{1, 1, {}});
  round.program.add_rows(rows);
  std::vector<LinearColumn> lines;
  for (std::size_t row = 0; row <= size_count_; ++row) {
    lines.push_back({.cost = round.missing_price, .entries = {{static_cast<int>(row), -1}}});
  }
  for (std::size_t l = 0; l < layouts_.size(); ++l) {
    const SizeTable<int>& held = held_by(l);
    LinearColumn line{.cost = stage_.gpu_cost,
                      .lower = static_cast<double>(node.layout_least[l]),
                      .upper = static_cast<double>(node.layout_most[l])};
    for (std::size_t s = 0; s < size_count_; ++s) {
      if (held[s] > 0) {
        line.entries.push_back({static_cast<int>(s), -static_cast<double>(held[s])});
      }
    }
    line.entries.push_back({static_cast<int>(size_count_), 1});
    lines.push_back(std::move(line));
  }
  round.program.add_columns(lines);
}

/// The columns that the limits allow; false where a tenant has none. Who has none yet gets the
/// cheapest one by compute slices.
Result<bool> FleetMaster::add_tenants(Round& round, WorkBudget& budget) {
  CoverPrices begin;
  for (std::size_t s = 0; s < size_count_; ++s) {
    const double slices = problem_.lattice->sizes()[s].slices.value();
    begin.instance[s] = stage_.instance_cost[s] + round.scale * slices * kPriceOfSlice;
  }
  std::vector<LinearColumn> lines;
  for (std::size_t t = 0; t < problem_.tenants.size(); ++t) {
    const auto fits = [&](const Column& c) { return round.limits[t].holds(c.counts); };
    if (!std::ranges::any_of(columns_[t], fits)) {
      begin.shortfall = stage_.shortfall_price(problem_.tenants[t]);
      const CheapestCover found =
          cheapest_cover(problem_.tenants[t], begin, round.limits[t], budget);
      if (!found.cover.has_value() && std::isfinite(found.bound)) {
        return Error{ErrorCode::kTimedOut, "no cover was found within the limits of a node"};
      }
      if (!found.cover.has_value()) {
        return false;
      }
      add(t, found.cover->counts);
    }
    for (std::size_t c = 0; c < columns_[t].size(); ++c) {
      if (fits(columns_[t][c])) {
        round.columns.emplace_back(t, c);
        lines.push_back(line_of(t, columns_[t][c]));
      }
    }
  }
  round.program.add_columns(lines);
  return true;
}

/// Takes the prices of the rows, adds what they would buy, and works out what they prove: whatever
/// the prices are, a plan costs at least what each tenant and each layout would at these prices.
void FleetMaster::price(const FleetNode& node, Round& round, WorkBudget& budget) {
  const double grid = kPriceGrid * round.scale;
  CoverPrices prices;
  for (std::size_t s = 0; s < size_count_; ++s) {
    round.prices[s] = rounded(-round.solution.prices[s], grid);
    prices.instance[s] = stage_.instance_cost[s] + round.prices[s];
  }
  const double gpu_price = rounded(-round.solution.prices[size_count_], grid);
  double bound = -gpu_price * stage_.gpus_max;
  double summed = gpu_price * stage_.gpus_max;
  for (std::size_t l = 0; l < layouts_.size(); ++l) {
    const SizeTable<int>& held = held_by(l);
    double reduced = stage_.gpu_cost + gpu_price;
    for (std::size_t s = 0; s < size_count_; ++s) {
      reduced -= round.prices[s] * held[s];
    }
    const double part = std::min(reduced * node.layout_least[l], reduced * node.layout_most[l]);
    bound += part;
    summed += std::abs(part);
  }
  std::vector<LinearColumn> lines;
  round.added = 0;
  for (std::size_t t = 0; t < problem_.tenants.size(); ++t) {
    prices.shortfall = stage_.shortfall_price(problem_.tenants[t]);
    const CheapestCover found =
        cheapest_cover(problem_.tenants[t], prices, round.limits[t], budget);
    bound += found.bound;
    summed += std::abs(found.bound);
    const double row_price = round.solution.prices[size_count_ + 1 + t];
    if (found.cover.has_value() && found.cover->cost < row_price - kImprovement * round.scale &&
        add(t, found.cover->counts)) {
      round.columns.emplace_back(t, columns_[t].size() - 1);
      lines.push_back(line_of(t, columns_[t].back()));
      ++round.added;
    }
  }
  round.program.add_columns(lines);
  round.bound = std::max(round.bound, bound - kErrorPart * summed);
}

NodeSolution FleetMaster::read(const Round& round) const {
  const std::size_t tenant_count = problem_.tenants.size();
  NodeSolution read;
  read.bound = round.bound;
  read.prices = round.prices;
  const std::vector<double>& values = round.solution.values;
  const std::size_t first = size_count_ + 1;
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  read.layouts.assign(begin, begin + static_cast<std::ptrdiff_t>(layouts_.size()));
  read.instances.resize(tenant_count);
  read.nearest.resize(tenant_count);
  read.weight.assign(tenant_count, -1);
  for (std::size_t c = 0; c < round.columns.size(); ++c) {
    const auto [t, index] = round.columns[c];
    const std::size_t line = first + layouts_.size() + c;
    // The last round's columns came after the last solution.
    const double weight = line < values.size() ? values[line] : 0;
    const SizeTable<int>& counts = columns_[t][index].counts;
    for (std::size_t s = 0; s < size_count_; ++s) {
      read.instances[t][s] += weight * counts[s];
    }
    if (weight > read.weight[t]) {
      read.weight[t] = weight;
      read.nearest[t] = counts;
    }
  }
  for (std::size_t t = 0; t < tenant_count; ++t) {
    take_if_whole(read, t);
  }
  return read;
}

/// Solve, price, add, until nothing is worth adding or the bound reaches `cost_max`.
Status FleetMaster::generate(const FleetNode& node,
                             double cost_max,
                             Round& round,
                             WorkBudget& budget) {
  for (int pass = 0; pass < kRoundsMax; ++pass) {
    budget.spend(round.program.row_count() + round.program.column_count());
    SEPTULE_TRY(round.solution, round.program.solve());
    if (round.solution.outcome != LinearOutcome::kOptimal) {
      return Error{ErrorCode::kFailed, "the relaxation of a fleet plan has no optimum"};
    }
    price(node, round, budget);
    if (round.added == 0 || round.bound >= cost_max || budget.is_exhausted()) {
      break;
    }
  }
  return {};
}

Result<NodeSolution> FleetMaster::solve(const FleetNode& node,
                                        double cost_max,
                                        WorkBudget& budget) {
  double factor = kMissing;
  for (int raise = 0;; ++raise, factor *= kMissing) {
    Round round;
    round.scale = scale();
    round.missing_price = factor * round.scale;
    round.limits.assign(problem_.tenants.size(), {});
    for (const FleetNode::TenantLimits& own : node.tenants) {
      round.limits[own.tenant] = own.limits;
    }
    add_rows_and_layouts(node, round);
    SEPTULE_TRY(const bool is_coverable, add_tenants(round, budget));
    if (!is_coverable) {
      return closed_at(kInfinite);
    }
    SEPTULE_TRY_STATUS(generate(node, cost_max, round, budget));
    if (round.bound >= cost_max) {
      return closed_at(round.bound);
    }
    double missing = 0;
    for (std::size_t row = 0; row <= size_count_; ++row) {
      missing += round.solution.values[row];
    }
    if (missing < kMissingNone || raise == kRaisesMax || budget.is_exhausted()) {
      return read(round);
    }
  }
}

}  // namespace septule::serve
