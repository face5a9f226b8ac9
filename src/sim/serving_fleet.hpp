#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "serve/deployment.hpp"
#include "sim/serving_sim.hpp"

namespace septule::sim {

/// An occupant of an instance, with what it yields at present.
struct ServingMember {
  serve::Occupant as;  ///< as it runs (or will, once ready)
  SimTime ready;
  std::optional<serve::Occupant> next;  ///< with other processes or share, warming up beside it
  SimTime next_ready = SimTime::never();
  SimTime leaves = SimTime::never();  ///< handed over then to what warms up beside it
  int move = -1;  ///< that started it: index into the moves of the run, -1 = was there before
  int next_move = -1;

  /// Of one that serves: requests per second within the SLO once ready, and one batch's time.
  double capacity_rps = 0;
  Duration latency;
  serve::MpsCompany company = serve::MpsCompany::kAlone;
  double retraining_speed = 0;  ///< of one that retrains, relative to the whole GPU
};

/// An instance that stands on a GPU.
struct LiveInstance {
  int gpu = 0;
  std::optional<gpu::PlacedProfile> placed;  ///< nothing = the whole GPU without MIG
  std::optional<int> size;                   ///< index into the lattice's sizes; nothing = whole
  ComputeSlices slices;
  std::vector<ServingMember> members;  ///< in the order of the deployment, then those that leave
};

/// An occupant started.
struct ServingMove {
  int tenant = 0;
  serve::Role role = serve::Role::kServe;
  SimTime begin;
  SimTime ready;
  bool has_free_slot = false;  ///< nobody was stopped to make room for it
  /// Serving occupants stopped to make room: tenant and capacity.
  std::vector<std::pair<int, double>> stopped;
};

/// What stands on the GPUs of the serving simulator and how it changes by order. Instances by GPU,
/// then as in the deployment. One thread.
class ServingFleet {
 public:
  /// `setup` outlives the fleet and is valid.
  explicit ServingFleet(const ServingSimSetup& setup);

  /// Why an order cannot be carried out; empty = it can.
  std::vector<std::string> find_faults(const serve::Deployment& wanted) const;
  enum class Setting { kWarmsUp, kReady };
  /// Carries out a legal order. Returns what was started, in the order of the deployment; none for
  /// kReady. `moves_before` is the number of moves of the run so far.
  std::vector<ServingMove> apply(const serve::Deployment& wanted,
                                 SimTime now,
                                 Setting setting,
                                 int moves_before);
  /// Puts what is ready by `now` in the place of what it replaces, and updates what everything
  /// yields: in company is who shares the instance with another that is ready and serves, or
  /// retrains with work left (`is_retraining`, by tenant). Calls with nothing new are cheap.
  void settle(SimTime now, const std::vector<bool>& is_retraining);

  const serve::Deployment& current() const { return current_; }
  std::span<const LiveInstance> instances() const { return instances_; }
  /// Changes whenever instances, occupants or what they yield change.
  std::int64_t generation() const { return generation_; }

 private:
  struct Order;
  std::vector<std::string> find_gpu_faults(int gpu, const serve::GpuDeployment& wanted) const;
  std::vector<std::string> find_occupant_faults(int gpu,
                                                const serve::ServingInstance& instance) const;
  std::vector<std::string> find_retraining_faults(const serve::Deployment& wanted) const;
  LiveInstance make_instance(int gpu, const serve::ServingInstance& wanted) const;
  void apply_gpu(Order& order, const serve::GpuDeployment& wanted, std::span<LiveInstance> before);
  void fill_new(Order& order, const serve::ServingInstance& wanted, LiveInstance& instance);
  void fill_kept(Order& order, const serve::ServingInstance& wanted, LiveInstance& instance);
  bool may_hand_over(const LiveInstance& instance,
                     const serve::ServingInstance& wanted,
                     const serve::Occupant& from) const;
  std::optional<Bytes> memory_of(const LiveInstance& instance, const serve::Occupant& as) const;
  ServingMember start(Order& order, const serve::Occupant& occupant, Duration driver);
  void replace(Order& order, const serve::Occupant& occupant, ServingMember& member);
  Duration warm_up(int tenant);
  void update_yield(const LiveInstance& instance, ServingMember& member) const;
  void update_company(LiveInstance& instance, SimTime now) const;
  void update_next_change(SimTime now);

  const ServingSimSetup* setup_;
  serve::MpsShareModel shares_;
  serve::Deployment current_;
  std::vector<LiveInstance> instances_;
  std::vector<Rng> warm_up_rngs_;  ///< by tenant
  SimTime next_change_;            ///< when settle() has something to do
  std::vector<bool> is_retraining_;
  std::int64_t generation_ = 0;
};

}  // namespace septule::sim
