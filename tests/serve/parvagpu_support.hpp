#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "serve/fleet_problem.hpp"
#include "serve/tenant.hpp"

namespace septule::serve::test {

/// Rows of a comma-separated file without quotes, the header left out.
inline std::vector<std::vector<std::string>> read_rows(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string>& row = rows.emplace_back();
    std::string field;
    for (const char letter : line) {
      if (letter == ',') {
        row.push_back(std::move(field));
        field.clear();
      } else if (letter != '\r') {
        field.push_back(letter);
      }
    }
    row.push_back(std::move(field));
  }
  rows.erase(rows.begin());
  return rows;
}

inline Duration milliseconds_of(const std::string& text) {
  return Duration::nanoseconds(static_cast<std::int64_t>(std::stod(text) * 1e6));
}

/// ParvaGPU's measurements (parvagpu_a100_80g_mig_mps.csv) by model.
inline std::map<std::string, ModelProfile> read_parvagpu(const std::filesystem::path& path) {
  std::map<std::string, ModelProfile> profiles;
  for (const std::vector<std::string>& row : read_rows(path)) {
    ModelProfile& profile = profiles[row[0]];
    profile.model = row[0];
    profile.rows.push_back({.slices = ComputeSlices(std::stoi(row[1])),
                            .batch = std::stoi(row[2]),
                            .processes = std::stoi(row[3]),
                            .throughput_rps = std::stod(row[5]),
                            .latency = milliseconds_of(row[6]),
                            .is_suspect = row[7] == "1"});
  }
  return profiles;
}

/// The tenants of one of ParvaGPU's six SLO sets (parvagpu_slo_sets.csv).
inline std::vector<Tenant> read_slo_set(const std::filesystem::path& path,
                                        const std::map<std::string, ModelProfile>& profiles,
                                        int set) {
  std::vector<Tenant> tenants;
  for (const std::vector<std::string>& row : read_rows(path)) {
    if (std::stoi(row[0]) == set) {
      Tenant& tenant = tenants.emplace_back();
      tenant.name = row[1];
      tenant.profile = profiles.at(row[1]);
      tenant.rate.values = {std::stod(row[2])};
      tenant.slo = milliseconds_of(row[3]);
    }
  }
  return tenants;
}

enum class Suspects { kDropped, kKept };

/// Admission by serving.md section 5: latency < 0.45 SLO, best throughput of each size.
inline FleetProblem admit_for_fleet(const LayoutLattice& lattice,
                                    const std::vector<Tenant>& tenants,
                                    Suspects suspects,
                                    int processes_max) {
  FleetProblem problem;
  problem.lattice = &lattice;
  for (const Tenant& tenant : tenants) {
    FleetTenant& own = problem.tenants.emplace_back();
    own.name = tenant.name;
    own.rate_rps = tenant.rate.values.front();
    for (const ProfileRow& row : tenant.profile.rows) {
      const bool is_admissible = row.latency.to_seconds() < 0.45 * tenant.slo.to_seconds() &&
                                 row.processes <= processes_max &&
                                 (suspects == Suspects::kKept || !row.is_suspect);
      const auto size = lattice.size_of(row.slices);
      if (is_admissible && size.has_value()) {
        double& best = own.throughput[static_cast<std::size_t>(*size)];
        best = std::max(best, row.throughput_rps);
      }
    }
  }
  return problem;
}

}  // namespace septule::serve::test
