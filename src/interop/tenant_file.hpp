#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"
#include "interop/serving_profile.hpp"
#include "serve/tenant.hpp"

namespace septule::interop {

/// Gives the text of a file that an input names, by its name as written there. Where it is looked
/// for is the caller's business, as is how large it may be (kRateTraceBytesMax is enough).
using TextLoader = std::function<Result<std::string>(const std::string& name)>;

/// What a file of tenants is read with.
struct TenantFileOptions {
  TextLoader load;                            ///< empty = the text may name no files
  const ServingProfiles* profiles = nullptr;  ///< of tenants that name none; null = there are none
  std::optional<std::string> set;             ///< of a table with a column slo_set
  std::string gpu;                            ///< preferred where a model has profiles of several
};

/// Tenants in the order of the text, names unique. `notes`: what a reader should know, each once.
struct TenantFile {
  std::vector<serve::Tenant> tenants;
  std::vector<std::string> notes;
};

/// Reads tenants (docs/formats.md, "Tenants"): YAML or JSON, a CSV table, or a table of SLO sets
/// as ParvaGPU published them. Which it is follows from the first characters. Fails with
/// kInvalidInput naming source, line, field and tenant; a file that `load` cannot give fails with
/// that error's code. Whether a tenant can be served at all is admission's to say
/// (serve/admission.hpp): a rate of 0 is read as it stands.
Result<TenantFile> parse_tenant_file(const InputText& input, const TenantFileOptions& options);

}  // namespace septule::interop
