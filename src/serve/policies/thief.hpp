#pragma once

#include <optional>
#include <span>
#include <vector>

namespace septule::serve {

/// What the thief scheduler knows of one tenant. Tables are by quanta, 0 .. the number of quanta.
struct ThiefTenant {
  struct Retraining {
    /// Seconds from now until complete; infinity = never with so little.
    std::vector<double> finish_s;
    double accuracy_after = 0;  ///< as estimated
  };
  std::vector<double> rate_rps;  ///< answered within the SLO; [0] is 0
  double expected_rps = 0;       ///< mean over the window
  double accuracy = 0;           ///< of the model that answers now
  std::optional<Retraining> retraining;
};

/// Who gets how many quanta.
struct ThiefAllocation {
  std::vector<int> inference;   ///< by tenant
  std::vector<int> retraining;  ///< by tenant; 0 = not retrained
  double value = 0;             ///< mean over tenants of the window-average accuracy
};

/// Ekya's thief scheduler (NSDI'22; serving.md 3.1) over one GPU of `quanta` > 0 quanta and a
/// window of `window_s` > 0 seconds from now.
///
/// Jobs: the inference of each tenant, then each retraining. Begins with equal parts (remainder to
/// the first). Each job in turn is thief; it steals quantum by quantum from each other job as long
/// as the value rises, and gives the last one back when it does not; until a whole pass changes
/// nothing. Value: mean over tenants of min(1, rate / expected) x window-average accuracy (the old
/// accuracy until retraining finishes, the new one after it; a retraining that does not pay is not
/// run). A request that is not answered counts as a wrong answer, so that starving inference is
/// never free. Ekya's own objective, which counts tenants alike whatever their traffic.
///
/// Deterministic; local search, no certificate. Cost: O(jobs^2 x quanta) values per pass, and every
/// pass but the last raises the value; kThiefPassesMax limits them.
ThiefAllocation thief_schedule(std::span<const ThiefTenant> tenants, int quanta, double window_s);
inline constexpr int kThiefPassesMax = 64;

}  // namespace septule::serve
