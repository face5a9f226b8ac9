#include "predict/book_co_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "gpu/sharing_template.hpp"

namespace septule::predict {
namespace {

Error invalid(std::size_t job, const std::string& what) {
  return {.code = ErrorCode::kInvalidInput, .message = fmt::format("job {}: {}", job + 1, what)};
}

Status check_believed(const gpu::Geometry& geometry, const BelievedJob& job, std::size_t index) {
  for (std::size_t i = 0; i < geometry.profiles().size(); ++i) {
    const double speed = job.row.speed[i];
    if (!std::isfinite(speed) || speed < 0) {
      return invalid(index,
                     fmt::format("speed {} on {}; valid: 0 (does not fit) or more",
                                 speed,
                                 geometry.profiles()[i].name));
    }
  }
  if (job.kernel_count.value_or(1) < 1) {
    return invalid(
        index, fmt::format("{} kernels in a step; valid: 1 or more", job.kernel_count.value_or(1)));
  }
  if (job.step.has_value() && *job.step <= Duration()) {
    return invalid(index,
                   fmt::format("a step of {} ns; valid: above 0", job.step->to_nanoseconds()));
  }
  return {};
}

/// The steps that give the row's speeds. Steps that are not known are as long as to keep the digits
/// of the speeds; kernels do not count then.
job::PerfSignature signature_of(const gpu::Geometry& geometry,
                                std::span<const ProfileIndex> plain,
                                const BelievedJob& job,
                                double whole) {
  constexpr Duration kStepUnknown = Duration::milliseconds(10000);
  job::PerfSignature signature;
  signature.gpu_key = geometry.key();
  const Duration step = job.step.value_or(kStepUnknown);
  for (const ProfileIndex profile : plain) {
    if (const double speed = job.row.on(profile); speed > 0) {
      signature.times.push_back(
          {.profile = geometry.profile(profile).name,
           .step = std::max(scaled(step, whole / speed), Duration::nanoseconds(1)),
           .first_step = Duration()});
    }
  }
  if (job.step.has_value()) {
    signature.kernel_count = job.kernel_count;
  }
  return signature;
}

}  // namespace

std::unique_ptr<BookCoRunModel> BookCoRunModel::of_book(const SpeedBook& book,
                                                        std::span<const job::SignatureIndex> jobs,
                                                        const BookCoRunOptions& options) {
  // The constructor is private.
  std::unique_ptr<BookCoRunModel> made(new BookCoRunModel());
  made->book_ = &book;
  made->options_ = options;
  for (const job::SignatureIndex signature : jobs) {
    made->jobs_.push_back({.row = book.row(signature), .signature = signature});
  }
  return made;
}

Result<std::unique_ptr<BookCoRunModel>> BookCoRunModel::of_rows(const gpu::Geometry& geometry,
                                                                std::span<const BelievedJob> jobs,
                                                                const BookCoRunOptions& options) {
  std::unique_ptr<BookCoRunModel> made(new BookCoRunModel());
  made->options_ = options;
  const std::vector<ProfileIndex> plain = geometry.profiles_in(gpu::ProfileSet::kPlain);
  const std::optional<ProfileIndex> whole = geometry.plain_profile(geometry.compute_slices());
  std::vector<job::PerfSignature> signatures;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    SEPTULE_TRY_STATUS(check_believed(geometry, jobs[i], i));
    Job job{.row = jobs[i].row, .signature = std::nullopt};
    const double speed = whole.has_value() ? job.row.on(*whole) : 0;
    if (speed > 0) {
      job.signature = job::SignatureIndex(static_cast<int>(signatures.size()));
      signatures.push_back(signature_of(geometry, plain, jobs[i], speed));
      signatures.back().name = fmt::format("job {}", i + 1);
    }
    made->jobs_.push_back(job);
  }
  SEPTULE_TRY(SpeedBook book, SpeedBook::make(geometry, signatures));
  made->book_ = &made->own_book_.emplace(std::move(book));
  return made;
}

void BookCoRunModel::rates(const CoRunPlace& place,
                           std::span<const CoRunClient> clients,
                           std::span<double> out) const {
  const std::size_t count = clients.size();
  SEPTULE_CHECK(count >= 1, "somebody runs");
  SEPTULE_CHECK(count <= gpu::kSeatsMax, "a domain has at most kSeatsMax clients");
  SEPTULE_CHECK(count == out.size(), "one rate for each client");
  std::ranges::fill(out, 0);
  if (place.compute.size() > 1) {
    return;
  }
  bool has_limit = false;
  std::array<std::size_t, gpu::kSeatsMax> order{};
  for (std::size_t i = 0; i < count; ++i) {
    const Job& job = jobs_[clients[i].job];
    if (!job.signature.has_value() ||
        (place.profile.has_value() && job.row.on(*place.profile) == 0)) {
      return;
    }
    has_limit = has_limit || clients[i].atp.value_or(ActiveThreadPercentage(100)).value() < 100;
    order[i] = i;
  }
  const bool is_whole = place.profile == book_->whole_profile();
  if (count == 1 && !has_limit) {
    const double speed =
        place.profile.has_value() ? jobs_[clients[0].job].row.on(*place.profile) : 1;
    out[0] = speed * (is_whole ? options_.whole_instance_speed : 1);
    return;
  }
  // By job: the same to the last bit in any order of the clients.
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), [&](auto a, auto b) {
    return clients[a].job < clients[b].job;
  });
  std::array<MpsClient, gpu::kSeatsMax> sharing{};
  std::array<double, gpu::kSeatsMax> speeds{};
  for (std::size_t k = 0; k < count; ++k) {
    const CoRunClient& client = clients[order[k]];
    sharing[k] = {.signature = checked_value(jobs_[client.job].signature, "it fits the place"),
                  .atp = client.atp.value_or(ActiveThreadPercentage(100))};
  }
  options_.mps.speeds(*book_,
                      place.profile.value_or(book_->whole_profile()),
                      std::span(sharing).first(count),
                      std::span(speeds).first(count));
  for (std::size_t k = 0; k < count; ++k) {
    out[order[k]] = speeds[k];
  }
}

}  // namespace septule::predict
