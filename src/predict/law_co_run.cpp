#include "predict/law_co_run.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::predict {
namespace {

Error invalid(std::size_t job, const std::string& what) {
  return {.code = ErrorCode::kInvalidInput, .message = fmt::format("job {}: {}", job + 1, what)};
}

constexpr int kAllThreads = 100;

/// Two and three jobs that take turns are prepared for up to so many jobs (some milliseconds).
constexpr std::size_t kTurnsPreparedMax = 16;

/// The percentage of a client or a seat; all threads where there is none.
template <class T>
int atp_of(const T& of) {
  return of.atp.has_value() ? of.atp->value() : kAllThreads;
}

bool is_part(double value) {
  return std::isfinite(value) && value >= 0;
}

bool is_law(const SoloLaw& law) {
  return is_part(law.serial) && is_part(law.compute) && is_part(law.memory) &&
         law.serial + law.compute + law.memory > 0 && law.usable > 0 && law.usable <= 1;
}

using Order = std::array<std::uint8_t, gpu::kSeatsMax>;

/// Indices by compute instance, then job: sums are the same to the last bit however the clients
/// stand.
Order sorted(std::span<const CoRunClient> clients) {
  Order order{};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const auto is_before = [&clients, i](std::uint8_t other) {
      return clients[i].compute != clients[other].compute
                 ? clients[i].compute < clients[other].compute
                 : clients[i].job < clients[other].job;
    };
    std::size_t at = i;
    for (; at > 0 && is_before(order[at - 1]); --at) {
      order[at] = order[at - 1];
    }
    order[at] = static_cast<std::uint8_t>(i);
  }
  return order;
}

/// Compute slices of a compute instance; 0 for the whole GPU.
int size_of(const CoRunPlace& place, int compute) {
  if (!place.profile.has_value()) {
    return 0;
  }
  const auto index = static_cast<std::size_t>(compute);
  SEPTULE_CHECK(index < place.compute.size(), "the place has the compute instance");
  return place.compute[index].size.value();
}

/// A job's step there.
SoloTerms terms_of(const LawJob& job, const Resources& at) {
  return job.model != nullptr ? job.model->solo().predict(at).terms : job.law.terms(at);
}

/// SMs of a compute instance of so many slices, as part of those of its GPU instance.
double compute_part(const gpu::Geometry& gpu, ProfileIndex index, int size) {
  const gpu::GpuInstanceProfile& profile = gpu.profile(index);
  if (size == profile.slices.value()) {
    return 1;
  }
  for (const gpu::ComputeInstanceProfile& compute : gpu.compute_profiles(index)) {
    if (compute.slices.value() == size && compute.sm_count.has_value() &&
        profile.sm_count.has_value()) {
      return static_cast<double>(*compute.sm_count) / static_cast<double>(*profile.sm_count);
    }
  }
  return static_cast<double>(size) / static_cast<double>(profile.slices.value());
}

}  // namespace

/// Clients of parted_rates() and what they are made of.
struct LawCoRunModel::Units {
  std::array<PartedClient, gpu::kSeatsMax> parted{};
  std::size_t count = 0;
  /// By client of rates(): its unit, its rate relative to the whole GPU before the units slow each
  /// other, and the part of its step that is not serial then.
  std::array<std::uint8_t, gpu::kSeatsMax> unit{};
  std::array<double, gpu::kSeatsMax> rate{};
  std::array<double, gpu::kSeatsMax> work{};

  void add(const PartedClient& client) { parted[count++] = client; }
};

Result<std::unique_ptr<LawCoRunModel>> LawCoRunModel::make(
    const gpu::Geometry& gpu,
    std::span<const LawJob> jobs,
    std::span<const gpu::MemoryDomain> asked) {
  // The constructor is private.
  std::unique_ptr<LawCoRunModel> made(new LawCoRunModel());
  made->sizes_ = gpu.compute_slices().value() + 1;
  made->parts_.resize((gpu.profiles().size() + 1) * static_cast<std::size_t>(made->sizes_));
  made->instance_compute_.assign(1, 1);
  for (std::size_t i = 0; i < gpu.profiles().size(); ++i) {
    const ProfileIndex profile(static_cast<int>(i));
    const Result<PlaceResources> at =
        place_resources({.gpu = &gpu, .profile = profile}, ActiveThreadPercentage(kAllThreads));
    SEPTULE_CHECK(at.has_value(), "a GPU's own profile has resources");
    made->instance_compute_.push_back(at->resources.compute);
    for (int size = 1; size <= gpu.profile(profile).slices.value(); ++size) {
      made->parts_[made->place_index(profile, size)] = {
          .compute = at->resources.compute * compute_part(gpu, profile, size),
          .bandwidth = at->resources.bandwidth};
    }
  }
  for (const LawJob& job : jobs) {
    SEPTULE_TRY_STATUS(made->add(gpu, job));
  }
  made->prepare(asked);
  return made;
}

Status LawCoRunModel::add(const gpu::Geometry& gpu, const LawJob& from) {
  const std::size_t index = jobs_.size();
  Job job;
  job.from = from;
  if (from.model != nullptr) {
    const Result<PlaceResources> whole =
        from.model->resources({.gpu = &gpu}, ActiveThreadPercentage(kAllThreads), from.ratio);
    if (!whole) {
      return invalid(index, whole.error().message);
    }
    job.whole = whole->resources;
  } else if (!is_law(from.law)) {
    return invalid(index,
                   fmt::format("its law is serial {}, compute {}, memory {}, usable {}; valid: "
                               "parts that are not negative and not all 0, usable in (0, 1]",
                               from.law.serial,
                               from.law.compute,
                               from.law.memory,
                               from.law.usable));
  }
  const SoloTerms whole = terms_of(from, job.whole);
  job.whole_step = whole.step();
  // Work as it counts for turns: interference_client() with one kernel.
  const double work = interference_client(whole, 1).kernel_length;
  if (from.kernel.has_value()) {
    if (*from.kernel <= Duration()) {
      return invalid(
          index,
          fmt::format("its kernels take {} ns; valid: above 0", from.kernel->to_nanoseconds()));
    }
    job.knows_kernel = true;
    job.kernel_part = work > 0 ? static_cast<double>(from.kernel->to_nanoseconds()) / work : 0;
  } else if (from.model != nullptr && from.model->kernel_count().has_value()) {
    constexpr double kNanosecondsPerSecond = 1e9;
    job.knows_kernel = true;
    job.kernel_part =
        kNanosecondsPerSecond / static_cast<double>(from.model->kernel_count().value_or(1));
  }
  if (const Status known = add_known(gpu, job); !known) {
    return invalid(index, known.error().message);
  }
  jobs_.push_back(std::move(job));
  return {};
}

/// Fills `scale`.
Status LawCoRunModel::add_known(const gpu::Geometry& gpu, Job& job) const {
  job.scale.assign(gpu.profiles().size(), 1);
  std::vector<bool> is_named(gpu.profiles().size(), false);
  for (const KnownSpeed& known : job.from.known) {
    const int value = known.profile.value();
    const auto index = static_cast<std::size_t>(value);
    if (value < 0 || index >= gpu.profiles().size()) {
      return Error{.code = ErrorCode::kInvalidInput,
                   .message = fmt::format("{} has no profile number {}; valid: below {}",
                                          gpu.key(),
                                          value,
                                          gpu.profiles().size())};
    }
    const gpu::GpuInstanceProfile& profile = gpu.profile(known.profile);
    if (is_named[index]) {
      return Error{.code = ErrorCode::kInvalidInput,
                   .message = fmt::format("its speed on {} is given twice", profile.name)};
    }
    if (!is_part(known.speed)) {
      return Error{
          .code = ErrorCode::kInvalidInput,
          .message = fmt::format(
              "its speed on {} is {}; valid: 0 (does not fit) or more", profile.name, known.speed)};
    }
    is_named[index] = true;
    const Part& part = parts_[place_index(known.profile, profile.slices.value())];
    Resources at = job.whole;
    at.compute *= part.compute;
    at.bandwidth *= part.bandwidth;
    job.scale[index] = known.speed * terms_of(job.from, at).step() / job.whole_step;
  }
  return {};
}

std::size_t LawCoRunModel::place_index(const std::optional<ProfileIndex>& profile, int size) const {
  const auto row = static_cast<std::size_t>(profile.has_value() ? profile->value() + 1 : 0);
  return row * static_cast<std::size_t>(sizes_) + static_cast<std::size_t>(size);
}

std::size_t LawCoRunModel::place_of(const gpu::MemoryDomain& domain, std::size_t seat) const {
  const auto compute = static_cast<std::size_t>(domain.seats[seat].compute);
  return place_index(domain.profile,
                     domain.compute.empty() ? 0 : domain.compute[compute].size.value());
}

void LawCoRunModel::prepare(std::span<const gpu::MemoryDomain> asked) {
  atp_slot_.fill(-1);
  atp_slot_[kAllThreads] = 0;
  for (const gpu::MemoryDomain& domain : asked) {
    for (const gpu::Seat& seat : domain.seats) {
      std::int16_t& slot = atp_slot_[static_cast<std::size_t>(atp_of(seat))];
      if (slot < 0) {
        slot = static_cast<std::int16_t>(atp_count_++);
      }
    }
  }
  prepared_.assign(parts_.size() * atp_count_, -1);
  std::vector<std::pair<std::size_t, double>> wanted;  // place, part of its threads
  for (const gpu::MemoryDomain& domain : asked) {
    for (std::size_t seat = 0; seat < domain.seats.size(); ++seat) {
      const int atp = atp_of(domain.seats[seat]);
      const std::size_t place = place_of(domain, seat);
      const auto slot = static_cast<std::size_t>(atp_slot_[static_cast<std::size_t>(atp)]);
      std::int16_t& at = prepared_[place * atp_count_ + slot];
      if (at < 0) {
        at = static_cast<std::int16_t>(wanted.size());
        wanted.emplace_back(place, static_cast<double>(atp) / kAllThreads);
      }
    }
  }
  prepared_count_ = wanted.size();
  table_.reserve(jobs_.size() * prepared_count_);
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    for (const auto& [place, share] : wanted) {
      table_.push_back(work_out(job, place, share));
    }
  }
  prepare_turns(asked);
}

LawCoRunModel::Alone LawCoRunModel::work_out(std::size_t job,
                                             std::size_t place,
                                             double share) const {
  const Job& of = jobs_[job];
  const Part& part = parts_[place];
  Resources at = of.whole;
  at.compute *= part.compute * share;
  at.bandwidth *= part.bandwidth;
  const SoloTerms terms = terms_of(of.from, at);
  const double step = terms.step();
  const InterferenceClient client = interference_client(terms, 1);
  const auto row = place / static_cast<std::size_t>(sizes_);
  return {.speed = of.whole_step / step * (row == 0 ? 1 : of.scale[row - 1]),
          .serial = client.serial,
          .memory = terms.memory / step,
          .busy = client.busy,
          .kernel_length = client.kernel_length * of.kernel_part};
}

LawCoRunModel::Alone LawCoRunModel::alone(std::size_t job, std::size_t place, int atp) const {
  const int slot = atp_slot_[static_cast<std::size_t>(atp)];
  const int index = slot < 0 ? -1 : prepared_[place * atp_count_ + static_cast<std::size_t>(slot)];
  return index < 0 ? work_out(job, place, static_cast<double>(atp) / kAllThreads)
                   : table_[job * prepared_count_ + static_cast<std::size_t>(index)];
}

bool LawCoRunModel::share_by_parts(std::size_t place, const Together& of, Units& units) const {
  int sum = 0;
  for (const std::uint8_t i : of.order) {
    sum += atp_of(of.clients[i]);
  }
  for (const std::uint8_t i : of.order) {
    const CoRunClient& client = of.clients[i];
    const int atp = atp_of(client);
    const double share =
        capped_part(static_cast<double>(atp) / kAllThreads, static_cast<double>(sum) / kAllThreads);
    const Alone alone_there =
        sum > kAllThreads ? work_out(client.job, place, share) : alone(client.job, place, atp);
    if (!(alone_there.speed > 0)) {
      return false;
    }
    units.unit[i] = static_cast<std::uint8_t>(units.count);
    units.rate[i] = alone_there.speed;
    units.work[i] = 1 - alone_there.serial;
    units.add(
        {.part = of.part * share, .serial = alone_there.serial, .memory = alone_there.memory});
  }
  return true;
}

/// Rates relative to alone there of jobs that take turns, ascending. False where it is not known.
bool LawCoRunModel::take_turns(std::size_t place,
                               std::span<const std::size_t> jobs,
                               std::span<double> out) const {
  std::array<InterferenceClient, gpu::kSeatsMax> sharing{};
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const Alone there = alone(jobs[k], place, kAllThreads);
    if (!jobs_[jobs[k]].knows_kernel || !(there.speed > 0)) {
      return false;
    }
    sharing[k] = {.serial = there.serial, .busy = there.busy, .kernel_length = there.kernel_length};
  }
  InterferenceModel{}.rates(std::span(sharing).first(jobs.size()), out);
  return true;
}

void LawCoRunModel::prepare_turns(std::span<const gpu::MemoryDomain> asked) {
  turns_.resize(parts_.size());
  const std::size_t count = jobs_.size();
  if (count > kTurnsPreparedMax) {
    return;
  }
  for (const gpu::MemoryDomain& domain : asked) {
    for (std::size_t seat = 0; seat < domain.seats.size(); ++seat) {
      const std::size_t place = place_of(domain, seat);
      // Two neighbours without percentages take turns.
      const bool has_turns = seat > 0 && !domain.seats[seat].atp.has_value() &&
                             domain.seats[seat].compute == domain.seats[seat - 1].compute;
      if (!has_turns || !turns_[place].pairs.empty()) {
        continue;
      }
      for (std::size_t b = 1; b < count; ++b) {
        for (std::size_t a = 0; a < b; ++a) {
          take_turns(place, std::array{a, b}, turns_[place].pairs.emplace_back());
        }
      }
      for (std::size_t c = 2; c < count; ++c) {
        for (std::size_t b = 1; b < c; ++b) {
          for (std::size_t a = 0; a < b; ++a) {
            take_turns(place, std::array{a, b, c}, turns_[place].trios.emplace_back());
          }
        }
      }
    }
  }
}

/// Null = not prepared.
const double* LawCoRunModel::prepared_turns(std::size_t place,
                                            std::span<const std::size_t> jobs) const {
  const Turns& turns = turns_[place];
  if (turns.pairs.empty() || jobs.size() > 3) {
    return nullptr;
  }
  const std::size_t pair = jobs[1] * (jobs[1] - 1) / 2 + jobs[0];
  if (jobs.size() == 2) {
    return turns.pairs[pair].data();
  }
  const std::size_t c = jobs[2];
  return turns.trios[c * (c - 1) * (c - 2) / 6 + pair].data();
}

bool LawCoRunModel::share_by_turns(std::size_t place, const Together& of, Units& units) const {
  const std::size_t count = of.order.size();
  std::array<std::size_t, gpu::kSeatsMax> jobs{};
  for (std::size_t k = 0; k < count; ++k) {
    jobs[k] = of.clients[of.order[k]].job;
  }
  const auto sharing = std::span<const std::size_t>(jobs).first(count);
  std::array<double, gpu::kSeatsMax> worked_out{};
  const double* rates = prepared_turns(place, sharing);
  if (rates == nullptr) {
    if (!take_turns(place, sharing, std::span(worked_out).first(count))) {
      return false;
    }
    rates = worked_out.data();
  }
  double work = 0;
  double memory = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Alone there = alone(jobs[k], place, kAllThreads);
    const double rate = rates[k];
    if (!(rate > 0)) {
      return false;
    }
    const std::uint8_t i = of.order[k];
    work += rate * (1 - there.serial);
    memory += rate * there.memory;
    units.unit[i] = static_cast<std::uint8_t>(units.count);
    units.rate[i] = there.speed * rate;
    units.work[i] = 1 - there.serial * rate;
  }
  work = std::min(work, 1.0);
  units.add({.part = of.part, .serial = 1 - work, .memory = std::min(memory, work)});
  return true;
}

void LawCoRunModel::rates(const CoRunPlace& place,
                          std::span<const CoRunClient> clients,
                          std::span<double> out) const {
  const std::size_t count = clients.size();
  SEPTULE_CHECK(count >= 1, "somebody runs");
  SEPTULE_CHECK(count <= gpu::kSeatsMax, "a domain has at most kSeatsMax clients");
  SEPTULE_CHECK(count == out.size(), "one rate for each client");
  const Order order = sorted(clients);
  const std::size_t row =
      place.profile.has_value() ? static_cast<std::size_t>(place.profile->value()) + 1 : 0;
  SEPTULE_CHECK(row < instance_compute_.size(), "the GPU has the profile");
  std::ranges::fill(out, 0);
  Units units;
  for (std::size_t begin = 0; begin < count;) {
    const int compute = clients[order[begin]].compute;
    std::size_t end = begin;
    bool has_percentages = false;
    for (; end < count && clients[order[end]].compute == compute; ++end) {
      SEPTULE_CHECK(clients[order[end]].job < jobs_.size(), "the window has the job");
      has_percentages |= atp_of(clients[order[end]]) < kAllThreads;
    }
    const int size = size_of(place, compute);
    const std::size_t index = place_index(place.profile, size);
    SEPTULE_CHECK(index < parts_.size(), "the GPU has the profile");
    const Together of{.clients = clients,
                      .order = std::span(order).subspan(begin, end - begin),
                      .part = parts_[index].compute / instance_compute_[row]};
    const bool takes_turns = end - begin > 1 && !has_percentages;
    if (!(takes_turns ? share_by_turns(index, of, units) : share_by_parts(index, of, units))) {
      return;
    }
    begin = end;
  }
  // As much longer as its unit's work takes, so much longer take its own parts that are not serial.
  std::array<double, gpu::kSeatsMax> longer{};
  if (units.count > 1) {
    std::array<double, gpu::kSeatsMax> slowed{};
    const auto parted = std::span(units.parted).first(units.count);
    parted_rates(parted, kPartContention, std::span(slowed).first(units.count));
    for (std::size_t unit = 0; unit < units.count; ++unit) {
      const double work = 1 - parted[unit].serial;
      longer[unit] = work > 0 ? (1 / slowed[unit] - 1) / work : 0;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = units.rate[i] / (1 + units.work[i] * longer[units.unit[i]]);
  }
}

}  // namespace septule::predict
