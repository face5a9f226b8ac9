#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"

namespace septule::plan {

/// A queued job of a window, as far as rules judge it. How fast it runs where is a co-run model's
/// business (predict/co_run_model.hpp). A plain value.
struct WindowJob {
  std::string name;             ///< unique in the window
  std::string user;             ///< empty = not stated: a user of its own
  std::string trust;            ///< fault domain; empty is one domain like any other
  std::optional<Bytes> memory;  ///< nothing = not known: it shares its memory domain with nobody
  Duration solo;                ///< alone on the whole GPU, MIG off; > 0
};

/// Who may share what. MPS clients of one server share its fault domain and can see each other's
/// failures; compute instances of one GPU instance do not share a server.
/// - Jobs of different `trust` never share an MPS server (compute instance).
/// - Jobs of different users share one only if allowed.
/// - No job may be slower, over its own run, than `fairness` of its speed alone on the whole GPU.
struct SharingRules {
  enum class Users { kSameUserOnly, kAnyUsers };
  Users mps_users = Users::kSameUserOnly;
  double fairness = 0;  ///< [0, 1]; solo time / time in the group, at least; 0 = no floor
};

/// Whether two jobs may be clients of one MPS server.
bool may_share_mps(const WindowJob& a, const WindowJob& b, const SharingRules& rules);

}  // namespace septule::plan
