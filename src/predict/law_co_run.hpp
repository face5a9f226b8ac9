#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/sharing_template.hpp"
#include "predict/co_run_model.hpp"
#include "predict/interference_model.hpp"
#include "predict/signature_model.hpp"
#include "predict/solo_model.hpp"

namespace septule::predict {

/// How fast a job was measured (or stated) to be alone on an instance.
struct KnownSpeed {
  ProfileIndex profile;
  double speed = 0;  ///< relative to the whole GPU with MIG off; 0 = it does not fit
};

/// What is known of one job of a window. A plain value; `model` outlives who is made of it.
struct LawJob {
  /// Used where `model` is null: the job obeys it exactly. Any unit.
  SoloLaw law{.serial = 0, .compute = 1, .memory = 0, .usable = 1};
  const SignatureModel* model = nullptr;  ///< a belief instead of a law
  std::optional<GpuRatio> ratio;          ///< of the GPU to the one of `model`
  /// Mean length of one of its kernels, alone on the whole GPU. Nothing: as the kernel count of
  /// `model` says, whose steps are in seconds then; otherwise not known.
  std::optional<Duration> kernel;
  /// Hold as they are where it is alone on the whole of that instance, and scale what the law says
  /// of it there in company. Each profile once.
  std::vector<KnownSpeed> known;
};

/// Jobs that obey laws: co-run rates from performance-model.md sections 2 and 4.2, as
/// predict_sharing() has them, and for divided instances.
/// - A compute instance gives its own SMs; all compute instances of a GPU instance share its
///   bandwidth and caches; MIG slices have the SMs and memory slices of place_resources().
/// - In one compute instance without percentages, kernels take turns: InterferenceModel. A kernel
///   length that is not known makes all rates 0.
/// - With percentages each job has its part of the compute instance's SMs (parts of more than 100 %
///   shrink together; one without a percentage among them counts as 100): parted_rates().
/// - Compute instances of one GPU instance: parted_rates() over their parts of its SMs, too. A job
///   with a percentage or alone is one client. Jobs that take turns in a compute instance are one
///   client together [D]: it works for U = min(1, sum of rate x (1 - serial)) of its time, of which
///   it waits for memory sum of rate x memory; by as much as its work takes longer, so much longer
///   take those parts of its jobs' steps that are not serial (own kernels and others' waited for).
/// Nobody is faster in company than alone. Answers for the domains it was made for come from a
/// table (no heap, below 1 us for up to 4 clients); others are worked out anew, without heap too.
/// Immutable; any thread. The geometry outlives it.
class LawCoRunModel final : public CoRunModel {
 public:
  /// `asked`: the domains that answers are prepared for. Fails with kInvalidInput, naming the job
  /// (from 1) and the value: a law without a step, a kernel length that is not positive, a profile
  /// that the GPU has not or that is named twice, a speed that is negative or not finite, and as
  /// SignatureModel::resources() does.
  static Result<std::unique_ptr<LawCoRunModel>> make(const gpu::Geometry& gpu,
                                                     std::span<const LawJob> jobs,
                                                     std::span<const gpu::MemoryDomain> asked);

  std::size_t job_count() const override { return jobs_.size(); }
  /// Of both models that it is made of: what kernels wait for grows with each client's own waiting,
  /// bandwidth is short by a sum, contention is one (tests/optimize/pair_pricing_test.cpp).
  CompanyLaw company_law() const override { return CompanyLaw::kDelaysAddUp; }
  void rates(const CoRunPlace& place,
             std::span<const CoRunClient> clients,
             std::span<double> out) const override;
  bool only_slows() const override { return true; }

 private:
  /// A job alone on a part of a compute instance.
  struct Alone {
    double speed = 0;  ///< relative to the whole GPU; 0 = cannot run there
    double serial = 0;
    double memory = 0;
    double busy = 1;           ///< see InterferenceClient
    double kernel_length = 0;  ///< in nanoseconds; used only if the job's is known
  };
  struct Job {
    LawJob from;
    Resources whole;         ///< what the whole GPU is to it
    double whole_step = 1;   ///< there
    double kernel_part = 0;  ///< nanoseconds of a kernel for one unit of work in a step
    bool knows_kernel = false;
    std::vector<double> scale;  ///< by profile
  };
  struct Part {
    double compute = 1;  ///< of the GPU
    double bandwidth = 1;
  };
  /// Clients of one compute instance, in the order of `rates()`.
  struct Together {
    std::span<const CoRunClient> clients;
    std::span<const std::uint8_t> order;  ///< indices into `clients`
    double part = 1;                      ///< of the domain's SMs
  };
  struct Units;
  /// Rates (relative to alone there) of every two and three jobs that take turns in a place; 0 =
  /// not known. In the order of the jobs.
  struct Turns {
    std::vector<std::array<double, 2>> pairs;
    std::vector<std::array<double, 3>> trios;
  };

  LawCoRunModel() = default;
  Status add(const gpu::Geometry& gpu, const LawJob& from);
  Status add_known(const gpu::Geometry& gpu, Job& job) const;
  void prepare(std::span<const gpu::MemoryDomain> asked);
  void prepare_turns(std::span<const gpu::MemoryDomain> asked);
  bool take_turns(std::size_t place,
                  std::span<const std::size_t> jobs,
                  std::span<double> out) const;
  const double* prepared_turns(std::size_t place, std::span<const std::size_t> jobs) const;
  std::size_t place_of(const gpu::MemoryDomain& domain, std::size_t seat) const;
  std::size_t place_index(const std::optional<ProfileIndex>& profile, int size) const;
  Alone work_out(std::size_t job, std::size_t place, double share) const;
  Alone alone(std::size_t job, std::size_t place, int atp) const;
  /// False where somebody cannot run.
  bool share_by_parts(std::size_t place, const Together& of, Units& units) const;
  bool share_by_turns(std::size_t place, const Together& of, Units& units) const;

  std::vector<Job> jobs_;
  int sizes_ = 1;                         ///< compute slices of the GPU + 1
  std::vector<Part> parts_;               ///< by place
  std::vector<double> instance_compute_;  ///< SMs of the GPU's, by profile + 1
  std::array<std::int16_t, 101> atp_slot_{};
  std::size_t atp_count_ = 1;
  std::size_t prepared_count_ = 0;
  std::vector<std::int16_t> prepared_;  ///< by place and percentage; -1 = not prepared
  std::vector<Alone> table_;            ///< by job, then as `prepared_` says
  std::vector<Turns> turns_;            ///< by place; empty = not prepared
};

}  // namespace septule::predict
