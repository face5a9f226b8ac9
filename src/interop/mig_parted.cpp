#include "interop/mig_parted.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/data_builder.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

constexpr std::size_t kEntriesMax = 256;
constexpr std::size_t kFilterMax = 256;

/// Reads the entries of one configuration; every problem is noted and reading goes on.
class ConfigReader {
 public:
  explicit ConfigReader(MigPartedConfig& config) : config_(config) {}

  void read(const DataNode& node) {
    if (node.kind != DataNode::Kind::kList) {
      add(node.line, "", fmt::format("is {}; expected a list of entries", described(node)));
      return;
    }
    if (node.items.size() > kEntriesMax) {
      add(node.line, "", fmt::format("has {} entries; at most {}", node.items.size(), kEntriesMax));
      return;
    }
    if (node.items.empty()) {
      add(node.line, "", "has no entries; expected at least one");
    }
    for (const DataNode& item : node.items) {
      const std::size_t problems_before = config_.problems.size();
      MigPartedEntry entry = read_entry(item);
      if (config_.problems.size() == problems_before) {
        config_.entries.push_back(std::move(entry));
      }
    }
  }

 private:
  void add(int line, std::string_view field, std::string reason) {
    config_.problems.push_back({line, std::string(field), std::move(reason)});
  }

  MigPartedEntry read_entry(const DataNode& node) {
    MigPartedEntry entry;
    entry.line = node.line;
    if (node.kind != DataNode::Kind::kMap) {
      add(node.line, "", fmt::format("is {}; expected an entry with fields", described(node)));
      return entry;
    }
    static const std::vector<std::string> known = {
        "devices", "device-filter", "mig-enabled", "mig-devices"};
    for (const DataMember& member : node.members) {
      if (member.name == "devices") {
        read_devices(member.value, entry);
      } else if (member.name == "device-filter") {
        read_filter(member.value, entry);
      } else if (member.name == "mig-enabled") {
        read_enabled(member.value, entry);
      } else if (member.name == "mig-devices") {
        read_mig_devices(member.value, entry);
      } else {
        add(member.line, "", unknown_name_text("field", member.name, known));
      }
    }
    if (node.find("devices") == nullptr) {
      add(node.line, "devices", "is missing; expected all or a list of GPU indices");
    }
    if (node.find("mig-enabled") == nullptr) {
      add(node.line, "mig-enabled", "is missing; expected true or false");
    } else if (!entry.is_mig_enabled && !entry.mig_devices.empty()) {
      add(entry.mig_devices_line, "mig-devices", "are asked for although mig-enabled is false");
    }
    return entry;
  }

  void read_devices(const DataNode& node, MigPartedEntry& entry) {
    if (node.kind == DataNode::Kind::kString && node.text == "all") {
      return;
    }
    if (node.kind != DataNode::Kind::kList) {
      add(node.line,
          "devices",
          fmt::format("is {}; expected all or a list of GPU indices", described(node)));
      return;
    }
    std::vector<GpuIndex>& devices = entry.devices.emplace();
    for (const DataNode& item : node.items) {
      if (item.kind != DataNode::Kind::kInteger || item.integer < 0 || item.integer >= kGpusMax) {
        add(item.line,
            "devices",
            fmt::format("{} is not a GPU index; expected a whole number from 0 to {}",
                        described(item),
                        kGpusMax - 1));
        continue;
      }
      const GpuIndex index(static_cast<int>(item.integer));
      if (std::ranges::find(devices, index) != devices.end()) {
        add(item.line, "devices", fmt::format("GPU {} is named twice", index.value()));
        continue;
      }
      devices.push_back(index);
    }
  }

  void read_filter(const DataNode& node, MigPartedEntry& entry) {
    if (node.kind == DataNode::Kind::kList && node.items.size() > kFilterMax) {
      add(node.line, "device-filter", fmt::format("has more than {} items", kFilterMax));
      return;
    }
    std::vector<std::string>& pci_ids = entry.filter_pci_ids.emplace();
    if (node.kind != DataNode::Kind::kList) {
      read_filter_item(node, pci_ids);
      return;
    }
    for (const DataNode& item : node.items) {
      read_filter_item(item, pci_ids);
    }
  }

  void read_filter_item(const DataNode& item, std::vector<std::string>& pci_ids) {
    // An unquoted 0x20B010DE is a text here; a plain number would be a lost "0x".
    const std::optional<std::string> id =
        item.kind == DataNode::Kind::kString ? gpu::parse_pci_device_id(item.text) : std::nullopt;
    if (!id) {
      add(item.line,
          "device-filter",
          fmt::format("{} is not a PCI id of NVIDIA; expected for example \"0x20B010DE\"",
                      described(item)));
      return;
    }
    pci_ids.push_back(*id);
  }

  void read_enabled(const DataNode& node, MigPartedEntry& entry) {
    if (node.kind != DataNode::Kind::kBoolean) {
      add(node.line, "mig-enabled", fmt::format("is {}; expected true or false", described(node)));
      return;
    }
    entry.is_mig_enabled = node.boolean;
  }

  void read_mig_devices(const DataNode& node, MigPartedEntry& entry) {
    entry.mig_devices_line = node.line;
    if (node.kind == DataNode::Kind::kNull) {
      return;
    }
    if (node.kind != DataNode::Kind::kMap) {
      add(node.line,
          "mig-devices",
          fmt::format("is {}; expected a map of profile names and counts", described(node)));
      return;
    }
    for (const DataMember& member : node.members) {
      const std::string field = fmt::format("mig-devices/{}", one_line(member.name, 60));
      const DataNode& count = member.value;
      if (count.kind != DataNode::Kind::kInteger || count.integer < 1 ||
          count.integer > gpu::kRequestedInstancesMax) {
        add(count.line,
            field,
            fmt::format("is {}; expected a count from 1 to {}",
                        described(count),
                        gpu::kRequestedInstancesMax));
        continue;
      }
      entry.mig_devices.push_back({member.name, static_cast<int>(count.integer), member.line});
    }
  }

  MigPartedConfig& config_;
};

/// Resolves the entries of one configuration.
class Resolver {
 public:
  Resolver(const MigPartedConfig& config, std::span<const NodeGpu> node)
      : config_(config), node_(node) {}

  ResolvedMigParted resolve() {
    resolved_.name = config_.name;
    resolved_.line = config_.line;
    resolved_.problems = config_.problems;
    for (const MigPartedEntry& entry : config_.entries) {
      add_entry(entry);
    }
    std::ranges::sort(
        resolved_.gpus, {}, [](const MigPartedGpu& gpu) { return gpu.desired.index; });
    std::ranges::stable_sort(resolved_.problems, {}, &MigPartedProblem::line);
    return std::move(resolved_);
  }

 private:
  void problem(int line, std::string_view field, std::string reason) {
    for (const MigPartedProblem& known : resolved_.problems) {
      if (known.line == line && known.field == field && known.reason == reason) {
        return;  // the same entry on another GPU of the same model
      }
    }
    resolved_.problems.push_back({line, std::string(field), std::move(reason)});
  }
  void note(std::string text) {
    if (std::ranges::find(resolved_.notes, text) == resolved_.notes.end()) {
      resolved_.notes.push_back(std::move(text));
    }
  }

  std::string node_text() const {
    if (node_.empty()) {
      return "the node has no GPUs";
    }
    std::vector<std::string> indices;
    for (const NodeGpu& gpu : node_) {
      indices.push_back(fmt::format("{}", gpu.index.value()));
    }
    return fmt::format("the node's GPUs are {}", joined_with_and(indices));
  }

  void add_entry(const MigPartedEntry& entry) {
    if (entry.devices) {
      for (const GpuIndex index : *entry.devices) {
        if (std::ranges::find(node_, index, &NodeGpu::index) == node_.end()) {
          problem(entry.line,
                  "devices",
                  fmt::format("GPU {} is not on the node; {}", index.value(), node_text()));
        }
      }
    }
    bool is_used = false;
    for (const NodeGpu& gpu : node_) {
      if (holds_for(entry, gpu)) {
        is_used = true;
        add_gpu(entry, gpu);
      }
    }
    if (!is_used && entry.filter_pci_ids) {
      note(fmt::format("{}: the entry in line {} holds for no GPU of the node (device-filter)",
                       one_line(config_.name),
                       entry.line));
    }
  }

  static bool holds_for(const MigPartedEntry& entry, const NodeGpu& gpu) {
    if (entry.devices && std::ranges::find(*entry.devices, gpu.index) == entry.devices->end()) {
      return false;
    }
    return !entry.filter_pci_ids ||
           std::ranges::any_of(*entry.filter_pci_ids, [&](const std::string& id) {
             const std::vector<std::string>& own = gpu.geometry->facts().pci_ids;
             return std::ranges::find(own, id) != own.end();
           });
  }

  void add_gpu(const MigPartedEntry& entry, const NodeGpu& gpu) {
    for (const MigPartedGpu& other : resolved_.gpus) {
      if (other.desired.index == gpu.index) {
        problem(
            entry.line,
            "devices",
            fmt::format(
                "GPU {} is named by the entry in line {} already", gpu.index.value(), other.line));
        return;
      }
    }
    MigPartedGpu wanted;
    wanted.geometry = gpu.geometry;
    wanted.line = entry.line;
    wanted.desired.index = gpu.index;
    wanted.desired.is_mig_enabled = entry.is_mig_enabled;
    if (!entry.mig_devices.empty() && !place(entry, wanted)) {
      return;
    }
    resolved_.gpus.push_back(std::move(wanted));
  }

  /// Fills request and partition; false after noting why that cannot be.
  bool place(const MigPartedEntry& entry, MigPartedGpu& wanted) {
    const gpu::Geometry& geometry = *wanted.geometry;
    if (!geometry.has_profile_table()) {
      problem(entry.mig_devices_line,
              "mig-devices",
              fmt::format("no profile table is published for {}", geometry.key()));
      return false;
    }
    std::string text;
    bool is_known = true;
    for (const MigPartedDevices& devices : entry.mig_devices) {
      const std::string field = fmt::format("mig-devices/{}", one_line(devices.name, 60));
      const auto parts = gpu::parse_profile_name(devices.name);
      if (!parts || !geometry.find_profile(parts->gpu_instance_name)) {
        problem(
            devices.line,
            field,
            unknown_name_text(
                fmt::format("{} profile", geometry.key()), devices.name, geometry.profile_names()));
        is_known = false;
        continue;
      }
      const std::string name =
          parts->compute ? fmt::format("{}c.{}", parts->compute->value(), parts->gpu_instance_name)
                         : parts->gpu_instance_name;
      const std::string item = fmt::format("{} x {}", devices.count, name);
      if (const auto alone = gpu::parse_layout_request(geometry, item); !alone) {
        problem(devices.line, field, one_line(alone.error().message, 400));
        is_known = false;
        continue;
      }
      text += (text.empty() ? "" : ", ") + item;
    }
    if (!is_known) {
      return false;
    }
    Result<gpu::LayoutRequest> request = gpu::parse_layout_request(geometry, text);
    if (!request) {
      problem(entry.mig_devices_line, "mig-devices", one_line(request.error().message, 400));
      return false;
    }
    Result<gpu::Partition> partition = gpu::place_layout_request(geometry, *request);
    if (!partition) {
      problem(entry.mig_devices_line,
              "mig-devices",
              fmt::format("{} on {}", one_line(partition.error().message, 400), geometry.key()));
      return false;
    }
    for (const std::string& said : request->notes) {
      note(said);
    }
    wanted.request = std::move(request).value();
    wanted.desired.partition = std::move(partition).value();
    return true;
  }

  const MigPartedConfig& config_;
  std::span<const NodeGpu> node_;
  ResolvedMigParted resolved_;
};

}  // namespace

std::string problem_text(std::string_view source_name, const MigPartedProblem& problem) {
  return input_error(source_name, problem.line, problem.field, problem.reason).message;
}

std::vector<std::string> MigPartedFile::names() const {
  std::vector<std::string> names;
  for (const MigPartedConfig& config : configs) {
    names.push_back(config.name);
  }
  return names;
}

std::vector<gpu::DesiredGpu> ResolvedMigParted::desired() const {
  std::vector<gpu::DesiredGpu> list;
  for (const MigPartedGpu& gpu : gpus) {
    list.push_back(gpu.desired);
  }
  return list;
}

Result<MigPartedFile> parse_mig_parted(const InputText& input) {
  SEPTULE_TRY(const DataNode root, read_yaml(input));
  const DataReader reader(input.source_name);
  if (root.find("kind") != nullptr && root.find("data") != nullptr) {
    return reader.error(root,
                        "",
                        "is a Kubernetes object; expected the mig-parted text that it holds under "
                        "\"data\" (version: v1, mig-configs: ...)");
  }
  SEPTULE_TRY_STATUS(reader.expect_map(root, "", {"version", "mig-configs"}));
  SEPTULE_TRY(const DataNode* version, reader.required(root, "", "version"));
  if (version->kind != DataNode::Kind::kString || version->text != "v1") {
    return reader.error(
        *version, "version", fmt::format("is {}; expected v1", described(*version)));
  }
  SEPTULE_TRY(const DataNode* configs, reader.required(root, "", "mig-configs"));
  if (configs->kind != DataNode::Kind::kMap || configs->members.empty()) {
    return reader.error(
        *configs,
        "mig-configs",
        fmt::format("is {}; expected a map of named configurations", described(*configs)));
  }
  MigPartedFile file;
  file.source_name = input.source_name;
  for (const DataMember& member : configs->members) {
    if (const std::string fault = name_fault(member.name); !fault.empty()) {
      return input_error(input.source_name, member.line, "mig-configs", "a name " + fault);
    }
    MigPartedConfig config;
    config.name = member.name;
    config.line = member.line;
    ConfigReader(config).read(member.value);
    file.configs.push_back(std::move(config));
  }
  return file;
}

Result<const MigPartedConfig*> find_config(const MigPartedFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.configs, name, &MigPartedConfig::name);
  if (found != file.configs.end()) {
    return &*found;
  }
  constexpr std::size_t kListedMax = 20;
  std::vector<std::string> names = file.names();
  const std::size_t count = names.size();
  if (count > kListedMax) {
    names = nearest_names(name, names, kListedMax);
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: no configuration is named {}; {}: {}",
                           one_line(file.source_name),
                           quoted_for_message(name),
                           count > kListedMax ? fmt::format("of {} the nearest are", count)
                                              : std::string("there are"),
                           joined_with_and(names))};
}

ResolvedMigParted resolve_mig_parted(const MigPartedConfig& config, std::span<const NodeGpu> node) {
  return Resolver(config, node).resolve();
}

}  // namespace septule::interop
