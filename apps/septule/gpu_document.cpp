#include "septule/gpu_document.hpp"

#include <fmt/format.h>

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json engines_document(const gpu::EngineCounts& engines) {
  Json document;
  for (int i = 0; i < gpu::kEngineCount; ++i) {
    document[std::string(gpu::engine_name(static_cast<gpu::Engine>(i)))] =
        or_null(engines[static_cast<std::size_t>(i)]);
  }
  return document;
}

Json counts_document(const gpu::Geometry& geometry, gpu::ProfileSet set) {
  const auto counts = gpu::count_layouts(geometry, set);
  Json document;
  document["maximal"] = counts ? Json(counts->maximal) : Json(nullptr);
  document["legal"] = counts ? Json(counts->legal) : Json(nullptr);
  document["maximal_multisets"] = counts ? Json(counts->maximal_multisets) : Json(nullptr);
  document["legal_multisets"] = counts ? Json(counts->legal_multisets) : Json(nullptr);
  document["evidence"] =
      counts ? Json(gpu::evidence_name(gpu::layouts_evidence(geometry, set))) : Json(nullptr);
  return document;
}

Json profile_document(const gpu::GpuInstanceProfile& profile) {
  Json placements = Json::array();
  for (const gpu::Placement& place : profile.placements) {
    placements.push_back({{"start", place.start.value()}, {"size", place.size.value()}});
  }
  Json other_memory = Json::array();
  for (const Bytes memory : profile.memory_other_drivers) {
    other_memory.push_back(memory.whole_mebibytes());
  }
  return {{"name", profile.name},
          {"aliases", profile.aliases},
          {"variant", gpu::variant_name(profile.variant)},
          {"nvml_name", profile.nvml_name},
          {"nvml_id", profile.nvml_id.value()},
          {"smi_id", profile.smi_id.value()},
          {"compute_slices", profile.slices.value()},
          {"memory_slices", profile.size().value()},
          {"memory_mib", profile.memory ? Json(profile.memory->whole_mebibytes()) : Json(nullptr)},
          {"memory_mib_other_drivers", std::move(other_memory)},
          {"sm", or_null(profile.sm_count)},
          {"copy_engines", or_null(profile.copy_engine_count)},
          {"engines", engines_document(profile.engines)},
          {"instances_max", profile.instances_max},
          {"peer_to_peer", profile.has_peer_to_peer},
          {"placements", std::move(placements)},
          {"evidence", gpu::evidence_name(profile.evidence)},
          {"unverified", profile.unverified},
          {"note", text_or_null(profile.note)},
          {"sources", profile.sources}};
}

Json compute_document(const gpu::Geometry::ComputeProfiles& table) {
  Json by_slices = Json::object();
  for (const auto& [slices, rows] : table.by_gpu_instance_slices) {
    Json list = Json::array();
    for (const gpu::ComputeInstanceProfile& row : rows) {
      Json placements = Json::array();
      for (const gpu::ComputePlacement& place : row.placements) {
        placements.push_back({{"start", place.start.value()}, {"size", place.size.value()}});
      }
      list.push_back({{"compute_slices", row.slices.value()},
                      {"nvml_id", row.nvml_id.value()},
                      {"smi_id", row.smi_id.value()},
                      {"sm", or_null(row.sm_count)},
                      {"instances_max", row.instances_max},
                      {"placements", std::move(placements)}});
    }
    by_slices[fmt::format("{}g", slices.value())] = std::move(list);
  }
  return {{"evidence", gpu::evidence_name(table.evidence)},
          {"note", text_or_null(table.note)},
          {"by_gpu_instance", std::move(by_slices)}};
}

}  // namespace

Json gpu_summary(const gpu::Geometry& geometry) {
  const gpu::GpuFacts& facts = geometry.facts();
  Json document{{"key", facts.key},
                {"boards", facts.board_names},
                {"pci_ids", facts.pci_ids},
                {"pci_note", text_or_null(facts.pci_note)},
                {"architecture", facts.architecture},
                {"chip", facts.chip},
                {"compute_capability", facts.compute_capability},
                {"memory_gb", or_null(facts.memory_gb)},
                {"sm_total", or_null(facts.sm_total)},
                {"sm_with_mig", or_null(facts.sm_with_mig)}};
  document["compute_slices"] =
      facts.compute_slices ? Json(facts.compute_slices->value()) : Json(nullptr);
  document["memory_slices"] =
      facts.memory_slices ? Json(facts.memory_slices->value()) : Json(nullptr);
  document["instances_max"] = or_null(facts.instances_max);
  document["min_driver"] = text_or_null(facts.min_driver);
  document["evidence"] = gpu::evidence_name(facts.evidence);
  document["unverified"] = facts.unverified;
  document["counts"] = counts_document(geometry, gpu::ProfileSet::kPlain);
  return document;
}

Json gpu_document(const gpu::Geometry& geometry, gpu::ProfileSet set) {
  Json document{{"schema", "septule-gpu-show/1"}};
  document.update(gpu_summary(geometry));
  const gpu::GpuFacts& facts = geometry.facts();
  for (const auto other : {gpu::ProfileSet::kDouble, gpu::ProfileSet::kAll}) {
    document["counts"][std::string(gpu::profile_set_name(other))] =
        counts_document(geometry, other);
  }
  document["toggle_needs_reset"] = facts.toggle_needs_reset;
  document["mode_survives_reboot"] = facts.mode_survives_reboot;
  document["engine_budget"] = engines_document(geometry.engine_budget());
  document["notes"] = facts.notes;
  document["sources"] = facts.sources;
  document["profiles"] = Json::array();
  for (const gpu::GpuInstanceProfile& profile : geometry.profiles()) {
    document["profiles"].push_back(profile_document(profile));
  }
  document["compute_profiles"] = compute_document(geometry.compute_profile_table());
  document["profile_set"] = gpu::profile_set_name(set);
  document["maximal_layouts"] = Json::array();
  if (geometry.has_profile_table()) {
    for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, set)) {
      Json places = Json::array();
      for (const gpu::PlacedProfile& placed : layout) {
        places.push_back(gpu::placed_text(geometry, placed));
      }
      document["maximal_layouts"].push_back(std::move(places));
    }
  }
  return document;
}

Json placed_document(const gpu::Geometry& geometry, const gpu::PlacedProfile& placed) {
  return {{"profile", geometry.profile(placed.profile).name},
          {"start", placed.start.value()},
          {"size", geometry.profile(placed.profile).size().value()}};
}

Json instance_document(const gpu::Geometry& geometry, const gpu::GpuInstance& instance) {
  Json document = placed_document(geometry, instance.placed);
  document["compute_instances"] = Json::array();
  for (const gpu::ComputeInstance& compute : instance.compute_instances) {
    document["compute_instances"].push_back(
        {{"slices", compute.placement.size.value()}, {"start", compute.placement.start.value()}});
  }
  return document;
}

Json partition_document(const gpu::Geometry& geometry, const gpu::Partition& partition) {
  Json list = Json::array();
  for (const gpu::GpuInstance& instance : partition.instances) {
    list.push_back(instance_document(geometry, instance));
  }
  return list;
}

Json violation_document(const gpu::Geometry& geometry,
                        const gpu::Partition& partition,
                        const gpu::Violation& violation) {
  Json instances = Json::array();
  for (const std::size_t i : violation.instances) {
    instances.push_back(gpu::instance_text(geometry, partition.instances[i]));
  }
  return {{"rule", gpu::violation_name(violation.kind)},
          {"instances", std::move(instances)},
          {"message", violation.message}};
}

std::string gibibytes_text(const std::optional<Bytes>& memory, std::string_view mark) {
  return memory ? fmt::format("{:.2f}{}", memory->to_gibibytes(), mark) : "N/A";
}

}  // namespace septule::app
