#include "optimize/window_methods.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "optimize/local_search.hpp"
#include "optimize/moldable_window.hpp"
#include "optimize/refill.hpp"
#include "optimize/window_baselines.hpp"
#include "optimize/window_dp.hpp"

namespace septule::optimize {

namespace {

using Made = std::unique_ptr<WindowOptimizer>;

/// The caller's method.
class Learned final : public WindowOptimizer {
 public:
  explicit Learned(const WindowOptimizer& learned) : learned_(learned) {}
  std::string_view name() const override { return learned_.name(); }
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override {
    return learned_.optimize(problem, budget);
  }

 private:
  const WindowOptimizer& learned_;
};

template <Baseline kBaseline>
Made make_baseline(const WindowMethodSetup& /*setup*/) {
  return std::make_unique<BaselineOptimizer>(kBaseline);
}

template <MoldableMethod kMethod>
Made make_moldable(const WindowMethodSetup& /*setup*/) {
  return std::make_unique<MoldableWindow>(kMethod);
}

template <class Method>
Made make_plain(const WindowMethodSetup& /*setup*/) {
  return std::make_unique<Method>();
}

Made make_beam(const WindowMethodSetup& setup) {
  return std::make_unique<BeamOptimizer>(setup.beam_width);
}

Made make_learned(const WindowMethodSetup& setup) {
  SEPTULE_CHECK(setup.learned != nullptr, "the learned method is there when it is made");
  return std::make_unique<Learned>(*setup.learned);
}

Made make_all(const WindowMethodSetup& setup);

std::unique_ptr<WindowPortfolio> portfolio_of(const WindowMethodSetup& setup) {
  std::vector<WindowPortfolio::Entry> methods;
  for (const WindowMethod& method : window_methods()) {
    if (method.make != make_all && (!method.needs_learned || setup.learned != nullptr)) {
      methods.push_back({.method = method.make(setup), .units_enough = method.units_enough});
    }
  }
  return std::make_unique<WindowPortfolio>(std::move(methods));
}

Made make_all(const WindowMethodSetup& setup) {
  return portfolio_of(setup);
}

std::int64_t units_of_local(std::size_t job_count) {
  return LocalOptimizer::kUnitsPerJob * static_cast<std::int64_t>(job_count);
}

/// What is enough for a window of 12 is so for larger ones, in proportion.
std::int64_t units_of_refill(std::size_t job_count) {
  constexpr std::size_t kJobs = 12;
  return RefillOptimizer::kUnitsDefault * static_cast<std::int64_t>(std::max(job_count, kJobs)) /
         static_cast<std::int64_t>(kJobs);
}

// One row per name. The cheap ones first: what they leave of the work goes to the others.
constexpr auto kMethods = std::to_array<WindowMethod>({
    {.name = "time-sharing",
     .summary = "one job at a time on the whole GPU",
     .make = make_baseline<Baseline::kTimeSharing>},
    {.name = "mps-only",
     .summary = "the best groups by MPS alone, MIG off",
     .make = make_baseline<Baseline::kMpsOnly>},
    {.name = "mig-only",
     .summary = "the best groups by MIG alone, one job in each instance",
     .make = make_baseline<Baseline::kMigOnly>},
    {.name = "mig-mps-default",
     .summary = "the best groups by MIG and MPS without percentages",
     .make = make_baseline<Baseline::kMigMpsDefault>},
    {.name = "static",
     .summary = "the best layout that stays, one job in each instance",
     .make = make_moldable<MoldableMethod::kStatic>},
    {.name = "far",
     .summary = "FAR: instances that change size over time, one job in each",
     .make = make_moldable<MoldableMethod::kFar>},
    {.name = "moldable",
     .summary = "as far, searched further; never worse than static and far",
     .make = make_moldable<MoldableMethod::kMoldable>},
    {.name = "greedy",
     .summary = "the group with the best gain first",
     .make = make_plain<GreedyOptimizer>},
    {.name = "beam", .summary = "grows groups, keeps the best few", .make = make_beam},
    {.name = "exact",
     .summary = "the best of all sequences of groups, proven",
     .jobs_max = kTableJobsMax,
     .make = make_plain<WindowDp>},
    {.name = "local",
     .summary = "groups by simulated annealing, for windows of any size",
     .make = make_plain<LocalOptimizer>,
     .units_enough = units_of_local},
    {.name = "refill",
     .summary = "no barriers: the next job takes the seat that got free",
     .make = make_plain<RefillOptimizer>,
     .units_enough = units_of_refill},
    {.name = "rl",
     .summary = "a trained network chooses groups",
     .needs_learned = true,
     .make = make_learned},
    {.name = "all", .summary = "runs all methods, delivers the best", .make = make_all},
});

Status check_setup(const WindowMethodSetup& setup) {
  if (setup.beam_width < 1 || setup.beam_width > BeamOptimizer::kWidthMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the beam's width is {}; valid are 1 to {}",
                             setup.beam_width,
                             BeamOptimizer::kWidthMax)};
  }
  return {};
}

}  // namespace

std::span<const WindowMethod> window_methods() {
  return kMethods;
}

Result<const WindowMethod*> find_window_method(std::string_view name) {
  const auto* found = std::ranges::find(kMethods, name, &WindowMethod::name);
  if (found != kMethods.end()) {
    return found;
  }
  std::vector<std::string> names;
  for (const WindowMethod& method : kMethods) {
    names.emplace_back(method.name);
  }
  const std::vector<std::string> near = nearest_names(name, names, 3);
  return Error{ErrorCode::kNotFound,
               fmt::format("no method is named {}; {}{}",
                           quoted_for_message(name),
                           near.empty() ? "there are " : "near it: ",
                           joined_with_and(near.empty() ? names : near))};
}

Result<std::unique_ptr<WindowOptimizer>> make_window_method(std::string_view name,
                                                            const WindowMethodSetup& setup) {
  SEPTULE_TRY(const WindowMethod* method, find_window_method(name));
  SEPTULE_TRY_STATUS(check_setup(setup));
  if (method->needs_learned && setup.learned == nullptr) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("method {} needs a trained network; none is given", name)};
  }
  return method->make(setup);
}

Result<std::unique_ptr<WindowPortfolio>> make_window_portfolio(const WindowMethodSetup& setup) {
  SEPTULE_TRY_STATUS(check_setup(setup));
  return portfolio_of(setup);
}

}  // namespace septule::optimize
