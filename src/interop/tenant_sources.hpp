#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/rate_trace.hpp"
#include "interop/serving_profile.hpp"
#include "interop/tenant_file.hpp"

namespace septule::interop {

/// The files that a text of tenants names: each is loaded and read once, so that many tenants may
/// share one. Part of the reader of tenants. One owner; what it gives lives as long as it does.
class TenantSources {
 public:
  explicit TenantSources(const TenantFileOptions& options) : options_(options) {}

  /// Of the named file; of the options' profiles for an empty name. Fails with kInvalidInput if
  /// neither is there, and with the loader's and the parser's errors.
  Result<const ServingProfiles*> profiles(const std::string& file);
  Result<const RateTrace*> trace(const std::string& file);
  /// What reading the profiles had to say, each with the name of its text.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Result<std::string> load(const std::string& file) const;
  void add_notes(const ServingProfiles& profiles);

  const TenantFileOptions& options_;
  std::map<std::string, std::unique_ptr<ServingProfiles>, std::less<>> profiles_;
  std::map<std::string, std::unique_ptr<RateTrace>, std::less<>> traces_;
  bool has_noted_options_ = false;
  std::vector<std::string> notes_;
};

}  // namespace septule::interop
