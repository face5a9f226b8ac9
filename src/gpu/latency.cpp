#include "gpu/latency.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::gpu {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "septule-latencies/1";
/// An hour: longer figures are mistakes.
constexpr std::int64_t kMillisecondsMax = 3600000;
constexpr int kSlicesMax = 64;

LatencyFigure sized_figure(const std::map<int, Duration>& table,
                           ComputeSlices slices,
                           Evidence evidence) {
  SEPTULE_CHECK(!table.empty(), "a part has at least one figure of each kind");
  auto found = table.lower_bound(slices.value());
  if (found == table.end()) {
    found = std::prev(found);
  }
  const bool is_exact = found->first == slices.value();
  return {.duration = found->second, .evidence = is_exact ? evidence : Evidence::kInferred};
}

/// The share of the GPU instance in a figure that covers its compute instance too.
LatencyFigure without_compute(const LatencyFigure& both, const LatencyFigure& compute) {
  const Duration rest = std::max(both.duration - compute.duration, Duration());
  return {.duration = rest, .evidence = std::max(both.evidence, Evidence::kPartial)};
}

}  // namespace

/// Reads the JSON file into a LatencyTable. One use.
class LatencyReader {
 public:
  explicit LatencyReader(std::string_view source_name) : source_name_(source_name) {}

  Result<LatencyTable> read(const Json& root) {
    if (!root.is_object() || root.value("format", Json()) != Json(kFormat)) {
      return wrong("format", fmt::format("must be \"{}\"", kFormat));
    }
    SEPTULE_TRY_STATUS(read_parts(root));
    SEPTULE_TRY_STATUS(read_gpus(root));
    SEPTULE_TRY(table_.compute_create_, read_figure(root, "compute_instance_create_ms"));
    SEPTULE_TRY(table_.compute_destroy_, read_figure(root, "compute_instance_destroy_ms"));
    SEPTULE_TRY(table_.toggle_, read_figure(root, "mig_mode_toggle_ms"));
    SEPTULE_TRY(table_.toggle_part_,
                read_part_name(root["mig_mode_toggle_ms"], "part", "mig_mode_toggle_ms.part"));
    return std::move(table_);
  }

 private:
  Error wrong(std::string_view field, std::string_view what) const {
    return {.code = ErrorCode::kInvalidInput,
            .message = fmt::format("{}: field {} {}", source_name_, field, what)};
  }

  Result<Evidence> read_evidence(const Json& parent, const std::string& field) const {
    const auto found = parent.find("evidence");
    if (found != parent.end() && found->is_string()) {
      for (const Evidence e : {Evidence::kVerified, Evidence::kPartial, Evidence::kInferred}) {
        if (found->get_ref<const std::string&>() == evidence_name(e)) {
          return e;
        }
      }
    }
    return wrong(field + ".evidence", "must be verified, partial or inferred");
  }

  Result<Duration> read_milliseconds(const Json& value, const std::string& field) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMillisecondsMax) {
      return wrong(
          field, fmt::format("must be a whole number of milliseconds, 0 to {}", kMillisecondsMax));
    }
    return Duration::milliseconds(value.get<std::int64_t>());
  }

  Result<std::map<int, Duration>> read_sizes(const Json& parent,
                                             const std::string& key,
                                             const std::string& field) const {
    const auto found = parent.find(key);
    if (found == parent.end() || !found->is_object() || found->empty()) {
      return wrong(field, "must be an object from compute slices to milliseconds, not empty");
    }
    std::map<int, Duration> sizes;
    for (const auto& [size_text, value] : found->items()) {
      const auto size = parse_integer(size_text);
      if (!size.has_value() || *size < 1 || *size > kSlicesMax) {
        return wrong(fmt::format("{}.{}", field, quoted_for_message(size_text)),
                     fmt::format("must be named by compute slices, 1 to {}", kSlicesMax));
      }
      SEPTULE_TRY(const Duration duration,
                  read_milliseconds(value, fmt::format("{}.{}", field, size_text)));
      sizes.emplace(static_cast<int>(*size), duration);
    }
    return sizes;
  }

  Status read_parts(const Json& root) {
    const auto found = root.find("parts");
    if (found == root.end() || !found->is_object() || found->empty()) {
      return wrong("parts", "must be an object of measured parts, not empty");
    }
    for (const auto& [name, value] : found->items()) {
      const std::string field = "parts." + quoted_for_message(name);
      if (!value.is_object()) {
        return wrong(field, "must be an object");
      }
      LatencyTable::Part part;
      SEPTULE_TRY(part.evidence, read_evidence(value, field));
      SEPTULE_TRY(part.create_with_compute,
                  read_sizes(value, "create_with_compute_ms", field + ".create_with_compute_ms"));
      SEPTULE_TRY(part.destroy_with_compute,
                  read_sizes(value, "destroy_with_compute_ms", field + ".destroy_with_compute_ms"));
      table_.parts_.emplace(name, std::move(part));
    }
    SEPTULE_TRY(table_.default_part_, read_part_name(root, "default_part", "default_part"));
    return {};
  }

  Result<std::string> read_part_name(const Json& parent,
                                     const std::string& key,
                                     const std::string& field) const {
    const auto found = parent.find(key);
    if (found == parent.end() || !found->is_string() ||
        !table_.parts_.contains(found->get_ref<const std::string&>())) {
      return wrong(field, "must name one of the measured parts");
    }
    return found->get<std::string>();
  }

  Status read_gpus(const Json& root) {
    const auto found = root.find("gpus");
    if (found == root.end() || !found->is_array()) {
      return wrong("gpus", "must be a list");
    }
    for (std::size_t i = 0; i < found->size(); ++i) {
      const Json& row = (*found)[i];
      const std::string field = fmt::format("gpus[{}]", i);
      if (!row.is_object() || !row.contains("key") || !row["key"].is_string()) {
        return wrong(field + ".key", "must be the key of a GPU");
      }
      LatencyTable::Borrowed borrowed;
      SEPTULE_TRY(borrowed.part, read_part_name(row, "part", field + ".part"));
      SEPTULE_TRY(borrowed.evidence, read_evidence(row, field));
      const std::string& key = row["key"].get_ref<const std::string&>();
      if (!table_.gpus_.emplace(key, std::move(borrowed)).second) {
        return wrong(field + ".key", "repeats an earlier GPU: " + quoted_for_message(key));
      }
    }
    return {};
  }

  Result<LatencyFigure> read_figure(const Json& root, const std::string& key) const {
    const auto found = root.find(key);
    if (found == root.end() || !found->is_object() || !found->contains("value")) {
      return wrong(key, "must be an object with value and evidence");
    }
    LatencyFigure figure;
    SEPTULE_TRY(figure.duration, read_milliseconds((*found)["value"], key + ".value"));
    SEPTULE_TRY(figure.evidence, read_evidence(*found, key));
    return figure;
  }

  std::string_view source_name_;
  LatencyTable table_;
};

Result<LatencyTable> LatencyTable::parse(std::string_view json_text, std::string_view source_name) {
  const Json root = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) {
    return Error{.code = ErrorCode::kInvalidInput,
                 .message = fmt::format("{}: not valid JSON", source_name)};
  }
  return LatencyReader(source_name).read(root);
}

LatencyTable::Borrowed LatencyTable::part_of(std::string_view gpu_key) const {
  const auto found = gpus_.find(gpu_key);
  if (found == gpus_.end()) {
    return {.part = default_part_, .evidence = Evidence::kInferred};
  }
  Borrowed borrowed = found->second;
  borrowed.evidence = std::max(borrowed.evidence, part(borrowed.part).evidence);
  return borrowed;
}

const LatencyTable::Part& LatencyTable::part(const std::string& name) const {
  const auto found = parts_.find(name);
  SEPTULE_CHECK(found != parts_.end(), "a latency table refers only to parts that it has");
  return found->second;
}

LatencyFigure LatencyTable::gpu_instance_create(std::string_view gpu_key,
                                                ComputeSlices slices) const {
  const Borrowed from = part_of(gpu_key);
  return without_compute(sized_figure(part(from.part).create_with_compute, slices, from.evidence),
                         compute_create_);
}

LatencyFigure LatencyTable::gpu_instance_destroy(std::string_view gpu_key,
                                                 ComputeSlices slices) const {
  const Borrowed from = part_of(gpu_key);
  return without_compute(sized_figure(part(from.part).destroy_with_compute, slices, from.evidence),
                         compute_destroy_);
}

LatencyFigure LatencyTable::compute_instance_create(std::string_view gpu_key) const {
  return {.duration = compute_create_.duration,
          .evidence = std::max(compute_create_.evidence, part_of(gpu_key).evidence)};
}

LatencyFigure LatencyTable::compute_instance_destroy(std::string_view gpu_key) const {
  return {.duration = compute_destroy_.duration,
          .evidence = std::max(compute_destroy_.evidence, part_of(gpu_key).evidence)};
}

LatencyFigure LatencyTable::mig_mode_toggle(std::string_view gpu_key) const {
  const Borrowed from = part_of(gpu_key);
  const bool is_measured = from.part == toggle_part_ && from.evidence == Evidence::kVerified;
  return {.duration = toggle_.duration,
          .evidence = is_measured ? toggle_.evidence : Evidence::kInferred};
}

}  // namespace septule::gpu
