#include "interop/slurm_gres.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/partition.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

// /dev/nvidia-caps: config is 1, monitor 2; then 9 minors per GPU instance, 15 of these per GPU.
constexpr int kFirstMinor = 3;
constexpr int kMinorsPerInstance = 9;
constexpr int kInstancesPerGpu = 15;
constexpr int kComputeIdMax = 7;

/// Types and how many of each, by name.
using Counts = std::vector<std::pair<std::string, int>>;

void count(Counts& counts, const std::string& type) {
  const auto found = std::ranges::find(counts, type, &std::pair<std::string, int>::first);
  if (found == counts.end()) {
    counts.emplace_back(type, 1);
  } else {
    ++found->second;
  }
}

Status check_node_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.[],";
  if (name.find_first_not_of(kAllowed) != std::string_view::npos || name.size() > kNameBytesMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the node name {} is none that Slurm takes; expected letters, digits, "
                             "\"-\", \"_\" and \".\"",
                             quoted_for_message(name))};
  }
  return {};
}

std::string node_prefix(std::string_view name) {
  return name.empty() ? std::string() : fmt::format("NodeName={} ", name);
}

/// The type of a GPU with MIG off: its key as Slurm users write types.
std::string whole_gpu_type(const gpu::Geometry& geometry) {
  return lower_case(geometry.key());
}

std::string gres_list(std::string_view name, const Counts& counts) {
  std::string text;
  for (const auto& [type, number] : counts) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ",", name, type, number);
  }
  return text;
}

void add_slurm_conf(SlurmGres& gres,
                    std::string_view node_name,
                    std::string_view types,
                    std::string_view list) {
  gres.text += "# slurm.conf:\n";
  gres.text += fmt::format("#   GresTypes={}\n", types);
  if (!list.empty()) {
    gres.text +=
        fmt::format("#   NodeName={} ... Gres={}\n", node_name.empty() ? "NAME" : node_name, list);
  }
}

Result<std::string> inventory_line(const gpu::ObservedGpu& gpu,
                                   const gpu::ObservedInstance& instance,
                                   const gpu::ObservedComputeInstance& compute,
                                   const std::string& type) {
  if (!instance.id || !compute.id) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("GPU {}: {} has no known id, so its device files cannot be named; give "
                    "the output of nvidia-smi mig -lgi and -lci",
                    gpu.index.value(),
                    type)};
  }
  if (instance.id->value() >= kInstancesPerGpu || compute.id->value() > kComputeIdMax) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("GPU {}: {} has ids {}/{}; device files exist for GPU instances 0 to {} "
                    "and compute instances 0 to {}",
                    gpu.index.value(),
                    type,
                    instance.id->value(),
                    compute.id->value(),
                    kInstancesPerGpu - 1,
                    kComputeIdMax)};
  }
  const int minor = gpu.index.value();
  return fmt::format(
      "Name=gpu Type={} MultipleFiles=/dev/nvidia{},/dev/nvidia-caps/nvidia-cap{},"
      "/dev/nvidia-caps/nvidia-cap{}\n",
      type,
      minor,
      capability_minor(minor, *instance.id),
      capability_minor(minor, *instance.id, *compute.id));
}

}  // namespace

int capability_minor(int gpu_minor, GpuInstanceId instance) {
  return kFirstMinor + kMinorsPerInstance * (kInstancesPerGpu * gpu_minor + instance.value());
}

int capability_minor(int gpu_minor, GpuInstanceId instance, ComputeInstanceId compute) {
  return capability_minor(gpu_minor, instance) + 1 + compute.value();
}

Result<SlurmGres> slurm_gres_of_inventory(const gpu::Inventory& inventory) {
  SEPTULE_TRY_STATUS(check_node_name(inventory.node));
  const std::string prefix = node_prefix(inventory.node);
  SlurmGres gres;
  gres.text = "# gres.conf, written by septule from a listing of the node\n";
  Counts counts;
  bool has_instances = false;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    if (!gpu.is_mig_enabled) {
      const std::string type = whole_gpu_type(*gpu.geometry);
      gres.text +=
          fmt::format("{}Name=gpu Type={} File=/dev/nvidia{}\n", prefix, type, gpu.index.value());
      count(counts, type);
      continue;
    }
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      if (!instance.compute_instances) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("GPU {}: the compute instances of {} are not listed; give the "
                                 "output of nvidia-smi mig -lci as well",
                                 gpu.index.value(),
                                 gpu::placed_text(*gpu.geometry, instance.placed))};
      }
      for (const gpu::ObservedComputeInstance& compute : *instance.compute_instances) {
        const std::string type =
            gpu::compute_instance_name(*gpu.geometry, instance.placed.profile, compute.instance);
        SEPTULE_TRY(const std::string line, inventory_line(gpu, instance, compute, type));
        gres.text += prefix + line;
        count(counts, type);
        has_instances = true;
      }
    }
  }
  add_slurm_conf(gres, inventory.node, "gpu", gres_list("gpu", counts));
  if (has_instances) {
    gres.notes.emplace_back(
        "device files are named for minors equal to the GPU indices; compare with "
        "/proc/driver/nvidia-caps/mig-minors");
    gres.notes.emplace_back(
        "without AutoDetect=nvml Slurm sets CUDA_VISIBLE_DEVICES to a plain index, not to a MIG "
        "UUID");
  }
  return gres;
}

Result<SlurmGres> slurm_gres_of_goal(std::string_view node_name,
                                     std::span<const gpu::DesiredGpu> desired,
                                     std::span<const NodeGpu> node) {
  SEPTULE_TRY_STATUS(check_node_name(node_name));
  Counts devices;
  Counts whole;
  for (const gpu::DesiredGpu& gpu : desired) {
    const auto found = std::ranges::find(node, gpu.index, &NodeGpu::index);
    SEPTULE_CHECK(found != node.end(), "every desired GPU is on the node");
    const gpu::Geometry& geometry = *found->geometry;
    if (!gpu.is_mig_enabled) {
      count(whole, whole_gpu_type(geometry));
      continue;
    }
    for (const gpu::GpuInstance& instance : gpu.partition.instances) {
      for (const gpu::ComputeInstance& compute : instance.compute_instances) {
        count(devices, gpu::compute_instance_name(geometry, instance.placed.profile, compute));
      }
    }
  }
  SlurmGres gres;
  const std::string prefix = node_prefix(node_name);
  gres.text =
      "# gres.conf, written by septule from a plan. Ids, and with them device files, exist\n"
      "# only after the instances do. Keep one of the two forms.\n"
      "#\n# Form 1: Slurm built with NVML finds the instances itself.\n";
  gres.text += fmt::format("{}AutoDetect=nvml\n", prefix);
  Counts all = devices;
  all.insert(all.end(), whole.begin(), whole.end());
  add_slurm_conf(gres, node_name, "gpu", gres_list("gpu", all));
  gres.text += "#\n# Form 2: counts only; a prolog has to set CUDA_VISIBLE_DEVICES.\n";
  for (const auto& [type, number] : devices) {
    gres.text +=
        fmt::format("#{}Name=mig Type={} Count={} Flags=CountOnly\n", prefix, type, number);
  }
  add_slurm_conf(gres, node_name, "gpu,mig", gres_list("mig", devices));
  gres.notes.emplace_back(
      "instance ids are known only after the instances exist: for exact lines export the inventory "
      "read afterwards");
  return gres;
}

}  // namespace septule::interop
