#include "optimize/fit_explanation.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "optimize/packing_space.hpp"

namespace septule::optimize {
namespace {

bool is_idle(const gpu::ObservedInstance& instance) {
  return instance.effective_hold() == gpu::Hold::kIdle;
}

// Tries what the end of some jobs would do.
class FreeingSearch {
 public:
  FreeingSearch(const gpu::Inventory& inventory,
                const RequestList& request,
                IdleRule idle_rule,
                WorkBudget& budget)
      : inventory_(inventory), request_(request), idle_rule_(idle_rule), budget_(budget) {}

  std::vector<FreeingSet> run() {
    std::size_t busy_max = 0;
    for (const gpu::ObservedGpu& gpu : inventory_.gpus) {
      busy_max = std::max(busy_max, busy_of(gpu).size());
    }
    for (std::size_t size = 1; size <= busy_max && found_.empty(); ++size) {
      for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
        std::vector<std::size_t> chosen;
        choose(gpu, busy_of(inventory_.gpus[gpu]), 0, size, chosen);
      }
    }
    return std::move(found_);
  }

  bool is_complete() const { return !budget_.is_exhausted(); }

 private:
  static std::vector<std::size_t> busy_of(const gpu::ObservedGpu& gpu) {
    std::vector<std::size_t> busy;
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      if (gpu.instances[i].effective_hold() == gpu::Hold::kBusy) {
        busy.push_back(i);
      }
    }
    return busy;
  }

  // All single instances are listed; of larger sets only the first.
  bool is_enough(std::size_t size) const { return size > 1 && !found_.empty(); }

  void choose(std::size_t gpu,
              const std::vector<std::size_t>& busy,
              std::size_t from,
              std::size_t size,
              std::vector<std::size_t>& chosen) {
    if (chosen.size() == size) {
      try_set(gpu, chosen);
      return;
    }
    for (std::size_t i = from; i < busy.size(); ++i) {
      if (is_enough(size) || budget_.is_exhausted()) {
        return;
      }
      chosen.push_back(busy[i]);
      choose(gpu, busy, i + 1, size, chosen);
      chosen.pop_back();
    }
  }

  void try_set(std::size_t index, const std::vector<std::size_t>& chosen) {
    const gpu::ObservedGpu& gpu = inventory_.gpus[index];
    gpu::ObservedGpu after = gpu;
    FreeingSet set;
    set.gpu = gpu.index;
    for (const std::size_t i : chosen) {
      set.instances.push_back(gpu.instances[i].placed);
      set.names.push_back(gpu::observed_text(gpu, gpu.instances[i]));
      std::erase_if(after.instances, [&](const gpu::ObservedInstance& instance) {
        return instance.placed == gpu.instances[i].placed;
      });
    }
    // A single instance that fits nowhere now can only go where something ended.
    gpu::Inventory node;
    if (request_.instance_count() > 1) {
      node = inventory_;
      node.gpus[index] = std::move(after);
    } else {
      node.gpus.push_back(std::move(after));
    }
    const auto packing =
        pack_instances(node, {request_, PackingPolicy::kPack, idle_rule_}, budget_);
    if (packing) {
      set.idle = packing->destroyed;
      set.places = packing->packed;
      found_.push_back(std::move(set));
    }
  }

  const gpu::Inventory& inventory_;
  const RequestList& request_;
  IdleRule idle_rule_;
  WorkBudget& budget_;
  std::vector<FreeingSet> found_;
};

void explain_help(const gpu::Inventory& inventory,
                  const RequestList& request,
                  WorkBudget& budget,
                  FitExplanation& explanation) {
  const bool has_idle = std::ranges::any_of(inventory.gpus, [](const gpu::ObservedGpu& gpu) {
    return std::ranges::any_of(gpu.instances, is_idle);
  });
  if (has_idle) {
    const auto packing =
        pack_instances(inventory, {request, PackingPolicy::kPack, IdleRule::kMayDestroy}, budget);
    if (packing) {
      explanation.idle_enough = packing->destroyed;
    }
  }
  Result<Defragmentation> moves = defragment(inventory, request, budget);
  if (moves) {
    explanation.moves = std::move(moves).value();
  } else {
    explanation.moves_refused = moves.error().message;
  }
  FreeingSearch search(inventory,
                       request,
                       explanation.idle_enough ? IdleRule::kKeep : IdleRule::kMayDestroy,
                       budget);
  explanation.freeing = search.run();
  explanation.is_freeing_complete = search.is_complete();
}

}  // namespace

Result<FitExplanation> explain_fit(const gpu::Inventory& inventory,
                                   const RequestList& request,
                                   WorkBudget& budget) {
  FitExplanation explanation;
  const PackingProblem problem{request, PackingPolicy::kPack, IdleRule::kKeep};
  auto packing = pack_instances(inventory, problem, budget);
  if (!packing && packing.error().code != ErrorCode::kBlocked) {
    return packing.error();
  }
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    for (std::size_t item = 0; item < request.items.size(); ++item) {
      explanation.gpus.push_back(explain_fit_on(gpu, request.items[item]));
      explanation.gpus.back().item = item;
    }
  }
  if (packing) {
    explanation.is_fitting = true;
    explanation.recommended = std::move(packing).value().packed;
    return explanation;
  }
  explanation.reason =
      packing_limit(inventory, search_space_of(inventory, request, problem.idle_rule), problem);
  explain_help(inventory, request, budget, explanation);
  return explanation;
}

}  // namespace septule::optimize
