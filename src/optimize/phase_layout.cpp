#include "optimize/phase_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "gpu/partition.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/switch_costs.hpp"

namespace septule::optimize {
namespace {

/// What there is on the GPU: an instance, or the whole GPU (nothing).
using Piece = std::optional<gpu::GpuInstance>;

std::vector<Piece> pieces_of(const GpuCut& cut) {
  std::vector<Piece> pieces;
  if (!cut.has_value()) {
    pieces.emplace_back(std::nullopt);
    return pieces;
  }
  for (const gpu::GpuInstance& instance : cut->instances) {
    pieces.emplace_back(instance);
  }
  return pieces;
}

/// Makes and unmakes instances as time goes on.
class Layer {
 public:
  explicit Layer(const WindowProblem& problem) : problem_(problem) {
    layout_.schedule.geometry = problem.catalogue->geometry;
    cut_ = problem.initial;
    for (const Piece& piece : pieces_of(cut_)) {
      add(piece, Duration());
    }
  }

  void add_phase(const LaidPhase& phase) {
    const gpu::SharingCatalogue& catalogue = *problem_.catalogue;
    change_to(gpu::partition_of(catalogue, catalogue.templates[phase.shape]));
    std::vector<std::size_t>& places = layout_.instances.emplace_back();
    for (const Piece& piece : pieces_of(cut_)) {
      places.push_back(index_of(piece));
    }
    layout_.begins.push_back(now_);
    now_ = now_ + phase.length;
  }

  PhaseLayout finish() {
    layout_.schedule.makespan = now_ - SimTime();
    for (const std::size_t index : open_) {
      layout_.schedule.instances[index].usable_until = now_;
      layout_.schedule.instances[index].gone_at = now_;
    }
    return std::move(layout_);
  }

 private:
  std::size_t index_of(const Piece& piece) const {
    const auto found = std::find_if(
        open_.begin(), open_.end(), [&](std::size_t index) { return pieces_[index] == piece; });
    return found == open_.end() ? pieces_.size() : *found;
  }

  void add(const Piece& piece, Duration making) {
    plan::ScheduledInstance instance;
    if (piece.has_value()) {
      instance.placed = piece->placed;
      instance.compute = piece->compute_instances;
    }
    instance.create_begin = now_;
    now_ = now_ + making;
    instance.usable_from = now_;
    layout_.schedule.recutting += making;
    open_.push_back(layout_.schedule.instances.size());
    layout_.schedule.instances.push_back(std::move(instance));
    pieces_.push_back(piece);
  }

  void remove(std::size_t index) {
    plan::ScheduledInstance& instance = layout_.schedule.instances[index];
    const Duration unmaking =
        pieces_[index].has_value() ? destroy_time(problem_.costs, *pieces_[index]) : Duration();
    instance.usable_until = now_;
    now_ = now_ + unmaking;
    instance.gone_at = now_;
    layout_.schedule.recutting += unmaking;
    std::erase(open_, index);
  }

  void change_to(const GpuCut& next) {
    const std::vector<Piece> wanted = pieces_of(next);
    const std::vector<std::size_t> before = open_;
    for (const std::size_t index : before) {
      if (std::find(wanted.begin(), wanted.end(), pieces_[index]) == wanted.end()) {
        remove(index);
      }
    }
    const bool is_toggled = cut_.has_value() != next.has_value() && problem_.costs != nullptr;
    Duration toggle = is_toggled ? problem_.costs->mig_toggle : Duration();
    cut_ = next;
    for (const Piece& piece : wanted) {
      if (index_of(piece) == pieces_.size()) {
        add(piece, toggle + (piece.has_value() ? create_time(problem_.costs, *piece) : Duration()));
        toggle = Duration();
      }
    }
  }

  const WindowProblem& problem_;
  PhaseLayout layout_;
  GpuCut cut_;
  SimTime now_;
  std::vector<Piece> pieces_;      // by schedule instance
  std::vector<std::size_t> open_;  // schedule instances that exist now
};

}  // namespace

PhaseLayout lay_out_phases(const WindowProblem& problem, std::span<const LaidPhase> phases) {
  Layer layer(problem);
  for (const LaidPhase& phase : phases) {
    layer.add_phase(phase);
  }
  return layer.finish();
}

}  // namespace septule::optimize
