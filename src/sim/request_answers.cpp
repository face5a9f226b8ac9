#include "sim/request_answers.hpp"

#include <algorithm>
#include <utility>

namespace septule::sim {
namespace {

constexpr Duration kSecond = Duration::milliseconds(1000);

}  // namespace

RequestAnswers::RequestAnswers(const ServingSimSetup& setup, serve::DispatchRule dispatch)
    : setup_(&setup), dispatch_(dispatch), shares_(setup.options.phi) {
  const Rng root(setup.options.seed);
  for (std::size_t i = 0; i < setup.tenants.size(); ++i) {
    lines_.emplace_back(root.stream("arrivals", i));
  }
}

std::optional<double> RequestAnswers::latency_ms(std::size_t tenant, double quantile) const {
  const std::optional<Duration> latency = lines_[tenant].latencies.quantile(quantile);
  return latency ? std::optional(latency->to_seconds() * 1e3) : std::nullopt;
}

const serve::ServiceTimes* RequestAnswers::service_times(const ServiceKey& key) {
  auto found = services_.find(key);
  if (found == services_.end()) {
    const auto& profile = setup_->tenants[static_cast<std::size_t>(key.tenant)].tenant.profile;
    auto made = serve::ServiceTimes::of_profile(profile,
                                                {.slices = ComputeSlices(key.slices),
                                                 .batch = key.batch,
                                                 .processes = key.processes,
                                                 .share = ActiveThreadPercentage(key.share),
                                                 .company = key.company},
                                                shares_);
    found = services_.emplace(key, std::move(made)).first;
  }
  const std::optional<serve::ServiceTimes>& times = found->second;
  return times ? &*times : nullptr;
}

void RequestAnswers::add_server(const LiveInstance& instance,
                                const ServingMember& member,
                                std::vector<Server>& before,
                                SimTime now) {
  const ServiceKey key{.tenant = member.as.tenant,
                       .slices = instance.slices.value(),
                       .batch = member.as.batch,
                       .processes = member.as.processes,
                       .share = member.as.share.value(),
                       .company = member.company};
  const serve::ServiceTimes* service = service_times(key);
  if (service == nullptr) {
    return;
  }
  const auto t = static_cast<std::size_t>(key.tenant);
  const auto old = std::find_if(before.begin(), before.end(), [&](const Server& server) {
    return server.service.tenant == key.tenant && server.gpu == instance.gpu &&
           server.placed == instance.placed;
  });
  std::vector<Server>& servers = lines_[t].servers;
  if (old != before.end() && old->service.processes == key.processes &&
      old->ready == member.ready) {
    servers.push_back(std::move(*old));
    before.erase(old);
    if (servers.back().service != key) {
      servers.back().queue.set_service(*service);
    }
  } else {
    const serve::BatchingOptions options{.processes = key.processes,
                                         .slo = setup_->tenants[t].tenant.slo,
                                         .late = setup_->options.late == LateAnswers::kDropped
                                                     ? serve::LateRule::kDropped
                                                     : serve::LateRule::kAnswered,
                                         .ready = std::max(member.ready, now),
                                         .waiting_max = setup_->options.waiting_max};
    servers.push_back({.gpu = instance.gpu,
                       .placed = instance.placed,
                       .service = key,
                       .queue = serve::BatchingQueue(*service, options)});
  }
  servers.back().service = key;
  servers.back().capacity_rps = member.capacity_rps;
  servers.back().ready = member.ready;
  servers.back().sent = 0;
}

void RequestAnswers::update_servers(SimTime now, const ServingFleet& fleet) {
  if (fleet.generation() == generation_) {
    return;
  }
  generation_ = fleet.generation();
  std::vector<Server> before;
  for (TenantLine& line : lines_) {
    std::move(line.servers.begin(), line.servers.end(), std::back_inserter(before));
    line.servers.clear();
  }
  for (const LiveInstance& instance : fleet.instances()) {
    for (const ServingMember& member : instance.members) {
      if (member.as.role == serve::Role::kServe) {
        add_server(instance, member, before, now);
      }
    }
  }
  for (TenantLine& line : lines_) {
    std::stable_sort(line.servers.begin(), line.servers.end(), [](const auto& a, const auto& b) {
      return a.service.slices < b.service.slices;
    });
  }
  // Lines of those that went are sent anew.
  for (Server& gone : before) {
    std::vector<SimTime>& held = lines_[static_cast<std::size_t>(gone.service.tenant)].held;
    const std::vector<SimTime> waiting = gone.queue.take_waiting();
    held.insert(held.end(), waiting.begin(), waiting.end());
    std::sort(held.begin(), held.end());
  }
}

void RequestAnswers::draw_arrivals(TenantLine& line, SimTime now, double rate) {
  constexpr double kNanoseconds = 1e9;
  const auto add = [&](double offset) {
    drawn_.push_back(now + Duration::nanoseconds(static_cast<std::int64_t>(offset * kNanoseconds)));
  };
  drawn_.clear();
  if (setup_->options.arrivals == ArrivalDraw::kPoisson) {
    if (rate <= 0) {
      return;
    }
    for (double at = line.arrivals.exponential(1 / rate); at < 1;
         at += line.arrivals.exponential(1 / rate)) {
      add(at);
    }
    return;
  }
  for (line.owed += rate; line.owed >= 1; line.owed -= 1) {
    add(line.arrivals.uniform());
  }
  std::sort(drawn_.begin(), drawn_.end());
}

RequestAnswers::Server* RequestAnswers::choose(std::size_t tenant,
                                               const serve::BatchingQueue::Request& request) {
  TenantLine& line = lines_[tenant];
  Server* best = nullptr;
  if (dispatch_ == serve::DispatchRule::kProportional) {
    double least = 0;
    for (Server& server : line.servers) {
      if (server.ready > request.joins || server.capacity_rps <= 0) {
        continue;
      }
      const double fill = (server.sent + 1) / server.capacity_rps;
      if (best == nullptr || fill < least) {
        best = &server;
        least = fill;
      }
    }
    return best;
  }
  const SimTime due = request.arrived + setup_->tenants[tenant].tenant.slo;
  SimTime earliest;
  for (Server& server : line.servers) {
    if (server.ready > request.joins) {
      continue;
    }
    server.queue.advance(request.joins, line.answers);
    const SimTime finish = server.queue.predicted_finish(request.joins);
    if (finish <= due) {
      return &server;
    }
    if (best == nullptr || finish < earliest) {
      best = &server;
      earliest = finish;
    }
  }
  return best;
}

void RequestAnswers::send(std::size_t tenant,
                          const serve::BatchingQueue::Request& request,
                          TenantSecond& second) {
  TenantLine& line = lines_[tenant];
  Server* server = choose(tenant, request);
  if (server == nullptr) {
    if (line.held.size() < static_cast<std::size_t>(setup_->options.waiting_max)) {
      line.held.push_back(request.arrived);
    } else {
      second.missed += 1;
    }
    return;
  }
  server->queue.advance(request.joins, line.answers);
  server->sent += 1;
  if (!server->queue.arrive(request)) {
    second.missed += 1;
  }
}

void RequestAnswers::send_held(std::size_t tenant, SimTime until, TenantSecond& second) {
  TenantLine& line = lines_[tenant];
  SimTime ready = SimTime::never();
  for (const Server& server : line.servers) {
    ready = std::min(ready, server.queue.ready());
  }
  if (ready > until) {
    return;
  }
  for (const SimTime arrived : std::exchange(line.held, {})) {
    send(tenant, {.arrived = arrived, .joins = std::max({arrived, ready, begin_})}, second);
  }
}

void RequestAnswers::drop_late_held(std::size_t tenant, SimTime end, TenantSecond& second) {
  if (setup_->options.late == LateAnswers::kAnswered) {
    return;
  }
  const Duration slo = setup_->tenants[tenant].tenant.slo;
  const auto gone =
      std::erase_if(lines_[tenant].held, [&](SimTime arrived) { return arrived + slo < end; });
  second.missed += static_cast<double>(gone);
}

void RequestAnswers::count(std::size_t tenant, SimTime end, TenantSecond& second) {
  TenantLine& line = lines_[tenant];
  const Duration slo = setup_->tenants[tenant].tenant.slo;
  std::size_t left = 0;
  for (const serve::Answer& answer : line.answers) {
    if (answer.finished > end) {
      line.answers[left++] = answer;
      continue;
    }
    const Duration latency = answer.finished - answer.arrived;
    if (answer.is_answered) {
      line.latencies.add(latency);
    }
    (answer.is_answered && latency <= slo ? second.in_slo : second.missed) += 1;
  }
  line.answers.resize(left);
  std::size_t waiting = left + line.held.size();
  for (const Server& server : line.servers) {
    waiting += server.queue.waiting_count();
  }
  second.waiting = static_cast<double>(waiting);
}

void RequestAnswers::serve_tenant(std::size_t tenant, SimTime now, TenantSecond& second) {
  TenantLine& line = lines_[tenant];
  draw_arrivals(line, now, setup_->rates[tenant].at(now));
  second.arrived = static_cast<double>(drawn_.size());
  send_held(tenant, now, second);
  for (const SimTime arrived : drawn_) {
    if (!line.held.empty()) {
      send_held(tenant, arrived, second);
    }
    send(tenant, {.arrived = arrived, .joins = arrived}, second);
  }
  const SimTime end = now + kSecond;
  send_held(tenant, end, second);
  for (Server& server : line.servers) {
    server.queue.advance(end, line.answers);
  }
  drop_late_held(tenant, end, second);
  count(tenant, end, second);
}

void RequestAnswers::serve_second(SimTime now,
                                  const ServingFleet& fleet,
                                  std::span<TenantSecond> seconds) {
  begin_ = now;
  update_servers(now, fleet);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    serve_tenant(i, now, seconds[i]);
  }
}

}  // namespace septule::sim
