// The fields of one tenant.
#include "interop/tenant_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/serving_profile_formats.hpp"
#include "serve/warm_up.hpp"

namespace septule::interop {

namespace {

constexpr double kGibibyte = 1073741824.0;

bool is_number(const DataNode& node) {
  return node.kind == DataNode::Kind::kInteger || node.kind == DataNode::Kind::kNumber;
}

}  // namespace

TenantReader::Field TenantReader::field(std::string_view name) const {
  const DataNode* node = map_->find(name);
  if (node != nullptr || defaults_ == nullptr) {
    return {node, fmt::format("{}/{}", path_, name)};
  }
  return {defaults_->find(name), fmt::format("/defaults/{}", name)};
}

TenantReader::Field TenantReader::below(const Field& field, std::string_view name) {
  return {field.node->find(name), fmt::format("{}/{}", field.path, name)};
}

Result<double> TenantReader::number(const Field& field,
                                    const Range& range,
                                    double otherwise) const {
  if (field.node == nullptr) {
    return otherwise;
  }
  const double value = field.node->number;
  const bool is_valid = is_number(*field.node) && value <= range.max &&
                        (range.is_min_valid ? value >= range.min : value > range.min);
  if (!is_valid) {
    return reader_.error(*field.node,
                         field.path,
                         fmt::format("is {}; expected {}", described(*field.node), range.expected));
  }
  return value + 0.0;
}

Result<Duration> TenantReader::seconds(const Field& field, Duration otherwise) const {
  constexpr Range kSeconds{.max = kServingSecondsMax, .expected = "seconds from 0 to 315360000"};
  SEPTULE_TRY(const double value, number(field, kSeconds, 0));
  return field.node == nullptr ? otherwise : seconds_to_duration(value);
}

Result<std::string> TenantReader::text(const Field& field, std::string otherwise) const {
  if (field.node == nullptr) {
    return otherwise;
  }
  return reader_.name(*field.node, field.path);
}

Error TenantReader::of_tenant(const Field& field, const Error& error) const {
  const int line = field.node == nullptr ? map_->line : field.node->line;
  return {error.code,
          input_error(source_name_,
                      line,
                      field.path,
                      fmt::format("tenant {}: {}", quoted_for_message(name_), error.message))
              .message};
}

Result<serve::Tenant> TenantReader::read(const DataNode& map,
                                         std::string_view path,
                                         std::string_view gpu) {
  map_ = &map;
  path_ = path;
  SEPTULE_TRY_STATUS(reader_.expect_map(map, path, kTenantFields));
  serve::Tenant tenant;
  SEPTULE_TRY(const DataNode* name, reader_.required(map, path, "name"));
  SEPTULE_TRY(tenant.name, reader_.name(*name, fmt::format("{}/name", path)));
  name_ = tenant.name;
  SEPTULE_TRY_STATUS(read_figures(tenant));
  SEPTULE_TRY_STATUS(read_profile(tenant, gpu));
  SEPTULE_TRY_STATUS(read_rate(tenant));
  SEPTULE_TRY_STATUS(read_retraining(tenant));
  return tenant;
}

Status TenantReader::read_figures(serve::Tenant& tenant) const {
  constexpr double kMilliseconds = 1e3;
  constexpr Range kSlo{.max = kServingSecondsMax * kMilliseconds,
                       .is_min_valid = false,
                       .expected = "milliseconds above 0"};
  constexpr Range kWeight{.min = kWeightMin, .max = kWeightMax, .expected = "0.000001 to 1000000"};
  constexpr Range kAccuracy{
      .max = 1, .is_min_valid = false, .expected = "a share above 0, at most 1 (not percent)"};
  constexpr Range kShare{.max = 1, .expected = "a share from 0 to 1 (not percent)"};
  constexpr double kCoresMax = 100000;
  constexpr Range kCores{.max = kCoresMax, .expected = "0 to 100000 cores"};
  const Field slo = field("slo_ms");
  if (slo.node == nullptr) {
    return of_tenant(slo, {ErrorCode::kInvalidInput, "is missing; expected milliseconds above 0"});
  }
  SEPTULE_TRY(const double slo_ms, number(slo, kSlo, 0));
  tenant.slo = seconds_to_duration(slo_ms / kMilliseconds);
  SEPTULE_TRY(tenant.weight, number(field("weight"), kWeight, 1));
  SEPTULE_TRY(tenant.accuracy, number(field("accuracy"), kAccuracy, 1));
  SEPTULE_TRY(tenant.floor_share, number(field("floor_share"), kShare, 0));
  SEPTULE_TRY(tenant.host_cores, number(field("host_cores"), kCores, 0));
  SEPTULE_TRY(tenant.trust_group, text(field("trust_group"), ""));
  SEPTULE_TRY(tenant.warm_up, warm_up());
  return {};
}

Result<serve::WarmUp> TenantReader::warm_up() const {
  const Field given = field("warm_up");
  if (given.node == nullptr) {
    return serve::default_warm_up();
  }
  if (given.node->kind == DataNode::Kind::kString) {
    const std::optional<serve::WarmUp> known = serve::find_warm_up(given.node->text);
    if (!known.has_value()) {
      return reader_.error(
          *given.node,
          given.path,
          unknown_name_text("kind of warm-up", given.node->text, serve::warm_up_kind_names()));
    }
    return *known;
  }
  if (is_number(*given.node)) {
    SEPTULE_TRY(const Duration always, seconds(given, Duration()));
    return serve::WarmUp{always, always, always};
  }
  SEPTULE_TRY_STATUS(reader_.expect_map(*given.node, given.path, {"p50_s", "p90_s", "p99_s"}));
  if (given.node->members.empty()) {
    return reader_.error(*given.node, given.path, "is empty; expected p50_s, p90_s and p99_s");
  }
  // A quantile that is not given is the next one that is.
  serve::WarmUp out;
  const Duration unknown = Duration::nanoseconds(-1);
  SEPTULE_TRY(out.p50, seconds(below(given, "p50_s"), unknown));
  SEPTULE_TRY(out.p90, seconds(below(given, "p90_s"), unknown));
  SEPTULE_TRY(out.p99, seconds(below(given, "p99_s"), unknown));
  out.p99 = out.p99 == unknown ? std::max(out.p90, out.p50) : out.p99;
  out.p90 = out.p90 == unknown ? out.p99 : out.p90;
  out.p50 = out.p50 == unknown ? out.p90 : out.p50;
  if (out.p50 > out.p90 || out.p90 > out.p99) {
    return reader_.error(
        *given.node, given.path, "has quantiles that fall; expected p50_s <= p90_s <= p99_s");
  }
  return out;
}

Status TenantReader::read_profile(serve::Tenant& tenant, std::string_view gpu) {
  const Field model_field = field("model");
  SEPTULE_TRY(const std::string model, text(model_field, tenant.name));
  const Field gpu_field = field("gpu");
  SEPTULE_TRY(const std::string wanted_gpu, text(gpu_field, std::string(gpu)));
  const Field profile = field("profile");
  if (profile.node != nullptr && profile.node->kind == DataNode::Kind::kList) {
    SEPTULE_TRY(tenant.profile, inline_profile(profile, model));
    tenant.profile.gpu = wanted_gpu;
    return {};
  }
  SEPTULE_TRY(const std::string file, text(profile, ""));
  const Result<const ServingProfiles*> profiles = sources_.profiles(file);
  if (!profiles) {
    return of_tenant(profile, profiles.error());
  }
  const Result<const serve::ModelProfile*> found = find_profile(**profiles, model, wanted_gpu);
  if (!found) {
    return of_tenant(model_field.node == nullptr ? field("name") : model_field, found.error());
  }
  if (gpu_field.node != nullptr && !(*found)->gpu.empty() && (*found)->gpu != wanted_gpu) {
    return of_tenant(gpu_field,
                     {ErrorCode::kInvalidInput,
                      fmt::format("the profile of model {} was measured on {}, not on {}",
                                  quoted_for_message(model),
                                  (*found)->gpu,
                                  quoted_for_message(wanted_gpu))});
  }
  tenant.profile = **found;
  return {};
}

Result<serve::ModelProfile> TenantReader::inline_profile(const Field& rows,
                                                         const std::string& model) const {
  SEPTULE_TRY_STATUS(reader_.expect_list(*rows.node, rows.path, kServingRowsMax));
  if (rows.node->items.empty()) {
    return reader_.error(*rows.node, rows.path, "is an empty list; expected rows or a file");
  }
  const ProfileTable& table = profile_tables().back();
  std::vector<ServingProfileRow> read;
  for (std::size_t i = 0; i < rows.node->items.size(); ++i) {
    const DataNode& row = rows.node->items[i];
    const std::string path = fmt::format("{}/{}", rows.path, i);
    SEPTULE_TRY_STATUS(reader_.expect_map(row,
                                          path,
                                          {"slices",
                                           "batch",
                                           "throughput_rps",
                                           "latency_ms",
                                           "latency_meaning",
                                           "processes",
                                           "share_percent",
                                           "memory_gib",
                                           "suspect"}));
    ProfileCells cells{};
    cells[static_cast<std::size_t>(ProfileField::kModel)] = model;
    for (const DataMember& member : row.members) {
      const auto column = std::ranges::find(table.columns, member.name, &ProfileColumn::name);
      std::string_view cell = member.value.text;
      if (member.value.kind == DataNode::Kind::kBoolean) {
        cell = member.value.boolean ? "1" : "0";
      } else if (!member.value.is_scalar() || member.value.kind == DataNode::Kind::kNull) {
        return reader_.error(member.value,
                             fmt::format("{}/{}", path, one_line(member.name)),
                             fmt::format("is {}; expected a value", described(member.value)));
      }
      cells[static_cast<std::size_t>(column->field)] = cell;
    }
    const std::string place = path + "/";
    SEPTULE_TRY(ServingProfileRow one,
                read_profile_row({.source_name = source_name_,
                                  .line = row.line,
                                  .place = place,
                                  .table = table,
                                  .cells = cells}));
    read.push_back(std::move(one));
  }
  SEPTULE_TRY(std::vector<serve::ModelProfile> profiles,
              grouped_profiles(source_name_, std::move(read)));
  return std::move(profiles.front());
}

Status TenantReader::read_rate(serve::Tenant& tenant) {
  constexpr Range kRate{.max = kRateRpsMax, .expected = "0 to 1e9 requests per second"};
  const Field rate = field("rate");
  if (rate.node == nullptr) {
    return of_tenant(rate,
                     {ErrorCode::kInvalidInput,
                      "is missing; expected requests per second, or a map with file or values"});
  }
  if (rate.node->kind != DataNode::Kind::kMap) {
    SEPTULE_TRY(const double constant, number(rate, kRate, 0));
    tenant.rate.values = {constant};
    return {};
  }
  if (rate.node->find("file") != nullptr) {
    SEPTULE_TRY(tenant.rate, traced_rate(rate));
  } else {
    SEPTULE_TRY(tenant.rate, listed_rate(rate));
  }
  return {};
}

Result<serve::RateSeries> TenantReader::listed_rate(const Field& rate) const {
  constexpr Range kRate{.max = kRateRpsMax, .expected = "0 to 1e9 requests per second"};
  SEPTULE_TRY_STATUS(reader_.expect_map(*rate.node, rate.path, {"values", "step_s"}));
  SEPTULE_TRY(const DataNode* values, reader_.required(*rate.node, rate.path, "values"));
  const std::string path = rate.path + "/values";
  SEPTULE_TRY_STATUS(reader_.expect_list(*values, path, kNodesMax));
  if (values->items.empty()) {
    return reader_.error(*values, path, "is an empty list; expected requests per second");
  }
  serve::RateSeries out;
  SEPTULE_TRY(out.step, seconds(below(rate, "step_s"), out.step));
  if (out.step <= Duration()) {
    return reader_.error(*rate.node, rate.path, "has a step of 0 s; expected more");
  }
  for (std::size_t i = 0; i < values->items.size(); ++i) {
    const DataNode& item = values->items[i];
    if (item.kind == DataNode::Kind::kNull) {
      DataNode at = item;
      at.line = item.line == 0 ? values->line : item.line;
      return of_tenant({&at, fmt::format("{}/{}", path, i)},
                       {ErrorCode::kInvalidInput,
                        "a gap: the rate is not known; expected a number in every step"});
    }
    SEPTULE_TRY(const double value, number({&item, fmt::format("{}/{}", path, i)}, kRate, 0));
    out.values.push_back(value);
  }
  return out;
}

Result<serve::RateSeries> TenantReader::traced_rate(const Field& rate) {
  constexpr Range kFactor{
      .max = kRateRpsMax, .is_min_valid = false, .expected = "a number above 0, at most 1e9"};
  SEPTULE_TRY_STATUS(reader_.expect_map(
      *rate.node,
      rate.path,
      {"file", "column", "from_s", "length_s", "step_s", "scale", "mean_rps", "peak_rps", "gaps"}));
  SEPTULE_TRY(const std::string file, text(below(rate, "file"), ""));
  RateSelection selection;
  SEPTULE_TRY(selection.column, text(below(rate, "column"), ""));
  SEPTULE_TRY(selection.from, seconds(below(rate, "from_s"), Duration()));
  const auto optional_seconds = [&](std::string_view name,
                                    std::optional<Duration>& place) -> Status {
    if (const Field given = below(rate, name); given.node != nullptr) {
      SEPTULE_TRY(place, seconds(given, Duration()));
    }
    return {};
  };
  const auto optional_factor = [&](std::string_view name, std::optional<double>& place) -> Status {
    if (const Field given = below(rate, name); given.node != nullptr) {
      SEPTULE_TRY(place, number(given, kFactor, 1));
    }
    return {};
  };
  SEPTULE_TRY_STATUS(optional_seconds("length_s", selection.length));
  SEPTULE_TRY_STATUS(optional_seconds("step_s", selection.step));
  SEPTULE_TRY_STATUS(optional_factor("scale", selection.scale));
  SEPTULE_TRY_STATUS(optional_factor("mean_rps", selection.mean_rps));
  SEPTULE_TRY_STATUS(optional_factor("peak_rps", selection.peak_rps));
  SEPTULE_TRY(const std::string gaps, text(below(rate, "gaps"), "refuse"));
  if (gaps != "refuse" && gaps != "hold") {
    return reader_.error(*below(rate, "gaps").node,
                         rate.path + "/gaps",
                         fmt::format("is {}; expected refuse or hold", quoted_for_message(gaps)));
  }
  selection.gaps = gaps == "hold" ? GapHandling::kHold : GapHandling::kRefuse;
  const Result<const RateTrace*> trace = sources_.trace(file);
  if (!trace) {
    return of_tenant(rate, trace.error());
  }
  Result<serve::RateSeries> series = rate_series(**trace, selection);
  if (!series) {
    return of_tenant(rate, series.error());
  }
  return series;
}

Status TenantReader::read_retraining(serve::Tenant& tenant) const {
  constexpr Range kWork{.max = kServingSecondsMax,
                        .is_min_valid = false,
                        .expected = "seconds above 0, at most 315360000"};
  constexpr Range kAccuracy{
      .max = 1, .is_min_valid = false, .expected = "a share above 0, at most 1 (not percent)"};
  const Field job = field("retraining");
  if (job.node == nullptr || job.node->kind == DataNode::Kind::kNull) {
    return {};  // null takes a default back
  }
  SEPTULE_TRY_STATUS(reader_.expect_map(
      *job.node,
      job.path,
      {"work_s", "accuracy_after", "release_s", "deadline_s", "period_s", "memory_gib", "speeds"}));
  serve::RetrainingJob out;
  SEPTULE_TRY_STATUS(reader_.required(*job.node, job.path, "work_s"));
  SEPTULE_TRY_STATUS(reader_.required(*job.node, job.path, "accuracy_after"));
  SEPTULE_TRY(out.work_s, number(below(job, "work_s"), kWork, 0));
  SEPTULE_TRY(out.accuracy_after, number(below(job, "accuracy_after"), kAccuracy, 0));
  SEPTULE_TRY(out.release, seconds(below(job, "release_s"), Duration()));
  for (const auto& [name, place] :
       {std::pair{"deadline_s", &out.deadline}, std::pair{"period_s", &out.period}}) {
    if (const Field given = below(job, name); given.node != nullptr) {
      SEPTULE_TRY(const Duration length, seconds(given, Duration()));
      *place = length;
      if (length <= out.release) {
        return of_tenant(given,
                         {ErrorCode::kInvalidInput,
                          fmt::format("its retraining cannot finish: it ends {:.9g} s after the "
                                      "begin and is released {:.9g} s after it; expected a later "
                                      "end",
                                      length.to_seconds(),
                                      out.release.to_seconds())});
      }
    }
  }
  if (out.deadline.has_value() && out.period.has_value() && *out.deadline > *out.period) {
    return of_tenant(below(job, "deadline_s"),
                     {ErrorCode::kInvalidInput,
                      fmt::format("its deadline is after the period of {:.9g} s; expected one in "
                                  "the period",
                                  out.period->to_seconds())});
  }
  SEPTULE_TRY_STATUS(read_retraining_memory(job, out));
  tenant.retraining = std::move(out);
  return {};
}

Status TenantReader::read_retraining_memory(const Field& job, serve::RetrainingJob& out) const {
  constexpr Range kMemory{
      .max = kMemoryGibibytesMax, .is_min_valid = false, .expected = "GiB above 0, at most 4096"};
  if (const Field memory = below(job, "memory_gib"); memory.node != nullptr) {
    SEPTULE_TRY(const double gib, number(memory, kMemory, 0));
    out.memory = Bytes(static_cast<std::uint64_t>(std::llround(gib * kGibibyte)));
  }
  if (const Field speeds = below(job, "speeds"); speeds.node != nullptr) {
    return read_speeds(speeds, out);
  }
  return {};
}

Status TenantReader::read_speeds(const Field& speeds, serve::RetrainingJob& out) const {
  constexpr Range kSpeed{.max = 1,
                         .is_min_valid = false,
                         .expected = "a speed relative to the whole GPU, above 0, at most 1"};
  if (speeds.node->kind != DataNode::Kind::kMap) {
    return reader_.error(*speeds.node,
                         speeds.path,
                         fmt::format("is {}; expected a map such as {{1g: 0.36, 2g: 0.51}}",
                                     described(*speeds.node)));
  }
  for (const DataMember& member : speeds.node->members) {
    const std::optional<ComputeSlices> slices = parse_slices(member.name);
    if (!slices.has_value()) {
      return input_error(source_name_,
                         member.line,
                         speeds.path,
                         fmt::format("{} is no size of an instance; expected 1g, 2g, ...",
                                     quoted_for_message(member.name)));
    }
    const auto same =
        std::ranges::find(out.speeds, *slices, &std::pair<ComputeSlices, double>::first);
    if (same != out.speeds.end()) {
      return input_error(source_name_,
                         member.line,
                         speeds.path,
                         fmt::format("{}g is there twice", slices->value()));
    }
    SEPTULE_TRY(
        const double speed,
        number(
            {&member.value, fmt::format("{}/{}", speeds.path, one_line(member.name))}, kSpeed, 0));
    out.speeds.emplace_back(*slices, speed);
  }
  std::ranges::sort(out.speeds);
  return {};
}

}  // namespace septule::interop
