#include "predict/measured_co_run.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::predict {
namespace {

Error invalid(std::string_view what, std::size_t row, const std::string& why) {
  return {.code = ErrorCode::kInvalidInput,
          .message = fmt::format("measured {} {}: {}", what, row + 1, why)};
}

Status check_row(std::string_view what,
                 std::size_t row,
                 std::optional<ProfileIndex> profile,
                 std::span<const double> figures) {
  if (profile.has_value() && (profile->value() < 0 || profile->value() >= kProfilesMax)) {
    return invalid(
        what,
        row,
        fmt::format("profile number {}; valid: 0 to {}", profile->value(), kProfilesMax - 1));
  }
  for (const double figure : figures) {
    if (!std::isfinite(figure) || figure <= 0) {
      return invalid(what, row, fmt::format("figure {}; valid: finite and above 0", figure));
    }
  }
  return {};
}

std::size_t place_of(std::optional<ProfileIndex> profile) {
  return profile.has_value() ? static_cast<std::size_t>(profile->value()) + 1 : 0;
}

/// Whether it is one without a percentage.
bool is_plain(const CoRunClient& client) {
  return !client.atp.has_value() || client.atp->value() == 100;
}

}  // namespace

Result<std::unique_ptr<MeasuredCoRunModel>> MeasuredCoRunModel::make(
    std::size_t job_count,
    std::span<const MeasuredSpeed> speeds,
    std::span<const MeasuredPair> pairs) {
  // The constructor is private.
  std::unique_ptr<MeasuredCoRunModel> made(new MeasuredCoRunModel());
  made->job_count_ = job_count;
  made->figures_[0].alone.assign(job_count, 1);
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const MeasuredSpeed& row = speeds[i];
    SEPTULE_TRY_STATUS(check_row("speed", i, row.profile, {&row.speed, 1}));
    if (row.job >= job_count) {
      return invalid("speed", i, fmt::format("job number {} of {}", row.job, job_count));
    }
    std::vector<double>& alone = made->figures_[place_of(row.profile)].alone;
    alone.resize(job_count);
    if (alone[row.job] > 0) {
      return invalid("speed", i, fmt::format("job number {} has one there already", row.job));
    }
    alone[row.job] = row.speed;
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const MeasuredPair& row = pairs[i];
    SEPTULE_TRY_STATUS(check_row("pair", i, row.profile, row.slowdown));
    if (row.first >= job_count || row.second >= job_count || row.first == row.second) {
      return invalid("pair",
                     i,
                     fmt::format("job numbers {} and {}; valid: two different ones below {}",
                                 row.first,
                                 row.second,
                                 job_count));
    }
    std::vector<double>& together = made->figures_[place_of(row.profile)].together;
    together.resize(job_count * job_count);
    double& first = together[row.first * job_count + row.second];
    if (first > 0) {
      return invalid(
          "pair",
          i,
          fmt::format("job numbers {} and {} have one there already", row.first, row.second));
    }
    first = 1 / row.slowdown[0];
    together[row.second * job_count + row.first] = 1 / row.slowdown[1];
    made->only_slows_ = made->only_slows_ && row.slowdown[0] >= 1 && row.slowdown[1] >= 1;
  }
  return made;
}

void MeasuredCoRunModel::rates(const CoRunPlace& place,
                               std::span<const CoRunClient> clients,
                               std::span<double> out) const {
  SEPTULE_CHECK(!clients.empty(), "somebody runs");
  SEPTULE_CHECK(clients.size() == out.size(), "one rate for each client");
  std::ranges::fill(out, 0);
  const std::size_t at = place_of(place.profile);
  SEPTULE_CHECK(at < figures_.size(), "the GPU has the profile");
  const Figures& figures = figures_[at];
  if (place.compute.size() > 1 || clients.size() > 2 || figures.alone.empty() ||
      !std::ranges::all_of(clients, is_plain)) {
    return;
  }
  if (clients.size() == 1) {
    out[0] = figures.alone[clients[0].job];
    return;
  }
  if (figures.together.empty()) {
    return;
  }
  const std::size_t a = clients[0].job;
  const std::size_t b = clients[1].job;
  out[0] = figures.alone[a] * figures.together[a * job_count_ + b];
  out[1] = figures.alone[b] * figures.together[b * job_count_ + a];
}

}  // namespace septule::predict
