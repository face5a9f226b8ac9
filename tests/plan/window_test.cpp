#include "plan/window.hpp"

#include <gtest/gtest.h>

namespace septule::plan {
namespace {

WindowJob job(std::string user, std::string trust) {
  return {
      .name = "a", .user = std::move(user), .trust = std::move(trust), .memory = {}, .solo = {}};
}

TEST(Window_MayShareMps, EveryCombinationOfUserAndTrust_IsJudgedByTheRules) {
  // Aim: the whole truth table: three users (one not stated), two fault domains, both rules.
  const SharingRules same;
  const SharingRules any{.mps_users = SharingRules::Users::kAnyUsers, .fairness = 0};
  for (const char* user_a : {"", "ann", "bob"}) {
    for (const char* user_b : {"", "ann", "bob"}) {
      for (const char* trust_a : {"", "lab"}) {
        for (const char* trust_b : {"", "lab"}) {
          const WindowJob a = job(user_a, trust_a);
          const WindowJob b = job(user_b, trust_b);
          const bool is_one_domain = a.trust == b.trust;
          const bool is_one_user = a.user == b.user && !a.user.empty();
          EXPECT_EQ(may_share_mps(a, b, same), is_one_domain && is_one_user);
          EXPECT_EQ(may_share_mps(a, b, any), is_one_domain);
        }
      }
    }
  }
}

}  // namespace
}  // namespace septule::plan
