#include <cmath>

#include "interop/tenant_file.hpp"
#include "serve/admission.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

/// Two files that a text may name; what they hold is fixed, the parsers have targets of their own.
static Result<std::string> load(const std::string& name) {
  if (name == "p.csv") {
    return std::string(
        "model,slices,batch,throughput_rps,latency_ms\nbert,1,1,40,25\nbert,7,4,300,20\n");
  }
  if (name == "t.csv") {
    return std::string("t_s,requests,more\n0,1,0\n1,2,1\n2,3,\n");
  }
  return Error{ErrorCode::kNotFound, "there is no such file"};
}

static void require_tenant(const serve::Tenant& tenant) {
  fuzz::require_good(tenant.name);
  fuzz::require(!tenant.profile.rows.empty(), "a tenant has a profile");
  fuzz::require(!tenant.rate.values.empty(), "a tenant has rates");
  for (const double rate : tenant.rate.values) {
    fuzz::require(std::isfinite(rate) && rate >= 0, "rates are finite and not below 0");
  }
  fuzz::require(tenant.slo >= Duration() && tenant.weight > 0, "SLO and weight are in range");
  fuzz::require(tenant.accuracy > 0 && tenant.accuracy <= 1, "accuracy is a share");
  fuzz::require(tenant.warm_up.p50 <= tenant.warm_up.p90, "quantiles ascend");
  fuzz::require(tenant.warm_up.p90 <= tenant.warm_up.p99, "quantiles ascend");
}

static const serve::LayoutLattice& lattice() {
  static const auto made =
      serve::LayoutLattice::make(fuzz::geometry("A30-24GB"), gpu::ProfileSet::kPlain);
  return *made;
}

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const std::optional<std::string>& set :
       {std::optional<std::string>(), std::optional<std::string>("1")}) {
    const auto file =
        interop::parse_tenant_file({text, "tenants.yaml"}, {.load = load, .set = set});
    if (!file) {
      fuzz::require_good(file.error());
      continue;
    }
    fuzz::require(!file->tenants.empty(), "a file holds tenants");
    for (const serve::Tenant& tenant : file->tenants) {
      require_tenant(tenant);
    }
    const auto outcome = serve::admit(file->tenants, lattice(), {});
    fuzz::require(outcome.admitted.size() + outcome.rejected.size() == file->tenants.size(),
                  "every tenant is admitted or rejected");
    for (const serve::Rejection& rejection : outcome.rejected) {
      fuzz::require_good(rejection.reason);
      fuzz::require_good(rejection.needed);
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
