#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "job/job.hpp"
#include "plan/window.hpp"
#include "predict/mps_model.hpp"
#include "predict/predictor.hpp"
#include "predict/speed_book.hpp"
#include "sched/goal.hpp"

namespace septule::sched {

/// Clients of one MPS daemon that are looked for: beyond it little is gained (the fourth client of
/// an instance adds some percent), and what is believed of so many was never measured.
inline constexpr std::size_t kClientsMax = 4;

/// A job as a company may get it: what is believed of it. A value.
struct CompanyJob {
  job::JobId id;
  predict::SpeedRow row;
  std::optional<predict::SpeedCurve> curve;   ///< nothing = it shares with nobody
  std::optional<predict::KernelUse> kernels;  ///< nothing = percentages only
  Bytes need;
  plan::WindowJob window;  ///< its name is empty
  double weight = 1;       ///< of its speed in the value of a company
};

/// A place in an instance: which job, and its limit (nothing = alone, or MPS without limits).
struct CompanySeat {
  std::size_t job = 0;  ///< index into the pool
  std::optional<ActiveThreadPercentage> atp;
};

/// A GPU instance with those who share it.
struct CompanyInstance {
  gpu::PlacedProfile placed;
  InlineVector<CompanySeat, kClientsMax> seats;
  /// Somebody runs here already: his seat stays as it is.
  bool is_running = false;
  /// All who run here are clients of a daemon, so that others can join them without a restart.
  bool is_open = false;
  double value = 0;  ///< sum of weight x speed
};

/// Who runs where on one GPU. A value.
struct Company {
  InlineVector<CompanyInstance, kInstancesMax> instances;  ///< used ones, by start
  double value = 0;
};

/// What the seats of one instance are worth, by the belief of a pool of jobs.
///
/// Speeds: predict::MpsModel on curves through the believed speeds, the law that the simulator's
/// truth obeys too; alone as believed. A company is impossible (nothing) if memory does not
/// suffice, somebody's speed is 0 or below the fairness floor, default MPS would share a job whose
/// kernels are not known, or the rules forbid a pair. Pure; one thread.
class CompanyValue {
 public:
  /// All outlive it.
  CompanyValue(const gpu::Geometry& geometry,
               const predict::MpsModel& mps,
               const plan::SharingRules& rules)
      : geometry_(&geometry), mps_(mps), rules_(rules) {}

  std::optional<double> of(std::span<const CompanyJob> pool,
                           ProfileIndex profile,
                           std::span<const CompanySeat> seats) const;
  /// Speeds of the seats relative to the whole GPU; 0 = impossible. Same length.
  void rates(std::span<const CompanyJob> pool,
             ProfileIndex profile,
             std::span<const CompanySeat> seats,
             std::span<double> out) const;
  const plan::SharingRules& rules() const { return rules_; }
  const gpu::Geometry& geometry() const { return *geometry_; }

 private:
  bool may_be_together(std::span<const CompanyJob> pool,
                       ProfileIndex profile,
                       std::span<const CompanySeat> seats) const;

  const gpu::Geometry* geometry_;
  predict::MpsModel mps_;
  plan::SharingRules rules_;
};

/// Fills a GPU with the jobs that fit best together.
///
/// Assumptions: values of instances add up (MIG); running jobs stay where they are; every part of a
/// legal layout is legal.
/// Steps: for each maximal layout that has the running instances, seats are given out one by one:
/// first to the jobs that must get one, then to those that may; each time the job and the instance
/// with which the value grows most. An instance that nobody runs in yet may share in every way
/// (MPS without limits, equal percentages, 25 : 75); one with an open daemon takes who fits into
/// it. Then two who are not running yet change seats as long as the sum grows. The layout with the
/// largest sum wins.
/// Ties (1e-9): the first layout in canonical order, instance by start, job by its place in the
/// list. Cost: layouts (19 at most on A100, 1 to 3 where jobs run) x seats x jobs evaluations of
/// an instance. Allocates in the constructor only. One thread. Ours.
class CompanyFiller {
 public:
  /// Jobs on one GPU at most.
  static constexpr std::size_t kJobsMax = 14;
  /// Who may be seated, at most.
  static constexpr std::size_t kCandidatesMax = 32;

  explicit CompanyFiller(const CompanyValue& value);

  struct Question {
    std::span<const CompanyJob> pool;
    std::span<const CompanyInstance> running;        ///< by start; legal together
    std::span<const std::size_t> must;               ///< indices into the pool
    std::span<const std::size_t> may;                ///< the same, the most urgent first
    std::optional<gpu::Layout> only = std::nullopt;  ///< look at this (legal) layout alone
  };
  /// Nothing if those who must get a seat cannot. The running instances are in the answer.
  std::optional<Company> fill(const Question& question);

 private:
  struct Try;
  struct Gain {
    double gain = 0;
    bool is_possible = false;
    InlineVector<CompanySeat, kClientsMax> seats;
    double value = 0;
  };
  struct Cell {
    Gain gain;
    bool is_fresh = false;
  };
  bool has_running(const gpu::Layout& layout, const Question& question) const;
  std::optional<Company> fill_layout(const Question& question, const gpu::Layout& layout);
  const Gain& gain_of(const Question& question,
                      const CompanyInstance& instance,
                      std::size_t at,
                      std::size_t job);
  Gain best_seats(const Question& question, const CompanyInstance& instance, std::size_t job) const;
  void consider(const Question& question,
                const CompanyInstance& instance,
                const InlineVector<CompanySeat, kClientsMax>& seats,
                Gain& best) const;
  void swap_seats(const Question& question, Company& company) const;
  bool swap_once(const Question& question, Company& company) const;

  const CompanyValue* value_;
  std::vector<gpu::Layout> layouts_;    ///< maximal, by canonical order
  std::vector<bool> is_first_of_kind_;  ///< no twin with the same profiles before it
  std::vector<Cell> cells_;             ///< [instance][pool index], scratch
};

}  // namespace septule::sched
