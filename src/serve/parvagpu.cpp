#include "serve/parvagpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::serve {

namespace {

constexpr int kSlicesAll = 7;
constexpr std::array<int, 5> kSizes = {1, 2, 3, 4, 7};
constexpr int kInstancesOfServiceMax = 10000;
/// GPUs with at most so many slices in use are broken up.
constexpr int kLittleUsed = 4;
/// Where an instance of a size may start, first choice first.
std::span<const int> starts_of(int size) {
  static constexpr std::array<int, 1> kFirst = {0};
  static constexpr std::array<int, 1> kThree = {4};
  static constexpr std::array<int, 3> kTwo = {0, 4, 2};
  static constexpr std::array<int, 7> kOne = {0, 6, 4, 1, 2, 3, 5};
  switch (size) {
    case 1:
      return kOne;
    case 2:
      return kTwo;
    case 3:
      return kThree;
    default:
      return kFirst;
  }
}

/// What a service gets out of each size, by size.
struct Service {
  int index = 0;
  double rate = 0;
  std::array<const ProfileRow*, kSlicesAll + 1> point{};
  int best = 0;  // size of most throughput per slice
  int last = 0;  // size for what is left

  double throughput(int size) const {
    return point[static_cast<std::size_t>(size)]->throughput_rps;
  }
  bool has(int size) const { return point[static_cast<std::size_t>(size)] != nullptr; }
};

struct Piece {
  std::size_t service = 0;
  int size = 0;
};

struct Gpu {
  std::array<std::optional<Piece>, kSlicesAll> at{};  // by start
  int used = 0;
};

bool is_admissible(const ProfileRow& row, double limit_ms, SuspectRows suspect, int processes_max) {
  return static_cast<double>(row.latency.to_nanoseconds()) / 1e6 < limit_ms &&
         row.processes <= processes_max && row.share.value() == 100 &&
         !(row.is_suspect && suspect == SuspectRows::kDropped);
}

Result<Service> configure(const ParvaGpuService& given,
                          int index,
                          SuspectRows suspect,
                          int processes_max) {
  Service service{.index = index, .rate = given.rate_rps};
  const std::int64_t slo_ms = given.tenant->slo.to_nanoseconds() / 1000000;
  const double limit_ms = static_cast<double>(slo_ms) / 2 * 0.9;
  std::vector<const ProfileRow*> rows;
  for (const ProfileRow& row : given.tenant->profile.rows) {
    if (is_admissible(row, limit_ms, suspect, processes_max)) {
      rows.push_back(&row);
    }
  }
  std::ranges::stable_sort(rows, [](const ProfileRow* a, const ProfileRow* b) {
    return std::tuple(a->slices, a->batch, a->processes) <
           std::tuple(b->slices, b->batch, b->processes);
  });
  double most = 0;
  for (const ProfileRow* row : rows) {
    const int size = row->slices.value();
    if (std::ranges::find(kSizes, size) == kSizes.end()) {
      continue;
    }
    const ProfileRow*& point = service.point[static_cast<std::size_t>(size)];
    if (point == nullptr || row->throughput_rps > point->throughput_rps) {
      point = row;
    }
    if (row->throughput_rps / size > most) {
      most = row->throughput_rps / size;
      service.best = size;
    }
  }
  if (service.best == 0) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("tenant '{}': no row of its profile has a latency below {} ms, which "
                             "is 0.45 of its SLO",
                             given.tenant->name,
                             limit_ms)};
  }
  if (!(given.rate_rps > 0) ||
      given.rate_rps / service.throughput(service.best) > kInstancesOfServiceMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("tenant '{}': a rate of {} requests/s cannot be deployed; it must be "
                             "above 0 and take at most {} instances",
                             given.tenant->name,
                             given.rate_rps,
                             kInstancesOfServiceMax)};
  }
  return service;
}

/// The allocator and what it has placed so far.
class Allocator {
 public:
  explicit Allocator(std::span<const Service> services) : services_(services) {}

  const std::vector<Gpu>& gpus() const { return gpus_; }

  void enqueue(Piece piece) { queues_[static_cast<std::size_t>(piece.size)].push_back(piece); }

  /// Places all that is queued, larger sizes first.
  void place_all() {
    for (int size = kSlicesAll; size >= 1; --size) {
      std::deque<Piece>& queue = queues_[static_cast<std::size_t>(size)];
      for (; !queue.empty(); queue.pop_front()) {
        place(queue.front());
      }
    }
  }

  void compact() {
    std::vector<double> carry(services_.size(), 0);
    for (std::size_t g = gpus_.size(); g-- > 0;) {
      if (gpus_[g].used > kLittleUsed) {
        continue;
      }
      for (std::size_t start = 0; start < kSlicesAll; ++start) {
        if (gpus_[g].at[start].has_value()) {
          break_up(g, start, carry);
        }
      }
    }
  }

 private:
  static std::optional<std::size_t> free_start(const Gpu& gpu, int size) {
    if (gpu.used + size > kSlicesAll) {
      return std::nullopt;
    }
    for (const int start : starts_of(size)) {
      if (!gpu.at[static_cast<std::size_t>(start)].has_value()) {
        return static_cast<std::size_t>(start);
      }
    }
    return std::nullopt;
  }

  /// On the GPU that is fullest afterwards, the first of equals, or on a new one.
  void place(const Piece& piece) {
    std::size_t chosen = gpus_.size();
    int most = -1;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      if (gpus_[g].used > most && free_start(gpus_[g], piece.size).has_value()) {
        most = gpus_[g].used;
        chosen = g;
      }
    }
    if (chosen == gpus_.size()) {
      gpus_.emplace_back();
    }
    Gpu& gpu = gpus_[chosen];
    const std::size_t start =
        checked_value(free_start(gpu, piece.size), "an empty GPU takes any size");
    gpu.at[start] = piece;
    gpu.used += piece.size;
  }

  /// Takes an instance away and places what serves as much, in pieces of 2g and 1g.
  void break_up(std::size_t gpu, std::size_t start, std::vector<double>& carry) {
    const Piece piece = checked_value(std::exchange(gpus_[gpu].at[start], std::nullopt),
                                      "only what is there is broken up");
    gpus_[gpu].used -= piece.size;
    const Service& service = services_[piece.service];
    double& need = carry[piece.service];
    need += service.throughput(piece.size == service.best ? service.best : service.last);
    int twos = 0;
    int ones = 0;
    if (service.has(1) && service.has(2) && service.throughput(2) / 2 > service.throughput(1)) {
      twos = static_cast<int>(std::floor(need / service.throughput(2)));
      ones = static_cast<int>(
          std::ceil((need - twos * service.throughput(2)) / service.throughput(1)));
    } else if (service.has(1)) {
      ones = static_cast<int>(std::ceil(need / service.throughput(1)));
    } else if (service.has(2)) {
      twos = static_cast<int>(std::ceil(need / service.throughput(2)));
    } else {
      return;
    }
    for (int i = 0; i < twos; ++i) {
      enqueue({piece.service, 2});
      need -= service.throughput(2);
    }
    for (int i = 0; i < ones; ++i) {
      enqueue({piece.service, 1});
      need -= service.throughput(1);
    }
    place_all();
  }

  std::span<const Service> services_;
  std::vector<Gpu> gpus_;
  std::array<std::deque<Piece>, kSlicesAll + 1> queues_;
};

void enqueue_service(std::size_t position, Service& service, Allocator& allocator) {
  const double best = service.throughput(service.best);
  int copies = static_cast<int>(std::floor(service.rate / best));
  if (copies > 0 && copies * best == service.rate) {
    --copies;
  }
  const double rest = service.rate - copies * best;
  for (const int size : kSizes) {
    if (service.has(size) && rest <= service.throughput(size)) {
      service.last = size;
      break;
    }
  }
  SEPTULE_CHECK(service.last != 0, "the best size serves what is left");
  for (int i = 0; i < copies; ++i) {
    allocator.enqueue({position, service.best});
  }
  allocator.enqueue({position, service.last});
}

}  // namespace

Result<std::vector<ParvaGpuInstance>> deploy_parvagpu(std::span<const ParvaGpuService> services,
                                                      SuspectRows suspect,
                                                      int processes_max) {
  std::vector<std::size_t> order(services.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t s) { return std::string_view(services[s].tenant->name); });
  std::vector<Service> configured;
  for (const std::size_t s : order) {
    SEPTULE_TRY(Service service,
                configure(services[s], static_cast<int>(s), suspect, processes_max));
    configured.push_back(service);
  }
  Allocator allocator(configured);
  for (std::size_t position = 0; position < configured.size(); ++position) {
    enqueue_service(position, configured[position], allocator);
  }
  allocator.place_all();
  allocator.compact();
  std::vector<ParvaGpuInstance> instances;
  for (std::size_t g = 0; g < allocator.gpus().size(); ++g) {
    for (std::size_t start = 0; start < kSlicesAll; ++start) {
      if (const auto& piece = allocator.gpus()[g].at[start]; piece.has_value()) {
        const Service& service = configured[piece->service];
        const ProfileRow& row = *service.point[static_cast<std::size_t>(piece->size)];
        instances.push_back({.gpu = static_cast<int>(g),
                             .service = service.index,
                             .start = static_cast<int>(start),
                             .slices = row.slices,
                             .batch = row.batch,
                             .processes = row.processes,
                             .throughput_rps = row.throughput_rps});
      }
    }
  }
  return instances;
}

Result<FleetPlan> parvagpu_plan(const FleetProblem& problem,
                                std::span<const ParvaGpuInstance> instances) {
  const LayoutLattice& lattice = *problem.lattice;
  FleetPlan plan{.method = "parvagpu"};
  plan.instances.resize(problem.tenants.size());
  std::map<int, SizeTable<int>> gpus;
  for (const ParvaGpuInstance& own : instances) {
    const auto size = lattice.size_of(own.slices);
    if (!size.has_value()) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("{} has no instance of {} compute slices",
                               lattice.geometry().key(),
                               own.slices.value())};
    }
    ++gpus[own.gpu][static_cast<std::size_t>(*size)];
    ++plan.instances[static_cast<std::size_t>(own.service)][static_cast<std::size_t>(*size)];
    plan.gpcs += own.slices.value();
  }
  std::map<int, int> layouts;
  for (const auto& [gpu, counts] : gpus) {
    const auto found =
        std::ranges::find(lattice.multisets(), counts, &LayoutLattice::Multiset::counts);
    if (found == lattice.multisets().end()) {
      return Error{ErrorCode::kNotFound, fmt::format("GPU {} has no legal layout", gpu)};
    }
    ++layouts[static_cast<int>(found - lattice.multisets().begin())];
  }
  for (const auto& [multiset, count] : layouts) {
    plan.layouts.push_back({multiset, count});
    plan.gpus += count;
  }
  for (std::size_t t = 0; t < problem.tenants.size(); ++t) {
    const FleetTenant& tenant = problem.tenants[t];
    double capacity = 0;
    for (std::size_t s = 0; s < kSizesMax; ++s) {
      capacity += tenant.throughput[s] * plan.instances[t][s];
    }
    plan.served_rps.push_back(std::min(capacity, tenant.rate_rps));
    plan.goodput_rps += tenant.weight * tenant.accuracy * plan.served_rps.back();
    plan.goodput_bound += tenant.weight * tenant.accuracy * tenant.rate_rps;
  }
  return plan;
}

}  // namespace septule::serve
