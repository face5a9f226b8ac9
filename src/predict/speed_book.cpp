#include "predict/speed_book.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/builtin_catalogue.hpp"

namespace septule::predict {
namespace {

using job::PerfSignature;

/// Part of the whole GPU's speed that a synthetic job reaches under MIG (workloads.md section 6).
constexpr double kSyntheticSpeed = 0.97;

Error invalid(const PerfSignature& signature, const std::string& what) {
  return {.code = ErrorCode::kInvalidInput,
          .message = fmt::format("signature {}: {}", quoted_for_message(signature.name), what)};
}

/// Plain profiles by ascending compute slices.
std::vector<ProfileIndex> plain_of(const gpu::Geometry& geometry) {
  std::vector<ProfileIndex> plain = geometry.profiles_in(gpu::ProfileSet::kPlain);
  std::ranges::stable_sort(plain, [&geometry](ProfileIndex a, ProfileIndex b) {
    return geometry.profile(a).slices < geometry.profile(b).slices;
  });
  return plain;
}

/// Orders profiles by memory, then by compute slices. Memory slices stand for the memory, of which
/// they are equal parts: its figure is not published for every profile.
auto memory_order(const gpu::Geometry& geometry, ProfileIndex index) {
  const gpu::GpuInstanceProfile& profile = geometry.profile(index);
  return std::tuple(profile.size(), profile.slices);
}

double share_of(const gpu::Geometry& geometry, ProfileIndex index) {
  return static_cast<double>(geometry.profile(index).slices.value()) /
         static_cast<double>(geometry.compute_slices().value());
}

double ratio(Duration above, Duration below) {
  return static_cast<double>(above.to_nanoseconds()) / static_cast<double>(below.to_nanoseconds());
}

/// Sums of a least-squares fit of t = serial + parallel / share with relative weights: of
/// (serial / t + parallel / (share t) - 1)^2.
struct FitSums {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double a = 0;
  double b = 0;

  void add(double share, double time) {
    const double constant = 1 / time;
    const double slope = 1 / (share * time);
    aa += constant * constant;
    ab += constant * slope;
    bb += slope * slope;
    a += constant;
    b += slope;
  }

  /// The non-negative solution, scaled so that the whole GPU takes 1.
  ScalingFit solve() const {
    const double determinant = aa * bb - ab * ab;
    double serial = (a * bb - b * ab) / determinant;
    double parallel = (b * aa - a * ab) / determinant;
    if (serial < 0) {
      serial = 0;
      parallel = 1;
    } else if (parallel < 0) {
      serial = 1;
      parallel = 0;
    }
    const double sum = serial + parallel;
    return {.serial = serial / sum, .parallel = parallel / sum};
  }
};

template <class Points>
ScalingFit fitted(const Points& points) {
  if (points.size() < 2) {
    return {};
  }
  FitSums sums;
  for (const auto& point : points) {
    sums.add(point.share, points.back().speed / point.speed);
  }
  return sums.solve();
}

/// For each profile of `geometry` the index into signature.times, -1 = none.
using TimeIndex = std::array<std::int8_t, kProfilesMax>;

Result<TimeIndex> index_times(const gpu::Geometry& geometry, const PerfSignature& signature) {
  TimeIndex index{};
  index.fill(-1);
  for (std::size_t i = 0; i < signature.times.size(); ++i) {
    const job::SliceTime& time = signature.times[i];
    const std::string name = quoted_for_message(time.profile);
    const std::optional<ProfileIndex> profile = geometry.find_profile(time.profile);
    if (!profile.has_value() || geometry.profile(*profile).variant != gpu::ProfileVariant::kPlain) {
      return invalid(signature,
                     fmt::format("profile {} is not a plain profile of {}", name, geometry.key()));
    }
    std::int8_t& at = index[static_cast<std::size_t>(profile->value())];
    if (at >= 0) {
      return invalid(signature, fmt::format("profile {} has two times", name));
    }
    if (time.step <= Duration() || time.first_step < Duration()) {
      return invalid(signature,
                     fmt::format("profile {} has a step of {} ns and a first step of {} ns; steps "
                                 "are longer than 0",
                                 name,
                                 time.step.to_nanoseconds(),
                                 time.first_step.to_nanoseconds()));
    }
    // No more than kProfilesMax indices, for no profile comes twice.
    at = static_cast<std::int8_t>(i);
  }
  const std::optional<ProfileIndex> whole = geometry.plain_profile(geometry.compute_slices());
  if (!whole.has_value() || index[static_cast<std::size_t>(whole->value())] < 0) {
    return invalid(signature,
                   fmt::format("no time on the whole {} ({})",
                               geometry.key(),
                               whole.has_value() ? geometry.profile(*whole).name : "no profile"));
  }
  return index;
}

}  // namespace

double SpeedCurve::at(double share) const {
  const Point* before = points.begin();
  if (share < before->share) {
    return below * fit.speed_at(share);
  }
  for (const Point* point = before + 1; point != points.end(); ++point) {
    if (share < point->share) {
      const double part = (share - before->share) / (point->share - before->share);
      return before->speed + part * (point->speed - before->speed);
    }
    before = point;
  }
  return before->speed;
}

std::optional<SpeedCurve> curve_through(const gpu::Geometry& geometry, const SpeedRow& row) {
  SpeedCurve curve;
  for (const ProfileIndex index : plain_of(geometry)) {
    if (row.on(index) > 0) {
      curve.points.push_back({.share = share_of(geometry, index), .speed = row.on(index)});
    }
  }
  if (curve.points.empty() || curve.points.back().share < 1) {
    return std::nullopt;
  }
  curve.fit = fitted(curve.points);
  curve.below = curve.points[0].speed / curve.fit.speed_at(curve.points[0].share);
  return curve;
}

std::optional<Bytes> usable_memory(const gpu::Geometry& geometry, ProfileIndex index) {
  const gpu::GpuInstanceProfile& profile = geometry.profile(index);
  const int gigabytes = geometry.facts().memory_gb.value_or(0);
  if (profile.memory.has_value() || gigabytes == 0) {
    return profile.memory;
  }
  const double mebibytes = kUnpublishedMemoryPart * 1024 * gigabytes * profile.size().value() /
                           geometry.memory_slices().value();
  return Bytes::mebibytes(static_cast<std::uint64_t>(mebibytes));
}

/// Fills a book, one signature after the other. Loads the catalogue when the first signature
/// measured on another GPU model comes.
class SpeedBook::Maker {
 public:
  explicit Maker(SpeedBook& book) : book_(&book), geometry_(book.geometry_) {}

  Status add(const PerfSignature& signature) {
    Entry entry;
    entry.signature = signature;
    entry.time_index.fill(-1);
    entry.whole_step = kSyntheticStep;
    if (signature.synthetic.has_value() == !signature.times.empty()) {
      return invalid(signature, "either times or a synthetic response must be given");
    }
    if (signature.synthetic.has_value()) {
      SEPTULE_TRY_STATUS(add_synthetic(entry));
    } else {
      SEPTULE_TRY(const gpu::Geometry* measured_on, model_of(signature));
      if (measured_on == geometry_) {
        SEPTULE_TRY_STATUS(add_measured(entry));
      } else {
        SEPTULE_TRY_STATUS(add_foreign(entry, *measured_on));
      }
    }
    finish(entry);
    book_->rows_.push_back(std::move(entry));
    return {};
  }

 private:
  Result<const gpu::Geometry*> model_of(const PerfSignature& signature) {
    if (signature.gpu_key == geometry_->key()) {
      return geometry_;
    }
    if (!catalogue_.has_value()) {
      catalogue_.emplace(gpu::load_builtin_catalogue());
    }
    const Result<const gpu::Geometry*> found = catalogue_->find(signature.gpu_key);
    if (!found) {
      return invalid(signature, found.error().message);
    }
    if (!(*found)->has_profile_table()) {
      return invalid(signature,
                     fmt::format("nobody has published profiles of {}", (*found)->key()));
    }
    return (*found)->key() == geometry_->key() ? geometry_ : *found;
  }

  Status add_synthetic(Entry& entry) const {
    const PerfSignature& signature = entry.signature;
    const job::SyntheticResponse response =
        checked_value(signature.synthetic, "a synthetic signature has a response");
    const double saturation = response.saturation;
    if (!(saturation > 0 && saturation <= 1)) {
      return invalid(signature,
                     fmt::format("saturation is {}; valid: above 0, at most 1", saturation));
    }
    if (!signature.memory.has_value()) {
      return invalid(signature, "a synthetic signature needs its memory");
    }
    entry.need = *signature.memory;
    for (const ProfileIndex index : book_->plain_) {
      const gpu::GpuInstanceProfile& profile = geometry_->profile(index);
      const double compute = share_of(*geometry_, index);
      const double memory = static_cast<double>(profile.size().value()) /
                            static_cast<double>(geometry_->memory_slices().value());
      const double share = response.bound == job::Bound::kCompute ? compute : memory;
      const double speed = kSyntheticSpeed * std::min(1.0, share / saturation);
      // The response is known also where the memory is too small: on shared GPUs it counts.
      entry.curve.points.push_back({.share = compute, .speed = speed});
      if (usable_memory(*geometry_, index).value_or(Bytes()) >= entry.need) {
        entry.row.speed[static_cast<std::size_t>(index.value())] = speed;
      }
    }
    entry.curve.fit = fitted(entry.curve.points);
    return {};
  }

  Status add_measured(Entry& entry) const {
    SEPTULE_TRY(entry.time_index, index_times(*geometry_, entry.signature));
    entry.is_measured = true;
    entry.curve.points = points_of(*geometry_, book_->plain_, entry.signature, entry.time_index);
    entry.curve.fit = fitted(entry.curve.points);
    entry.whole_step = step(entry.signature, entry.time_index, book_->whole_);
    std::size_t next = 0;
    for (const ProfileIndex index : book_->plain_) {
      if (entry.time_index[static_cast<std::size_t>(index.value())] >= 0) {
        entry.row.speed[static_cast<std::size_t>(index.value())] = entry.curve.points[next++].speed;
      }
    }
    return {};
  }

  Status add_foreign(Entry& entry, const gpu::Geometry& measured_on) const {
    SEPTULE_TRY(const TimeIndex times, index_times(measured_on, entry.signature));
    const std::vector<ProfileIndex> plain = plain_of(measured_on);
    entry.curve.fit = fitted(points_of(measured_on, plain, entry.signature, times));
    // One point: speed_at() is the fit everywhere.
    entry.curve.points.push_back({.share = 1, .speed = 1});
    entry.whole_step = step(entry.signature, times, plain.back());
    std::optional<ProfileIndex> smallest;
    for (const ProfileIndex index : plain) {
      if (times[static_cast<std::size_t>(index.value())] >= 0 &&
          (!smallest.has_value() ||
           memory_order(measured_on, index) < memory_order(measured_on, *smallest))) {
        smallest = index;
      }
    }
    const std::optional<Bytes> ran_in = usable_memory(
        measured_on, checked_value(smallest, "a measured signature fits the whole GPU"));
    if (!ran_in.has_value()) {
      return invalid(entry.signature,
                     fmt::format("nobody has published the memory of {}", measured_on.key()));
    }
    entry.need = *ran_in;
    const double memory_min = kForeignMemoryPart * static_cast<double>(ran_in->value());
    for (const ProfileIndex index : book_->plain_) {
      const Bytes memory = usable_memory(*geometry_, index).value_or(Bytes());
      if (static_cast<double>(memory.value()) >= memory_min) {
        entry.row.speed[static_cast<std::size_t>(index.value())] =
            entry.curve.fit.speed_at(share_of(*geometry_, index));
      }
    }
    return {};
  }

  /// What follows from row, points and fit.
  void finish(Entry& entry) const {
    for (const ProfileIndex index : book_->plain_) {
      if (entry.row.on(index) > 0 &&
          (!entry.smallest.has_value() ||
           memory_order(*geometry_, index) < memory_order(*geometry_, *entry.smallest))) {
        entry.smallest = index;
      }
    }
    const SpeedCurve::Point& first = entry.curve.points[0];
    entry.curve.below = first.speed / entry.curve.fit.speed_at(first.share);
    if (!entry.smallest.has_value()) {
      return;
    }
    entry.need = entry.signature.need.value_or(
        usable_memory(*geometry_, *entry.smallest).value_or(entry.need));
    for (const ProfileIndex index : book_->plain_) {
      double& speed = entry.row.speed[static_cast<std::size_t>(index.value())];
      if (speed == 0 &&
          memory_order(*geometry_, *entry.smallest) < memory_order(*geometry_, index)) {
        speed = entry.curve.at(share_of(*geometry_, index));
      }
    }
  }

  static Duration step(const PerfSignature& signature,
                       const TimeIndex& times,
                       ProfileIndex profile) {
    const std::int8_t index = times[static_cast<std::size_t>(profile.value())];
    return signature.times[static_cast<std::size_t>(index)].step;
  }

  static InlineVector<SpeedCurve::Point, kPlainProfilesMax> points_of(
      const gpu::Geometry& geometry,
      std::span<const ProfileIndex> plain,
      const PerfSignature& signature,
      const TimeIndex& times) {
    InlineVector<SpeedCurve::Point, kPlainProfilesMax> points;
    const Duration whole = step(signature, times, plain.back());
    for (const ProfileIndex index : plain) {
      if (times[static_cast<std::size_t>(index.value())] >= 0) {
        points.push_back({.share = share_of(geometry, index),
                          .speed = ratio(whole, step(signature, times, index))});
      }
    }
    return points;
  }

  SpeedBook* book_;
  const gpu::Geometry* geometry_;
  std::optional<gpu::Catalogue> catalogue_;
};

Result<SpeedBook> SpeedBook::make(const gpu::Geometry& geometry,
                                  std::span<const PerfSignature> signatures) {
  const std::optional<ProfileIndex> whole = geometry.plain_profile(geometry.compute_slices());
  if (!geometry.has_profile_table() || !whole.has_value()) {
    return Error{.code = ErrorCode::kInvalidInput,
                 .message = fmt::format("no table of profiles up to the whole GPU is published for "
                                        "{}, so nothing can be said of speeds on it",
                                        geometry.key())};
  }
  SpeedBook book;
  book.geometry_ = &geometry;
  book.plain_ = plain_of(geometry);
  book.whole_ = *whole;
  SEPTULE_CHECK(book.plain_.size() <= kPlainProfilesMax,
                "a geometry has at most kPlainProfilesMax plain profiles");
  book.rows_.reserve(signatures.size());
  Maker maker(book);
  for (const PerfSignature& signature : signatures) {
    SEPTULE_TRY_STATUS(maker.add(signature));
  }
  return book;
}

const job::SliceTime* SpeedBook::slice_time(job::SignatureIndex signature,
                                            ProfileIndex profile) const {
  const Entry& of = entry(signature);
  const std::int8_t index = of.time_index[static_cast<std::size_t>(profile.value())];
  return index < 0 ? nullptr : &of.signature.times[static_cast<std::size_t>(index)];
}

}  // namespace septule::predict
