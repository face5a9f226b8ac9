// Writes mig-parted files (declared in mig_parted.hpp).
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "gpu/partition.hpp"
#include "interop/input_text.hpp"
#include "interop/mig_parted.hpp"

namespace septule::interop {

namespace {

const gpu::Geometry& geometry_of(std::span<const NodeGpu> node, GpuIndex index) {
  const auto found = std::ranges::find(node, index, &NodeGpu::index);
  SEPTULE_CHECK(found != node.end(), "every desired GPU is on the node");
  return *found->geometry;
}

/// A YAML scalar in double quotation marks.
std::string quoted_scalar(std::string_view text) {
  std::string out = "\"";
  for (const char c : one_line(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + "\"";
}

bool is_plain_name(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  const bool is_letter_first =
      !name.empty() && ((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z'));
  // Words that YAML 1.1 readers take for something else than a text.
  const std::string_view words[] = {"y",    "n",    "yes",   "no",   "on",   "off",   "true",
                                    "Y",    "N",    "Yes",   "No",   "On",   "Off",   "True",
                                    "NO",   "YES",  "ON",    "OFF",  "TRUE", "FALSE", "null",
                                    "Null", "NULL", "false", "False"};
  return is_letter_first && name.find_first_not_of(kPlain) == std::string_view::npos &&
         std::ranges::find(words, name) == std::end(words);
}

/// An entry without its `devices`, and the GPUs that share it.
struct Group {
  std::string body;
  std::vector<GpuIndex> gpus;
};

std::string body_of(const gpu::Geometry& geometry,
                    const gpu::DesiredGpu& gpu,
                    std::vector<std::string>& notes) {
  if (!gpu.is_mig_enabled) {
    return "      mig-enabled: false\n";
  }
  std::string body = "      mig-enabled: true\n";
  std::vector<std::pair<std::string, int>> counts;
  for (const gpu::GpuInstance& instance : gpu.partition.instances) {
    if (instance.compute_instances.empty()) {
      notes.push_back(
          fmt::format("GPU {}: {} has no compute instances, which mig-parted cannot say: "
                      "it is left out",
                      gpu.index.value(),
                      gpu::placed_text(geometry, instance.placed)));
    }
    for (const gpu::ComputeInstance& compute : instance.compute_instances) {
      const std::string name =
          gpu::compute_instance_name(geometry, instance.placed.profile, compute);
      const auto found = std::ranges::find(counts, name, &std::pair<std::string, int>::first);
      if (found == counts.end()) {
        counts.emplace_back(name, 1);
      } else {
        ++found->second;
      }
    }
  }
  std::ranges::sort(counts);
  body += counts.empty() ? "      mig-devices: {}\n" : "      mig-devices:\n";
  for (const auto& [name, count] : counts) {
    body += fmt::format("        {}: {}\n", quoted_scalar(name), count);
  }
  return body;
}

}  // namespace

MigPartedText write_mig_parted(std::string_view config_name,
                               std::span<const gpu::DesiredGpu> desired,
                               std::span<const NodeGpu> node) {
  MigPartedText written;
  std::vector<Group> groups;
  bool has_instances = false;
  for (const gpu::DesiredGpu& gpu : desired) {
    std::string body = body_of(geometry_of(node, gpu.index), gpu, written.notes);
    has_instances = has_instances || (gpu.is_mig_enabled && !gpu.partition.instances.empty());
    const auto found = std::ranges::find(groups, body, &Group::body);
    if (found == groups.end()) {
      groups.push_back({std::move(body), {gpu.index}});
    } else {
      found->gpus.push_back(gpu.index);
    }
  }
  if (has_instances) {
    written.notes.emplace_back(
        "mig-parted has no placements: it may place the instances elsewhere");
  }
  written.text = fmt::format(
      "version: v1\nmig-configs:\n  {}:{}\n",
      is_plain_name(config_name) ? std::string(config_name) : quoted_scalar(config_name),
      groups.empty() ? " []" : "");
  for (const Group& group : groups) {
    if (group.gpus.size() == node.size()) {
      written.text += "    - devices: all\n";
    } else {
      std::vector<int> indices;
      for (const GpuIndex index : group.gpus) {
        indices.push_back(index.value());
      }
      std::ranges::sort(indices);
      written.text += fmt::format("    - devices: [{}]\n", fmt::join(indices, ", "));
    }
    written.text += group.body;
  }
  return written;
}

}  // namespace septule::interop
