#pragma once

#include <span>
#include <vector>

#include "serve/admission.hpp"
#include "serve/layout_lattice.hpp"

namespace septule::serve {

/// Which tenants each GPU has, by GPU, ascending: how methods that know only one GPU are used on
/// several, the same way for all of them.
///
/// Demand of a tenant: its expected rate (mean of Tenant::rate) over its throughput on the whole
/// GPU, plus its retraining work over the period (the whole series where it happens once). Greatest
/// demand first, to the GPU with the least demand so far (LPT); ties to the lower tenant and the
/// lower GPU. Nobody is split over two GPUs. Cost: O(tenants x GPUs).
std::vector<std::vector<int>> assign_tenants_to_gpus(const LayoutLattice& lattice,
                                                     std::span<const AdmittedTenant> tenants,
                                                     int gpu_count);
/// The demand above, in GPUs. Throughput on the largest size that has any; 1 where there is none.
double gpu_demand(const LayoutLattice& lattice, const AdmittedTenant& tenant);

}  // namespace septule::serve
