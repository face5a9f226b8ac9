#include "serve/fleet_generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/portable_math.hpp"
#include "base/rng.hpp"

namespace septule::serve {

namespace {

constexpr std::uint64_t kModels = 24;
constexpr double kLogTen = 2.302585092994046;
/// Of 10^U(-1, 0.7): (10^0.7 - 0.1) / (1.7 ln 10).
constexpr double kLoadMean = 1.2548;

double between(Rng& rng, double low, double high) {
  return low + (high - low) * rng.uniform();
}

double power_of_ten(double exponent) {
  return portable_exp(exponent * kLogTen);
}

double rounded(double value, double per_unit) {
  return std::round(value * per_unit) / per_unit;
}

SizeTable<double> draw_model(const LayoutLattice& lattice, Rng& rng) {
  SizeTable<double> throughput{};
  const double whole = power_of_ten(between(rng, 1.8, 3.7));
  const double exponent = between(rng, 0.85, 1.1);
  const auto sizes = lattice.sizes();
  const double slices_all = sizes.back().slices.value();
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const double part = sizes[s].slices.value() / slices_all;
    const double kept = portable_exp(exponent * portable_log(part)) * between(rng, 0.9, 1.1);
    throughput[s] = std::max(0.001, rounded(whole * kept, 1000));
  }
  return throughput;
}

}  // namespace

FleetProblem generate_fleet(const LayoutLattice& lattice, const FleetRecipe& recipe) {
  const Rng root(recipe.seed);
  Rng model_rng = root.stream("models");
  Rng tenant_rng = root.stream("tenants");
  std::vector<SizeTable<double>> models;
  for (std::uint64_t m = 0; m < kModels; ++m) {
    models.push_back(draw_model(lattice, model_rng));
  }
  FleetProblem problem;
  problem.lattice = &lattice;
  for (int t = 0; t < recipe.tenant_count; ++t) {
    FleetTenant& tenant = problem.tenants.emplace_back();
    tenant.name = fmt::format("t{:03}", t);
    tenant.throughput = models[static_cast<std::size_t>(tenant_rng.below(kModels))];
    const double whole = tenant.throughput[lattice.sizes().size() - 1];
    std::size_t lacking = 0;
    bool is_lacking = tenant_rng.chance(1, 4);
    while (is_lacking && lacking + 1 < lattice.sizes().size()) {
      tenant.throughput[lacking++] = 0;
      is_lacking = tenant_rng.chance(2, 5);
    }
    const double load = power_of_ten(between(tenant_rng, -1, 0.7)) * recipe.load_mean / kLoadMean;
    tenant.rate_rps = std::max(0.01, rounded(load * whole, 100));
    tenant.weight = 1 + static_cast<double>(tenant_rng.below(3));
    tenant.accuracy = rounded(between(tenant_rng, 0.6, 0.95), 1000);
  }
  return problem;
}

}  // namespace septule::serve
