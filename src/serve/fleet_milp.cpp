#include "serve/fleet_milp.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace septule::serve {

namespace {

/// What a solver's tolerances may have added to a bound, relative.
constexpr double kBoundTolerance = 1e-9;
constexpr double kWholeTolerance = 1e-6;

/// Where the columns of the program are.
struct Columns {
  std::size_t layouts = 0;
  std::size_t sizes = 0;
  std::size_t per_tenant = 0;

  Columns(const FleetProblem& problem, const FleetMaster& master)
      : layouts(master.layouts().size()),
        sizes(problem.lattice->sizes().size()),
        per_tenant(sizes + (master.stage().unserved == FleetStage::Unserved::kPaid ? 1U : 0U)) {}
  std::size_t instances(std::size_t tenant, std::size_t size) const {
    return layouts + tenant * per_tenant + size;
  }
  std::size_t unserved(std::size_t tenant) const { return instances(tenant, sizes); }
};

double needed(const FleetTenant& tenant) {
  return tenant.rate_rps * (1 - kRateTolerance);
}

void add_columns(const FleetProblem& problem,
                 const FleetMaster& master,
                 port::MilpProblem& program) {
  const FleetStage& stage = master.stage();
  const Columns columns(problem, master);
  for (std::size_t l = 0; l < columns.layouts; ++l) {
    program.columns.push_back(
        {.cost = stage.gpu_cost, .upper = static_cast<double>(stage.gpus_max)});
  }
  for (const FleetTenant& tenant : problem.tenants) {
    for (std::size_t s = 0; s < columns.sizes; ++s) {
      const double throughput = tenant.throughput[s];
      const double most = throughput > 0 ? std::ceil(needed(tenant) / throughput) : 0;
      program.columns.push_back({.cost = stage.instance_cost[s], .upper = most});
    }
    if (const auto price = stage.shortfall_price(tenant)) {
      program.columns.push_back({.cost = *price, .upper = tenant.rate_rps, .is_integer = false});
    }
  }
}

/// The layouts hold what tenants get; no more GPUs than there are.
void add_capacity_rows(const FleetProblem& problem,
                       const FleetMaster& master,
                       port::MilpProblem& program) {
  const Columns columns(problem, master);
  for (std::size_t s = 0; s < columns.sizes; ++s) {
    port::MilpRow row{.upper = 0};
    for (std::size_t l = 0; l < columns.layouts; ++l) {
      if (const int held = master.held_by(l)[s]; held > 0) {
        row.entries.push_back({static_cast<int>(l), -static_cast<double>(held)});
      }
    }
    for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
      if (problem.tenants[t].throughput[s] > 0) {
        row.entries.push_back({static_cast<int>(columns.instances(t, s)), 1});
      }
    }
    program.rows.push_back(std::move(row));
  }
  port::MilpRow count{.upper = static_cast<double>(master.stage().gpus_max)};
  for (std::size_t l = 0; l < columns.layouts; ++l) {
    count.entries.push_back({static_cast<int>(l), 1});
  }
  program.rows.push_back(std::move(count));
}

FleetAssignment read(const FleetProblem& problem,
                     const FleetMaster& master,
                     const std::vector<double>& values) {
  const Columns columns(problem, master);
  const auto whole = [&](std::size_t column) {
    return static_cast<int>(std::lround(values[column]));
  };
  FleetAssignment assignment;
  for (std::size_t l = 0; l < columns.layouts; ++l) {
    assignment.layouts.push_back(whole(l));
  }
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    SizeTable<int>& counts = assignment.instances.emplace_back();
    for (std::size_t s = 0; s < columns.sizes; ++s) {
      counts[s] = whole(columns.instances(t, s));
    }
  }
  assignment.cost = cost_of(problem, master.stage(), assignment);
  return assignment;
}

}  // namespace

port::MilpProblem compact_program(const FleetProblem& problem,
                                  const FleetMaster& master,
                                  double bound) {
  port::MilpProblem program;
  const Columns columns(problem, master);
  add_columns(problem, master, program);
  add_capacity_rows(problem, master, program);
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    port::MilpRow row{.lower = needed(problem.tenants[t])};
    for (std::size_t s = 0; s < columns.sizes; ++s) {
      if (const double throughput = problem.tenants[t].throughput[s]; throughput > 0) {
        row.entries.push_back({static_cast<int>(columns.instances(t, s)), throughput});
      }
    }
    if (columns.per_tenant > columns.sizes) {
      row.entries.push_back({static_cast<int>(columns.unserved(t)), 1});
    }
    program.rows.push_back(std::move(row));
  }
  port::MilpRow cost{.lower = bound};
  for (std::size_t c = 0; c < program.columns.size(); ++c) {
    if (program.columns[c].cost != 0) {
      cost.entries.push_back({static_cast<int>(c), program.columns[c].cost});
    }
  }
  if (bound > 0) {
    program.rows.push_back(std::move(cost));
  }
  return program;
}

std::vector<double> compact_values(const FleetProblem& problem,
                                   const FleetMaster& master,
                                   const FleetAssignment& assignment) {
  std::vector<double> values(assignment.layouts.begin(), assignment.layouts.end());
  const Columns columns(problem, master);
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    for (std::size_t s = 0; s < columns.sizes; ++s) {
      values.push_back(assignment.instances[t][s]);
    }
    if (columns.per_tenant > columns.sizes) {
      const double left =
          needed(problem.tenants[t]) - capacity_of(problem.tenants[t], assignment.instances[t]);
      values.push_back(std::max(0.0, left));
    }
  }
  return values;
}

Result<FleetSearchResult> improve_by_milp(const FleetProblem& problem,
                                          const FleetMaster& master,
                                          FleetSearchResult known,
                                          port::MilpSolver& solver,
                                          const port::MilpLimits& limits) {
  const port::MilpProblem program = compact_program(problem, master, known.bound);
  const std::vector<double> seed = compact_values(problem, master, known.best);
  SEPTULE_TRY(const port::MilpSolution solved, solver.solve(program, limits, seed));
  if (!solved.values.empty()) {
    FleetAssignment found = read(problem, master, solved.values);
    if (found.cost < known.best.cost && is_possible(problem, master, found)) {
      known.best = std::move(found);
    }
  }
  if (solved.bound.has_value()) {
    double bound = *solved.bound - kBoundTolerance * std::abs(*solved.bound);
    if (master.stage().values == FleetStage::Values::kWhole) {
      bound = std::ceil(bound - kWholeTolerance);
    }
    known.bound = std::min(known.best.cost, std::max(known.bound, bound));
  }
  return known;
}

}  // namespace septule::serve
