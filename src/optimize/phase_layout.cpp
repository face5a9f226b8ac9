#include "optimize/phase_layout.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.hpp"
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
    // The whole GPU is there when a phase wants it: it was not made.
    if (cut_.has_value()) {
      for (const Piece& piece : pieces_of(cut_)) {
        add(piece, Duration());
      }
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
    const auto& piece = pieces_[index];
    const Duration unmaking = piece.has_value() ? destroy_time(problem_.costs, *piece) : Duration();
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

void lay_out_together(const GroupTimer& timer,
                      std::size_t domain,
                      std::span<const std::size_t> jobs,
                      const plan::ScheduledGroup& group,
                      std::size_t instance,
                      std::vector<plan::ScheduledRun>& out) {
  const WindowProblem& problem = timer.problem();
  std::array<RunPieces, gpu::kSeatsMax> pieces;
  const std::optional<DomainTime> time =
      timer.runs(domain, jobs, group.begin, std::span(pieces).first(jobs.size()));
  SEPTULE_CHECK(time.has_value(), "a group that is laid out is possible");
  for (std::size_t s = 0; s < jobs.size(); ++s) {
    if (jobs[s] == kNoJob) {
      continue;
    }
    const gpu::Seat& seat = problem.catalogue->domains[domain].seats[s];
    plan::ScheduledRun run{
        jobs[s], instance, seat.compute, seat.atp, {pieces[s].begin(), pieces[s].end()}};
    if (problem.clock == GroupClock::kSteadyState) {
      const double rate =
          problem.jobs[jobs[s]].solo.to_seconds() / (group.end - group.begin).to_seconds();
      run.pieces = {{group.begin, group.end, rate}};
    }
    out.push_back(std::move(run));
  }
}

}  // namespace septule::optimize
