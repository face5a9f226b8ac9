#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/data_node.hpp"
#include "interop/tenant_sources.hpp"
#include "serve/tenant.hpp"

namespace septule::interop {

/// The fields of a tenant; all but the first two may be defaults.
inline constexpr std::array<std::string_view, 13> kTenantFields = {"name",
                                                                   "model",
                                                                   "gpu",
                                                                   "profile",
                                                                   "rate",
                                                                   "slo_ms",
                                                                   "weight",
                                                                   "accuracy",
                                                                   "warm_up",
                                                                   "host_cores",
                                                                   "trust_group",
                                                                   "floor_share",
                                                                   "retraining"};

/// Makes a tenant of a map of fields. Part of the reader of tenants: YAML, JSON and CSV all come
/// down to such maps. `defaults` (null = none) is asked for every field that the map lacks. Borrows
/// what it is made of; one owner.
class TenantReader {
 public:
  TenantReader(std::string_view source_name, const DataNode* defaults, TenantSources& sources)
      : source_name_(source_name), reader_(source_name), defaults_(defaults), sources_(sources) {}

  /// `path` is the map's place in the text ("/tenants/0"); `gpu` the one preferred.
  Result<serve::Tenant> read(const DataNode& map, std::string_view path, std::string_view gpu);

 private:
  struct Field {
    const DataNode* node = nullptr;  ///< null = not given
    std::string path;
  };
  struct Range {
    double min = 0;
    double max = 0;
    bool is_min_valid = true;
    std::string_view expected;
  };

  Field field(std::string_view name) const;
  /// The field as a number; `otherwise` where it is not given.
  Result<double> number(const Field& field, const Range& range, double otherwise) const;
  Result<Duration> seconds(const Field& field, Duration otherwise) const;
  Result<std::string> text(const Field& field, std::string otherwise) const;
  /// An error of another source, said with tenant and place. Keeps the code.
  Error of_tenant(const Field& field, const Error& error) const;

  Status read_profile(serve::Tenant& tenant, std::string_view gpu);
  Result<serve::ModelProfile> inline_profile(const Field& rows, const std::string& model) const;
  Status read_rate(serve::Tenant& tenant);
  Result<serve::RateSeries> traced_rate(const Field& rate);
  Result<serve::RateSeries> listed_rate(const Field& rate) const;
  Status read_figures(serve::Tenant& tenant) const;
  Result<serve::WarmUp> warm_up() const;
  Status read_retraining(serve::Tenant& tenant) const;
  Status read_retraining_memory(const Field& job, serve::RetrainingJob& out) const;
  Status read_speeds(const Field& speeds, serve::RetrainingJob& out) const;
  static Field below(const Field& field, std::string_view name);

  std::string_view source_name_;
  DataReader reader_;
  const DataNode* defaults_;
  TenantSources& sources_;
  const DataNode* map_ = nullptr;
  std::string_view path_;
  std::string name_;
};

}  // namespace septule::interop
