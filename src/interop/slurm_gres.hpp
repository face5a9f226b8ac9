#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/inventory.hpp"
#include "interop/mig_parted.hpp"

namespace septule::interop {

/// Minor number of /dev/nvidia-caps/nvidia-capN of a GPU instance: 3 + 9 * (15 * gpu + instance).
/// `gpu_minor` is the N of /dev/nvidiaN. Source: mig-and-mps reference, A.8.
int capability_minor(int gpu_minor, GpuInstanceId instance);
/// The same of a compute instance: that of its GPU instance + 1 + its id.
int capability_minor(int gpu_minor, GpuInstanceId instance, ComputeInstanceId compute);

/// gres.conf lines of one node, with the matching slurm.conf lines as comments, and what the reader
/// should know.
struct SlurmGres {
  std::string text;
  std::vector<std::string> notes;
};

/// Lines of a node as it is: one `Name=gpu` line with its devices per compute instance whose ids
/// are known. Fails with kInvalidInput where an id is not known (give the output of -lci as well)
/// and for a node name that Slurm would not take. Device minors are taken to equal the GPU indices.
Result<SlurmGres> slurm_gres_of_inventory(const gpu::Inventory& inventory);

/// Lines of a node as it shall be. Instance ids exist only once the driver has made the instances,
/// so devices cannot be named: gives `AutoDetect=nvml` with the types to expect as comments, and
/// the count-only form (`Name=mig Type=1g.5gb Count=2 Flags=CountOnly`), which needs no NVML.
/// Fails with kInvalidInput for a node name that Slurm would not take. Every GPU of `desired` must
/// be in `node`.
Result<SlurmGres> slurm_gres_of_goal(std::string_view node_name,
                                     std::span<const gpu::DesiredGpu> desired,
                                     std::span<const NodeGpu> node);

}  // namespace septule::interop
