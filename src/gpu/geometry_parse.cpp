// Reads one catalogue file (docs/formats.md, "GPU catalogue") into a Geometry.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"

namespace septule::gpu {

namespace {

using Json = nlohmann::json;

constexpr int kFigureMax = 10'000'000;
constexpr int kRowsMax = 64;

/// Walks a JSON document and keeps the first problem: what is missing or wrong, and where.
class FieldReader {
 public:
  explicit FieldReader(std::string_view source_name) : source_name_(source_name) {}

  void fail(std::string_view where, std::string_view what) {
    if (!error_) {
      error_ =
          Error{ErrorCode::kInvalidInput, fmt::format("{}: {}: {}", source_name_, where, what)};
    }
  }
  bool has_failed() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }

  std::string text(const Json& object, const char* field, std::string_view where) {
    const Json* value = find(object, field);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string()) {
      fail(fmt::format("{}.{}", where, field), "is not a text");
      return {};
    }
    return value->get<std::string>();
  }

  std::vector<std::string> texts(const Json& object, const char* field, std::string_view where) {
    std::vector<std::string> out;
    for (const Json* item : rows(object, field, where)) {
      if (!item->is_string()) {
        fail(fmt::format("{}.{}", where, field), "holds something that is not a text");
        return {};
      }
      out.push_back(item->get<std::string>());
    }
    return out;
  }

  /// Absent or null gives nothing.
  std::optional<int> figure(const Json& object, const char* field, std::string_view where) {
    const Json* value = find(object, field);
    if (value == nullptr || value->is_null()) {
      return std::nullopt;
    }
    if (!value->is_number_integer() || *value < 0 || *value > kFigureMax) {
      fail(fmt::format("{}.{}", where, field),
           fmt::format("is not a whole number from 0 to {} (null = not published)", kFigureMax));
      return std::nullopt;
    }
    return value->get<int>();
  }

  int required(const Json& object, const char* field, std::string_view where) {
    const std::optional<int> value = figure(object, field, where);
    if (!value) {
      fail(fmt::format("{}.{}", where, field), "is missing");
    }
    return value.value_or(0);
  }

  bool flag(const Json& object, const char* field, std::string_view where) {
    const Json* value = find(object, field);
    if (value == nullptr) {
      return false;
    }
    if (!value->is_boolean()) {
      fail(fmt::format("{}.{}", where, field), "is not true or false");
      return false;
    }
    return value->get<bool>();
  }

  Evidence evidence(const Json& object, std::string_view where) {
    const std::string name = text(object, "evidence", where);
    for (const Evidence candidate :
         {Evidence::kVerified, Evidence::kPartial, Evidence::kInferred}) {
      if (evidence_name(candidate) == name) {
        return candidate;
      }
    }
    fail(fmt::format("{}.evidence", where), "is not verified, partial or inferred");
    return Evidence::kInferred;
  }

  /// The items of an array field; none if absent or null.
  std::vector<const Json*> rows(const Json& object, const char* field, std::string_view where) {
    const Json* value = find(object, field);
    std::vector<const Json*> out;
    if (value == nullptr || value->is_null()) {
      return out;
    }
    if (!value->is_array() || value->size() > kRowsMax) {
      fail(fmt::format("{}.{}", where, field),
           fmt::format("is not a list of at most {}", kRowsMax));
      return out;
    }
    for (const Json& item : *value) {
      out.push_back(&item);
    }
    return out;
  }

  static const Json* find(const Json& object, const char* field) {
    if (!object.is_object()) {
      return nullptr;
    }
    const auto found = object.find(field);
    return found == object.end() ? nullptr : &*found;
  }

 private:
  std::string source_name_;
  std::optional<Error> error_;
};

/// [start, size] pairs of integers.
template <class Unit, class Place>
std::vector<Place> read_places(FieldReader& reader, const Json& object, std::string_view where) {
  std::vector<Place> places;
  for (const Json* item : reader.rows(object, "placements", where)) {
    const bool is_pair = item->is_array() && item->size() == 2 && (*item)[0].is_number_integer() &&
                         (*item)[1].is_number_integer();
    if (!is_pair || (*item)[0] < 0 || (*item)[0] > kRowsMax || (*item)[1] < 1 ||
        (*item)[1] > kRowsMax) {
      reader.fail(fmt::format("{}.placements", where), "holds something other than [start, size]");
      return {};
    }
    places.push_back(Place{Unit((*item)[0].get<int>()), Unit((*item)[1].get<int>())});
  }
  std::ranges::sort(places);
  if (places.empty()) {
    reader.fail(fmt::format("{}.placements", where), "is missing");
  }
  return places;
}

ProfileVariant read_variant(FieldReader& reader, const Json& object, std::string_view where) {
  const std::string name = reader.text(object, "variant", where);
  for (const ProfileVariant variant : {ProfileVariant::kPlain,
                                       ProfileVariant::kDoubleMemory,
                                       ProfileVariant::kMedia,
                                       ProfileVariant::kGraphics,
                                       ProfileVariant::kAllMedia,
                                       ProfileVariant::kNoMedia}) {
    if (variant_name(variant) == name) {
      return variant;
    }
  }
  reader.fail(fmt::format("{}.variant", where), "is not a known variant");
  return ProfileVariant::kPlain;
}

EngineCounts read_engines(FieldReader& reader, const Json& object, std::string_view where) {
  EngineCounts counts;
  if (!object.is_object() && !object.is_null()) {
    reader.fail(where, "engines are not an object of counts");
  }
  for (int i = 0; i < kEngineCount; ++i) {
    const std::string name(engine_name(static_cast<Engine>(i)));
    counts[static_cast<std::size_t>(i)] = reader.figure(object, name.c_str(), where);
  }
  return counts;
}

std::optional<Bytes> read_memory(FieldReader& reader, const Json& object, std::string_view where) {
  const std::optional<int> mebibytes = reader.figure(object, "memory_mib", where);
  if (!mebibytes) {
    return std::nullopt;
  }
  return Bytes::mebibytes(static_cast<std::uint64_t>(*mebibytes));
}

void check_placements(FieldReader& reader,
                      const GpuInstanceProfile& profile,
                      MemorySlices grid,
                      std::string_view where) {
  for (const Placement& place : profile.placements) {
    if (place.end() > grid) {
      reader.fail(where,
                  fmt::format("a placement ends at memory slice {}, but the grid has {}",
                              place.end().value(),
                              grid.value()));
    }
    if (place.size != profile.placements.front().size) {
      reader.fail(where, "placements differ in size");
    }
  }
}

GpuInstanceProfile read_profile(FieldReader& reader, const Json& row, const GpuFacts& facts) {
  GpuInstanceProfile profile;
  profile.name = reader.text(row, "name", "profiles[]");
  const std::string where = fmt::format("profile {}", quoted_for_message(profile.name));
  const auto parts = parse_profile_name(profile.name);
  if (!parts || parts->compute || parts->gpu_instance_name != profile.name) {
    reader.fail(where, "name is not of the form 1g.5gb, 1g.5gb+me");
    return profile;
  }
  profile.aliases = reader.texts(row, "aliases", where);
  for (const std::string& alias : profile.aliases) {
    const auto alias_parts = parse_profile_name(alias);
    if (!alias_parts || alias_parts->gpu_instance_name != alias) {
      reader.fail(where, fmt::format("alias {} is not a profile name", quoted_for_message(alias)));
    }
  }
  profile.nvml_name = reader.text(row, "nvml_name", where);
  profile.nvml_id = NvmlProfileId(reader.required(row, "nvml_id", where));
  profile.smi_id = SmiProfileId(reader.required(row, "smi_id", where));
  profile.slices = ComputeSlices(reader.required(row, "slices", where));
  if (profile.slices != parts->gpu) {
    reader.fail(where, "slices differ from the name");
  }
  profile.variant = read_variant(reader, row, where);
  profile.memory = read_memory(reader, row, where);
  for (const Json* other : reader.rows(row, "memory_mib_other_drivers", where)) {
    if (!other->is_number_integer() || *other < 0 || *other > kFigureMax) {
      reader.fail(where, "memory_mib_other_drivers holds something other than MiB");
      return profile;
    }
    profile.memory_other_drivers.push_back(Bytes::mebibytes(other->get<std::uint64_t>()));
  }
  profile.sm_count = reader.figure(row, "sm", where);
  profile.copy_engine_count = reader.figure(row, "copy_engines", where);
  if (const Json* engines = FieldReader::find(row, "engines")) {
    profile.engines = read_engines(reader, *engines, where);
  }
  profile.instances_max = reader.required(row, "instances_max", where);
  profile.has_peer_to_peer = reader.flag(row, "peer_to_peer", where);
  profile.placements = read_places<MemorySlices, Placement>(reader, row, where);
  check_placements(reader, profile, facts.memory_slices.value_or(MemorySlices()), where);
  profile.evidence = reader.evidence(row, where);
  profile.unverified = reader.texts(row, "unverified", where);
  profile.sources = reader.texts(row, "sources", where);
  profile.note = reader.text(row, "note", where);
  return profile;
}

GpuFacts read_facts(FieldReader& reader, const Json& root) {
  GpuFacts facts;
  facts.key = reader.text(root, "key", "file");
  if (facts.key.empty()) {
    reader.fail("key", "is missing");
  }
  facts.board_names = reader.texts(root, "boards", "file");
  facts.pci_ids = reader.texts(root, "pci_ids", "file");
  for (const std::string& id : facts.pci_ids) {
    if (parse_pci_device_id(id) != id) {
      reader.fail("pci_ids",
                  fmt::format("{} is not four lower-case hex digits", quoted_for_message(id)));
    }
  }
  facts.pci_note = reader.text(root, "pci_note", "file");
  facts.architecture = reader.text(root, "architecture", "file");
  facts.chip = reader.text(root, "chip", "file");
  facts.compute_capability = reader.text(root, "compute_capability", "file");
  facts.memory_gb = reader.figure(root, "memory_gb", "file");
  facts.sm_total = reader.figure(root, "sm_total", "file");
  facts.sm_with_mig = reader.figure(root, "sm_with_mig", "file");
  if (const auto slices = reader.figure(root, "compute_slices", "file")) {
    facts.compute_slices = ComputeSlices(*slices);
  }
  if (const auto slices = reader.figure(root, "memory_slices", "file")) {
    facts.memory_slices = MemorySlices(*slices);
    if (*slices > LayoutBuilder::kMemorySlicesMax) {
      reader.fail("memory_slices", fmt::format("is more than {}", LayoutBuilder::kMemorySlicesMax));
    }
  }
  facts.instances_max = reader.figure(root, "instances_max", "file");
  facts.min_driver = reader.text(root, "min_driver", "file");
  facts.toggle_needs_reset = reader.flag(root, "toggle_needs_reset", "file");
  facts.mode_survives_reboot = reader.flag(root, "mode_survives_reboot", "file");
  facts.evidence = reader.evidence(root, "file");
  facts.unverified = reader.texts(root, "unverified", "file");
  facts.sources = reader.texts(root, "sources", "file");
  facts.notes = reader.texts(root, "notes", "file");
  return facts;
}

Geometry::ComputeProfiles read_compute_profiles(FieldReader& reader, const Json& table) {
  Geometry::ComputeProfiles profiles;
  profiles.evidence = reader.evidence(table, "compute_profiles");
  profiles.note = reader.text(table, "note", "compute_profiles");
  const Json* by_slices = FieldReader::find(table, "by_gpu_instance_slices");
  if (by_slices == nullptr || !by_slices->is_object() || by_slices->size() > kRowsMax) {
    reader.fail("compute_profiles.by_gpu_instance_slices", "is missing");
    return profiles;
  }
  for (const auto& [slices_text, rows] : by_slices->items()) {
    const std::string where = fmt::format("compute_profiles {}", quoted_for_message(slices_text));
    const auto gi_slices = parse_integer(slices_text);
    if (!gi_slices || *gi_slices < 1 || *gi_slices > kRowsMax || !rows.is_array() ||
        rows.size() > kRowsMax) {
      reader.fail(where, "is not a list under a number of compute slices");
      return profiles;
    }
    auto& list = profiles.by_gpu_instance_slices[ComputeSlices(static_cast<int>(*gi_slices))];
    for (const Json& row : rows) {
      ComputeInstanceProfile profile;
      profile.slices = ComputeSlices(reader.required(row, "slices", where));
      profile.nvml_id = NvmlProfileId(reader.required(row, "nvml_id", where));
      profile.smi_id = SmiProfileId(reader.required(row, "smi_id", where));
      profile.sm_count = reader.figure(row, "sm", where);
      profile.instances_max = reader.required(row, "instances_max", where);
      profile.placements = read_places<ComputeSlices, ComputePlacement>(reader, row, where);
      for (const ComputePlacement& place : profile.placements) {
        if (place.end().value() > *gi_slices || place.size != profile.slices) {
          reader.fail(where,
                      "a placement leaves the GPU instance or differs from the profile's size");
        }
      }
      list.push_back(std::move(profile));
    }
  }
  return profiles;
}

}  // namespace

/// Builds a Geometry out of a parsed document (a friend, so that Geometry stays immutable).
class GeometryReader {
 public:
  static Result<Geometry> read(const Json& root, std::string_view source_name) {
    FieldReader reader(source_name);
    Geometry geometry;
    if (reader.text(root, "schema", "file") != "septule-gpu/1") {
      reader.fail("schema", "is not \"septule-gpu/1\"");
    }
    geometry.facts_ = read_facts(reader, root);
    if (const Json* budget = FieldReader::find(root, "engine_budget")) {
      geometry.engine_budget_ = read_engines(reader, *budget, "engine_budget");
    }
    const auto rows = reader.rows(root, "profiles", "file");
    if (rows.size() > static_cast<std::size_t>(LayoutBuilder::kProfilesMax)) {
      reader.fail("profiles", fmt::format("are more than {}", LayoutBuilder::kProfilesMax));
    }
    for (const Json* row : rows) {
      if (reader.has_failed()) {
        break;
      }
      geometry.profiles_.push_back(read_profile(reader, *row, geometry.facts_));
    }
    if (const Json* table = FieldReader::find(root, "compute_profiles");
        table && !table->is_null()) {
      geometry.compute_profiles_ = read_compute_profiles(reader, *table);
    }
    if (!reader.has_failed()) {
      check_whole(reader, geometry);
    }
    if (const std::optional<Error>& error = reader.error()) {
      return *error;
    }
    return geometry;
  }

 private:
  static void check_whole(FieldReader& reader, const Geometry& geometry) {
    std::vector<std::string> names = geometry.profile_names();
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
      reader.fail("profiles", fmt::format("{} names two profiles", *twice));
    }
    if (geometry.has_profile_table() &&
        (!geometry.facts().memory_slices || !geometry.facts().compute_slices)) {
      reader.fail("profiles", "are given, but memory_slices or compute_slices is missing");
    }
  }
};

Result<Geometry> Geometry::parse(std::string_view json_text, std::string_view source_name) {
  const Json root = Json::parse(json_text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: is not a JSON object", source_name)};
  }
  return GeometryReader::read(root, source_name);
}

}  // namespace septule::gpu
