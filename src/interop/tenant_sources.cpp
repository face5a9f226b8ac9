#include "interop/tenant_sources.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

Result<std::string> TenantSources::load(const std::string& file) const {
  if (!options_.load) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("the file {} is named, and none may be here", quoted_for_message(file))};
  }
  constexpr std::size_t kFilesMax = 1000;
  if (profiles_.size() + traces_.size() >= kFilesMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("more than {} files are named; that is the limit", kFilesMax)};
  }
  return options_.load(file);
}

void TenantSources::add_notes(const ServingProfiles& profiles) {
  for (const std::string& note : profiles.notes) {
    notes_.push_back(fmt::format("{}: {}", one_line(profiles.source), note));
  }
}

Result<const ServingProfiles*> TenantSources::profiles(const std::string& file) {
  if (file.empty()) {
    if (options_.profiles == nullptr) {
      return Error{ErrorCode::kInvalidInput,
                   "no profile is named; expected `profile: FILE`, rows of its own, or profiles "
                   "given beside the tenants"};
    }
    if (!has_noted_options_) {
      add_notes(*options_.profiles);
      has_noted_options_ = true;
    }
    return options_.profiles;
  }
  if (const auto found = profiles_.find(file); found != profiles_.end()) {
    return static_cast<const ServingProfiles*>(found->second.get());
  }
  SEPTULE_TRY(const std::string text, load(file));
  SEPTULE_TRY(ServingProfiles read, parse_serving_profiles({text, file}));
  add_notes(read);
  auto& kept = profiles_[file];
  kept = std::make_unique<ServingProfiles>(std::move(read));
  return static_cast<const ServingProfiles*>(kept.get());
}

Result<const RateTrace*> TenantSources::trace(const std::string& file) {
  if (const auto found = traces_.find(file); found != traces_.end()) {
    return static_cast<const RateTrace*>(found->second.get());
  }
  SEPTULE_TRY(const std::string text, load(file));
  SEPTULE_TRY(RateTrace read, parse_rate_trace({text, file}));
  auto& kept = traces_[file];
  kept = std::make_unique<RateTrace>(std::move(read));
  return static_cast<const RateTrace*>(kept.get());
}

}  // namespace septule::interop
