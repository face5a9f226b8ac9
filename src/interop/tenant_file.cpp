#include "interop/tenant_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/data_builder.hpp"
#include "interop/input_text.hpp"
#include "interop/named_table.hpp"
#include "interop/tenant_reader.hpp"

namespace septule::interop {

namespace {

enum class TextKind { kJson, kYaml, kCsv };

/// By the first character, and by whether the first line that says something has a comma before
/// any colon.
TextKind kind_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = trimmed(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (line.starts_with('{') || line.starts_with('[')) {
      return TextKind::kJson;
    }
    const std::size_t mark = line.find_first_of(":,");
    return mark != std::string_view::npos && line[mark] == ',' ? TextKind::kCsv : TextKind::kYaml;
  }
  return TextKind::kYaml;
}

/// Collects tenants; names are unique.
class TenantCollector {
 public:
  TenantCollector(const InputText& input, const TenantFileOptions& options)
      : input_(input), options_(options), sources_(options) {}

  Status add(const DataNode& map, std::string_view path, const DataNode* defaults) {
    TenantReader reader(input_.source_name, defaults, sources_);
    SEPTULE_TRY(serve::Tenant tenant, reader.read(map, path, options_.gpu));
    const auto same = std::ranges::find(file_.tenants, tenant.name, &serve::Tenant::name);
    if (same != file_.tenants.end()) {
      return input_error(
          input_.source_name,
          map.line,
          path,
          fmt::format("tenant {} is there twice (first in line {}); expected each "
                      "name once",
                      quoted_for_message(tenant.name),
                      lines_[static_cast<std::size_t>(same - file_.tenants.begin())]));
    }
    const std::string& measured = tenant.profile.gpu;
    if (!options_.gpu.empty() && !measured.empty() && measured != options_.gpu) {
      std::string note = fmt::format(
          "profiles measured on {} are taken for {} as they are", one_line(measured), options_.gpu);
      if (std::ranges::find(file_.notes, note) == file_.notes.end()) {
        file_.notes.push_back(std::move(note));
      }
    }
    file_.tenants.push_back(std::move(tenant));
    lines_.push_back(map.line);
    return {};
  }

  Result<TenantFile> finish() {
    if (file_.tenants.empty()) {
      return input_error(input_.source_name, 0, "", "holds no tenants; expected one or more");
    }
    file_.notes.insert(file_.notes.begin(), sources_.notes().begin(), sources_.notes().end());
    return std::move(file_);
  }

 private:
  const InputText& input_;
  const TenantFileOptions& options_;
  TenantSources sources_;
  TenantFile file_;
  std::vector<int> lines_;
};

Result<TenantFile> tenants_of_tree(const InputText& input,
                                   const TenantFileOptions& options,
                                   const DataNode& root) {
  const DataReader reader(input.source_name);
  if (options.set.has_value()) {
    return reader.error(root, "/", "has no sets; expected a table with a column slo_set");
  }
  SEPTULE_TRY_STATUS(reader.expect_map(root, "/", {"tenants", "defaults"}));
  SEPTULE_TRY(const DataNode* tenants, reader.required(root, "/", "tenants"));
  SEPTULE_TRY_STATUS(reader.expect_list(*tenants, "/tenants", kTenantsMax));
  const DataNode* defaults = root.find("defaults");
  if (defaults != nullptr) {
    SEPTULE_TRY_STATUS(
        reader.expect_map(*defaults, "/defaults", std::span(kTenantFields).subspan(2)));
  }
  TenantCollector collector(input, options);
  for (std::size_t i = 0; i < tenants->items.size(); ++i) {
    SEPTULE_TRY_STATUS(collector.add(tenants->items[i], fmt::format("/tenants/{}", i), defaults));
  }
  return collector.finish();
}

/// A column of a table of tenants: which field it is, "" = of the tenant, else of that map in it.
struct TenantColumn {
  std::string_view name;
  std::string_view map;
  std::string_view field;
  bool is_text = false;
};
constexpr std::array kColumns = std::to_array<TenantColumn>({
    {"name", "", "name", true},
    {"model", "", "model", true},
    {"gpu", "", "gpu", true},
    {"profile", "", "profile", true},
    {"rate_rps", "", "rate"},
    {"slo_ms", "", "slo_ms"},
    {"weight", "", "weight"},
    {"accuracy", "", "accuracy"},
    {"host_cores", "", "host_cores"},
    {"trust_group", "", "trust_group", true},
    {"floor_share", "", "floor_share"},
    {"warm_up", "", "warm_up", true},
    {"warm_up_p50_s", "warm_up", "p50_s"},
    {"warm_up_p90_s", "warm_up", "p90_s"},
    {"warm_up_p99_s", "warm_up", "p99_s"},
    {"trace", "rate", "file", true},
    {"trace_column", "rate", "column", true},
    {"trace_from_s", "rate", "from_s"},
    {"trace_length_s", "rate", "length_s"},
    {"trace_step_s", "rate", "step_s"},
    {"trace_scale", "rate", "scale"},
    {"trace_mean_rps", "rate", "mean_rps"},
    {"trace_peak_rps", "rate", "peak_rps"},
    {"trace_gaps", "rate", "gaps", true},
    {"retraining_work_s", "retraining", "work_s"},
    {"accuracy_after", "retraining", "accuracy_after"},
    {"retraining_release_s", "retraining", "release_s"},
    {"retraining_deadline_s", "retraining", "deadline_s"},
    {"retraining_period_s", "retraining", "period_s"},
    {"retraining_memory_gib", "retraining", "memory_gib"},
});
constexpr std::array kSetColumns = std::to_array<TenantColumn>({
    {"model", "", "name", true},
    {"request_rate_rps", "", "rate"},
    {"slo_latency_ms", "", "slo_ms"},
});

/// A cell as a node of a tree: a number where it is one and a text is not asked for.
DataNode node_of(const std::string& cell, const TenantColumn& column, int line) {
  DataNode node;
  node.kind = DataNode::Kind::kString;
  node.line = line;
  node.text = cell;
  if (const std::optional<double> number = parse_number(cell);
      !column.is_text && number.has_value()) {
    node.kind = DataNode::Kind::kNumber;
    node.number = *number;
  }
  return node;
}

/// Makes maps of fields of the rows of a table.
class TenantTable {
 public:
  TenantTable(const InputText& input, const TenantFileOptions& options, const NamedTable& cells)
      : input_(input), options_(options), cells_(cells) {}

  Result<TenantFile> read() {
    const bool has_sets = cells_.has_column("slo_set");
    SEPTULE_TRY_STATUS(has_sets ? choose_set() : check_columns());
    const std::span<const TenantColumn> columns = has_sets
                                                      ? std::span<const TenantColumn>(kSetColumns)
                                                      : std::span<const TenantColumn>(kColumns);
    if (cells_.size() > kTenantsMax && !has_sets) {
      return input_error(input_.source_name,
                         0,
                         "",
                         fmt::format("more than {} tenants; that is the limit", kTenantsMax));
    }
    TenantCollector collector(input_, options_);
    for (std::size_t row = 0; row < cells_.size(); ++row) {
      if (has_sets) {
        SEPTULE_TRY(const std::string set, cells_.text(row, "slo_set"));
        if (set != set_) {
          continue;
        }
      }
      SEPTULE_TRY(const DataNode map, map_of(row, columns));
      SEPTULE_TRY_STATUS(collector.add(map, "row", nullptr));
    }
    return collector.finish();
  }

 private:
  Status choose_set() {
    std::vector<std::string> sets;
    for (std::size_t row = 0; row < cells_.size(); ++row) {
      SEPTULE_TRY(std::string set, cells_.text(row, "slo_set"));
      if (std::ranges::find(sets, set) == sets.end()) {
        sets.push_back(std::move(set));
      }
      constexpr std::size_t kSetsMax = 1000;
      if (sets.size() > kSetsMax) {
        return input_error(input_.source_name,
                           cells_.line(row),
                           "column slo_set",
                           fmt::format("more than {} sets; that is the limit", kSetsMax));
      }
    }
    if (sets.empty()) {
      return input_error(input_.source_name, 0, "", "holds no rows below its heading");
    }
    set_ = options_.set.value_or(sets.front());
    if (!options_.set.has_value() && sets.size() > 1) {
      return input_error(
          input_.source_name,
          0,
          "column slo_set",
          fmt::format("holds the sets {}; say which one is meant (--set)", listed_names(sets)));
    }
    if (std::ranges::find(sets, set_) == sets.end()) {
      return input_error(
          input_.source_name,
          0,
          "column slo_set",
          fmt::format(
              "holds no set {}; there are {}", quoted_for_message(set_), listed_names(sets)));
    }
    return {};
  }

  Status check_columns() const {
    if (options_.set.has_value()) {
      return input_error(
          input_.source_name, 1, "", "has no sets; expected a table with a column slo_set");
    }
    std::vector<std::string> known;
    for (const TenantColumn& column : kColumns) {
      known.emplace_back(column.name);
    }
    for (std::size_t i = 0; i < cells_.columns().size(); ++i) {
      const std::string& name = cells_.columns()[i];
      if (std::ranges::find(known, name) == known.end()) {
        return input_error(input_.source_name, 1, "", unknown_name_text("column", name, known));
      }
      const auto earlier = cells_.columns().first(i);
      if (std::ranges::find(earlier, name) != earlier.end()) {
        return input_error(
            input_.source_name, 1, "", fmt::format("the column {} is there twice", name));
      }
    }
    return {};
  }

  Result<DataNode> map_of(std::size_t row, std::span<const TenantColumn> columns) const {
    DataNode map;
    map.kind = DataNode::Kind::kMap;
    map.line = cells_.line(row);
    for (const TenantColumn& column : columns) {
      if (!cells_.has_column(column.name)) {
        continue;
      }
      SEPTULE_TRY(const std::string cell, cells_.text(row, column.name));
      if (cell.empty()) {
        continue;
      }
      DataNode* place = &map;
      if (!column.map.empty()) {
        SEPTULE_TRY(place, inner_map(map, column));
      }
      place->members.push_back(
          {std::string(column.field), map.line, node_of(cell, column, map.line)});
    }
    if (map.find("name") == nullptr) {
      if (const DataNode* model = map.find("model")) {
        map.members.push_back({"name", map.line, *model});
      }
    }
    return map;
  }

  Result<DataNode*> inner_map(DataNode& map, const TenantColumn& column) const {
    const auto found = std::ranges::find(map.members, column.map, &DataMember::name);
    if (found == map.members.end()) {
      DataNode inner;
      inner.kind = DataNode::Kind::kMap;
      inner.line = map.line;
      map.members.push_back({std::string(column.map), map.line, std::move(inner)});
      return &map.members.back().value;
    }
    if (found->value.kind != DataNode::Kind::kMap) {
      return input_error(input_.source_name,
                         map.line,
                         fmt::format("column {}", column.name),
                         fmt::format("is given beside {} itself; expected one of both",
                                     column.map == "rate" ? "rate_rps" : "warm_up"));
    }
    return &found->value;
  }

  const InputText& input_;
  const TenantFileOptions& options_;
  const NamedTable& cells_;
  std::string set_;
};

}  // namespace

Result<TenantFile> parse_tenant_file(const InputText& input, const TenantFileOptions& options) {
  SEPTULE_TRY_STATUS(checked_text(input));
  switch (kind_of(input.text)) {
    case TextKind::kJson: {
      SEPTULE_TRY(const DataNode root, read_json(input));
      return tenants_of_tree(input, options, root);
    }
    case TextKind::kYaml: {
      SEPTULE_TRY(const DataNode root, read_yaml(input));
      return tenants_of_tree(input, options, root);
    }
    case TextKind::kCsv:
      break;
  }
  SEPTULE_TRY(const NamedTable cells, NamedTable::read(input, kServingRowsMax));
  return TenantTable(input, options, cells).read();
}

}  // namespace septule::interop
