#include "interop/inventory_json.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/partition_checker.hpp"
#include "interop/data_builder.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSlicesMax = 64;

class InventoryReader {
 public:
  InventoryReader(const InputText& input, const gpu::Catalogue& catalogue)
      : reader_(input.source_name), catalogue_(catalogue) {}

  Result<gpu::Inventory> read(const DataNode& root) const {
    SEPTULE_TRY_STATUS(reader_.expect_map(root, "", {"schema", "node", "gpus"}));
    SEPTULE_TRY(const DataNode* schema, reader_.required(root, "", "schema"));
    if (schema->kind != DataNode::Kind::kString || schema->text != kInventorySchema) {
      return reader_.error(
          *schema,
          "/schema",
          fmt::format("is {}; expected \"{}\"", described(*schema), kInventorySchema));
    }
    gpu::Inventory inventory;
    if (const DataNode* node = root.find("node"); node != nullptr) {
      SEPTULE_TRY(inventory.node, reader_.name(*node, "/node"));
    }
    SEPTULE_TRY(const DataNode* gpus, reader_.required(root, "", "gpus"));
    SEPTULE_TRY_STATUS(reader_.expect_list(*gpus, "/gpus", kGpusMax));
    std::set<GpuIndex> seen;
    for (std::size_t i = 0; i < gpus->items.size(); ++i) {
      const std::string path = fmt::format("/gpus/{}", i);
      SEPTULE_TRY(gpu::ObservedGpu gpu, read_gpu(gpus->items[i], path));
      if (!seen.insert(gpu.index).second) {
        return reader_.error(
            gpus->items[i],
            path + "/index",
            fmt::format("GPU {} is listed twice; expected once", gpu.index.value()));
      }
      inventory.gpus.push_back(std::move(gpu));
    }
    std::ranges::sort(inventory.gpus, {}, &gpu::ObservedGpu::index);
    return inventory;
  }

 private:
  Result<gpu::ObservedGpu> read_gpu(const DataNode& node, const std::string& path) const {
    SEPTULE_TRY_STATUS(
        reader_.expect_map(node, path, {"index", "model", "uuid", "mig_enabled", "instances"}));
    gpu::ObservedGpu gpu;
    SEPTULE_TRY(const DataNode* index, reader_.required(node, path, "index"));
    SEPTULE_TRY(const int index_value, reader_.integer(*index, path + "/index", 0, kGpusMax - 1));
    gpu.index = GpuIndex(index_value);
    SEPTULE_TRY(const DataNode* model, reader_.required(node, path, "model"));
    SEPTULE_TRY(const std::string model_name, reader_.name(*model, path + "/model"));
    const Result<const gpu::Geometry*> found = catalogue_.find(model_name);
    if (!found) {
      return reader_.error(*model, path + "/model", found.error().message);
    }
    gpu.geometry = *found;
    if (const DataNode* uuid = node.find("uuid"); uuid != nullptr) {
      SEPTULE_TRY(gpu.uuid, reader_.name(*uuid, path + "/uuid"));
    }
    if (const DataNode* enabled = node.find("mig_enabled"); enabled != nullptr) {
      SEPTULE_TRY(gpu.is_mig_enabled, reader_.boolean(*enabled, path + "/mig_enabled"));
    }
    if (const DataNode* instances = node.find("instances"); instances != nullptr) {
      SEPTULE_TRY_STATUS(read_instances(*instances, path + "/instances", gpu));
    }
    return gpu;
  }

  Status read_instances(const DataNode& list,
                        const std::string& path,
                        gpu::ObservedGpu& gpu) const {
    SEPTULE_TRY_STATUS(reader_.expect_list(list, path, kInstancesMax));
    if (!list.items.empty() && !gpu.is_mig_enabled) {
      return reader_.error(list, path, "holds instances although mig_enabled is false");
    }
    if (!list.items.empty() && !gpu.geometry->has_profile_table()) {
      return reader_.error(list,
                           path,
                           fmt::format("holds instances, but no profile table is published for {}",
                                       gpu.geometry->key()));
    }
    std::set<GpuInstanceId> ids;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::string item_path = fmt::format("{}/{}", path, i);
      SEPTULE_TRY(gpu::ObservedInstance instance,
                  read_instance(list.items[i], item_path, *gpu.geometry));
      if (instance.id && !ids.insert(*instance.id).second) {
        return reader_.error(
            list.items[i],
            item_path + "/id",
            fmt::format("GPU instance id {} appears twice on this GPU", instance.id->value()));
      }
      gpu.instances.push_back(std::move(instance));
    }
    std::ranges::stable_sort(gpu.instances, {}, &gpu::ObservedInstance::placed);
    std::ranges::stable_sort(gpu.instances, {}, [](const gpu::ObservedInstance& instance) {
      return instance.placed.start;
    });
    const std::vector<gpu::Violation> violations =
        gpu::check_partition(*gpu.geometry, gpu.partition());
    if (!violations.empty()) {
      return reader_.error(list,
                           path,
                           fmt::format("is not a state GPU {} can be in: {}",
                                       gpu.index.value(),
                                       one_line(violations.front().message, 400)));
    }
    return {};
  }

  Result<gpu::ObservedInstance> read_instance(const DataNode& node,
                                              const std::string& path,
                                              const gpu::Geometry& geometry) const {
    SEPTULE_TRY_STATUS(reader_.expect_map(
        node, path, {"profile", "start", "id", "hold", "holder", "movable", "compute_instances"}));
    gpu::ObservedInstance instance;
    SEPTULE_TRY(const DataNode* profile, reader_.required(node, path, "profile"));
    SEPTULE_TRY(const std::string name, reader_.name(*profile, path + "/profile"));
    const std::optional<ProfileIndex> found = geometry.find_profile(name);
    if (!found) {
      return reader_.error(
          *profile,
          path + "/profile",
          unknown_name_text(
              fmt::format("{} profile", geometry.key()), name, geometry.profile_names()));
    }
    instance.placed.profile = *found;
    SEPTULE_TRY(const DataNode* start, reader_.required(node, path, "start"));
    SEPTULE_TRY(const int start_value, reader_.integer(*start, path + "/start", 0, kSlicesMax));
    instance.placed.start = MemorySlices(start_value);
    if (const DataNode* id = node.find("id"); id != nullptr) {
      SEPTULE_TRY(const int id_value, reader_.integer(*id, path + "/id", 0, kInstanceIdMax));
      instance.id = GpuInstanceId(id_value);
    }
    SEPTULE_TRY_STATUS(read_hold(node, path, instance.hold, instance.holder));
    if (const DataNode* movable = node.find("movable"); movable != nullptr) {
      SEPTULE_TRY(instance.is_movable, reader_.boolean(*movable, path + "/movable"));
    }
    const DataNode* computes = node.find("compute_instances");
    if (computes != nullptr) {
      const std::string list_path = path + "/compute_instances";
      SEPTULE_TRY_STATUS(reader_.expect_list(*computes, list_path, kInstancesMax));
      instance.compute_instances.emplace();
      std::set<ComputeInstanceId> ids;
      for (std::size_t i = 0; i < computes->items.size(); ++i) {
        const std::string item_path = fmt::format("{}/{}", list_path, i);
        SEPTULE_TRY(gpu::ObservedComputeInstance compute,
                    read_compute_instance(computes->items[i], item_path));
        if (compute.id && !ids.insert(*compute.id).second) {
          return reader_.error(computes->items[i],
                               item_path + "/id",
                               fmt::format("compute instance id {} appears twice in this GPU "
                                           "instance",
                                           compute.id->value()));
        }
        instance.compute_instances->push_back(std::move(compute));
      }
      std::ranges::stable_sort(
          *instance.compute_instances, {}, [](const gpu::ObservedComputeInstance& compute) {
            return compute.instance.placement;
          });
    }
    return instance;
  }

  Result<gpu::ObservedComputeInstance> read_compute_instance(const DataNode& node,
                                                             const std::string& path) const {
    SEPTULE_TRY_STATUS(reader_.expect_map(node, path, {"slices", "start", "id", "hold", "holder"}));
    gpu::ObservedComputeInstance compute;
    SEPTULE_TRY(const DataNode* slices, reader_.required(node, path, "slices"));
    SEPTULE_TRY(const int slices_value, reader_.integer(*slices, path + "/slices", 1, kSlicesMax));
    SEPTULE_TRY(const DataNode* start, reader_.required(node, path, "start"));
    SEPTULE_TRY(const int start_value, reader_.integer(*start, path + "/start", 0, kSlicesMax));
    compute.instance.placement = {ComputeSlices(start_value), ComputeSlices(slices_value)};
    if (const DataNode* id = node.find("id"); id != nullptr) {
      SEPTULE_TRY(const int id_value, reader_.integer(*id, path + "/id", 0, kInstanceIdMax));
      compute.id = ComputeInstanceId(id_value);
    }
    SEPTULE_TRY_STATUS(read_hold(node, path, compute.hold, compute.holder));
    return compute;
  }

  Status read_hold(const DataNode& node,
                   const std::string& path,
                   gpu::Hold& hold,
                   std::string& holder) const {
    if (const DataNode* text = node.find("hold"); text != nullptr) {
      if (text->text == "idle" && text->kind == DataNode::Kind::kString) {
        hold = gpu::Hold::kIdle;
      } else if (text->text == "busy" && text->kind == DataNode::Kind::kString) {
        hold = gpu::Hold::kBusy;
      } else if (text->text == "foreign" && text->kind == DataNode::Kind::kString) {
        hold = gpu::Hold::kForeign;
      } else {
        return reader_.error(
            *text,
            path + "/hold",
            fmt::format("is {}; expected \"idle\", \"busy\" or \"foreign\"", described(*text)));
      }
    }
    if (const DataNode* text = node.find("holder"); text != nullptr) {
      SEPTULE_TRY(holder, reader_.name(*text, path + "/holder"));
      // Taking it as idle would let a plan destroy what somebody says they hold.
      if (hold == gpu::Hold::kIdle) {
        return reader_.error(*text,
                             path + "/holder",
                             "names a holder, but \"hold\" is idle; expected \"hold\": \"busy\" or "
                             "\"foreign\" beside it");
      }
    }
    return {};
  }

  DataReader reader_;
  const gpu::Catalogue& catalogue_;
};

std::string_view hold_text(gpu::Hold hold) {
  switch (hold) {
    case gpu::Hold::kIdle:
      return "idle";
    case gpu::Hold::kBusy:
      return "busy";
    case gpu::Hold::kForeign:
      return "foreign";
  }
  return "idle";
}

Json written(const gpu::ObservedComputeInstance& compute) {
  Json json;
  json["slices"] = compute.instance.placement.size.value();
  json["start"] = compute.instance.placement.start.value();
  if (compute.id) {
    json["id"] = compute.id->value();
  }
  json["hold"] = hold_text(compute.hold);
  if (!compute.holder.empty()) {
    json["holder"] = compute.holder;
  }
  return json;
}

Json written(const gpu::Geometry& geometry, const gpu::ObservedInstance& instance) {
  Json json;
  json["profile"] = geometry.profile(instance.placed.profile).name;
  json["start"] = instance.placed.start.value();
  if (instance.id) {
    json["id"] = instance.id->value();
  }
  json["hold"] = hold_text(instance.hold);
  if (!instance.holder.empty()) {
    json["holder"] = instance.holder;
  }
  json["movable"] = instance.is_movable;
  if (instance.compute_instances) {
    Json list = Json::array();
    for (const gpu::ObservedComputeInstance& compute : *instance.compute_instances) {
      list.push_back(written(compute));
    }
    json["compute_instances"] = std::move(list);
  }
  return json;
}

}  // namespace

Result<gpu::Inventory> parse_inventory_json(const InputText& input,
                                            const gpu::Catalogue& catalogue) {
  SEPTULE_TRY(const DataNode root, read_json(input));
  return InventoryReader(input, catalogue).read(root);
}

std::string write_inventory_json(const gpu::Inventory& inventory) {
  Json root;
  root["schema"] = kInventorySchema;
  if (!inventory.node.empty()) {
    root["node"] = inventory.node;
  }
  Json gpus = Json::array();
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    Json json;
    json["index"] = gpu.index.value();
    json["model"] = gpu.geometry->key();
    if (!gpu.uuid.empty()) {
      json["uuid"] = gpu.uuid;
    }
    json["mig_enabled"] = gpu.is_mig_enabled;
    Json list = Json::array();
    for (const gpu::ObservedInstance& instance : gpu.instances) {
      list.push_back(written(*gpu.geometry, instance));
    }
    json["instances"] = std::move(list);
    gpus.push_back(std::move(json));
  }
  root["gpus"] = std::move(gpus);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace septule::interop
