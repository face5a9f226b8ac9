#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "serve/batching_queue.hpp"
#include "sim/serving_answers.hpp"

namespace septule::sim {

/// Request mode: each request arrives at a moment of its own, is sent to one ready occupant of its
/// tenant by the policy's dispatch rule, waits in its line (serve/batching_queue.hpp) and is
/// answered with its batch.
///  - kSlack: the occupant of the smallest instance (ties: in the order of the instances) whose
///    predicted finish is within the SLO, else the one that would finish first.
///  - kProportional: the ready occupant with the least (requests sent + 1) / capacity since what
///    stands on the GPUs last changed.
/// While nobody is ready requests are held and sent on when somebody is. The line of an occupant
/// that goes is sent anew; its running batches end. Service times follow company and share, as they
/// are at the begin of each second. Requests count in the second in which they are answered or
/// lost. Tenants touch each other only through company, so each is simulated by itself, in order.
/// One thread; cost per request proportional to the occupants looked at.
class RequestAnswers final : public ServingAnswers {
 public:
  /// `setup` outlives this.
  RequestAnswers(const ServingSimSetup& setup, serve::DispatchRule dispatch);
  void serve_second(SimTime now,
                    const ServingFleet& fleet,
                    std::span<TenantSecond> seconds) override;
  std::optional<double> latency_ms(std::size_t tenant, double quantile) const override;

 private:
  /// What a queue's service times follow from.
  struct ServiceKey {
    int tenant = 0;
    int slices = 0;
    int batch = 1;
    int processes = 1;
    int share = 100;
    serve::MpsCompany company = serve::MpsCompany::kAlone;
    friend auto operator<=>(const ServiceKey&, const ServiceKey&) = default;
  };
  /// An occupant that serves.
  struct Server {
    int gpu = 0;
    std::optional<gpu::PlacedProfile> placed;
    ServiceKey service;
    double capacity_rps = 0;
    SimTime ready;
    double sent = 0;
    serve::BatchingQueue queue;
  };
  struct TenantLine {
    explicit TenantLine(Rng rng) : arrivals(rng) {}
    Rng arrivals;
    double owed = 0;              ///< fraction of a request carried over (ArrivalDraw::kExact)
    std::vector<Server> servers;  ///< by slices, then in the order of the instances
    std::vector<SimTime> held;    ///< while nobody is ready, oldest first
    std::vector<serve::Answer> answers;  ///< not yet counted: running at the end of a second
    serve::LatencyHistogram latencies;
  };

  void update_servers(SimTime now, const ServingFleet& fleet);
  void add_server(const LiveInstance& instance,
                  const ServingMember& member,
                  std::vector<Server>& before,
                  SimTime now);
  const serve::ServiceTimes* service_times(const ServiceKey& key);
  void draw_arrivals(TenantLine& line, SimTime now, double rate);
  /// Sends a request on, or holds it; counts it as missed where there is no room.
  void send(std::size_t tenant, const serve::BatchingQueue::Request& request, TenantSecond& second);
  Server* choose(std::size_t tenant, const serve::BatchingQueue::Request& request);
  void send_held(std::size_t tenant, SimTime until, TenantSecond& second);
  void serve_tenant(std::size_t tenant, SimTime now, TenantSecond& second);
  void drop_late_held(std::size_t tenant, SimTime end, TenantSecond& second);
  void count(std::size_t tenant, SimTime end, TenantSecond& second);

  const ServingSimSetup* setup_;
  serve::DispatchRule dispatch_;
  serve::MpsShareModel shares_;
  std::map<ServiceKey, std::optional<serve::ServiceTimes>> services_;
  std::vector<TenantLine> lines_;
  std::int64_t generation_ = -1;
  SimTime begin_;               ///< of the second being served
  std::vector<SimTime> drawn_;  ///< arrivals of the tenant and second being served
};

}  // namespace septule::sim
