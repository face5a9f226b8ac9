#include "plan/window.hpp"

namespace septule::plan {

bool may_share_mps(const WindowJob& a, const WindowJob& b, const SharingRules& rules) {
  if (a.trust != b.trust) {
    return false;
  }
  return rules.mps_users == SharingRules::Users::kAnyUsers || (!a.user.empty() && a.user == b.user);
}

}  // namespace septule::plan
