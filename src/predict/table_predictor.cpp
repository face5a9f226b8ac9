#include "predict/table_predictor.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace septule::predict {
namespace {

/// Profiles whose largest step time normalises all of them (miso.md 3.4: 7g, 4g and 3g).
constexpr std::size_t kNormalising = 3;
/// However large the error, no profile is believed more than ten times as fast as it is.
constexpr double kPredictedPartMin = 0.1;

}  // namespace

TablePredictor::TablePredictor(const SpeedBook& book, const Options& options)
    : book_(&book), options_(options), fit_(book) {
  if (options.knowledge != Knowledge::kPerJob) {
    remembered_.resize(book.size());
    for (Remembered& signature : remembered_) {
      signature.is_known = options.knowledge == Knowledge::kEverything;
    }
  }
}

void TablePredictor::submitted(const job::JobSpec& job) {
  Known& of = jobs_.add(job.id);
  of.signature = job.signature;
  of.fit = fit_.of(job);
  if (options_.knowledge != Knowledge::kPerJob) {
    of.row = shared_row(job.signature, of.fit.level);
  }
}

const SpeedRow* TablePredictor::speeds(job::JobId job) const {
  const Known& of = jobs_.of(job);
  if (of.is_forgotten) {
    return nullptr;
  }
  if (options_.knowledge == Knowledge::kPerJob) {
    return of.row;
  }
  return remembered_[static_cast<std::size_t>(of.signature.value())].is_known ? of.row : nullptr;
}

std::optional<KernelUse> TablePredictor::kernels(job::JobId job) const {
  const job::SignatureIndex signature = jobs_.of(job).signature;
  const std::optional<int> count = book_->signature(signature).kernel_count;
  if (speeds(job) == nullptr || !count.has_value()) {
    return std::nullopt;
  }
  return KernelUse{.count = *count, .step = book_->whole_step(signature)};
}

std::optional<ProfileIndex> TablePredictor::smallest(job::JobId job) const {
  return jobs_.of(job).fit.smallest;
}

Bytes TablePredictor::need(job::JobId job) const {
  return jobs_.of(job).fit.need;
}

void TablePredictor::characterised(std::span<const MpsSample> run) {
  for (const MpsSample& sample : run) {
    learn(sample);
  }
}

void TablePredictor::learn(const MpsSample& sample) {
  Known& of = jobs_.of(sample.job);
  of.signature = sample.signature;
  of.is_forgotten = false;
  if (options_.knowledge != Knowledge::kPerJob) {
    remembered_[static_cast<std::size_t>(of.signature.value())].is_known = true;
    of.row = shared_row(of.signature, of.fit.level);
    return;
  }
  if (is_exact() && !fit_.is_cut_by(of.signature, of.fit.level)) {
    of.row = &book_->row(of.signature);
    return;
  }
  if (of.own_row == nullptr) {
    of.own_row = std::make_unique<SpeedRow>();
  }
  *of.own_row =
      make_row(of.signature, of.fit.level, static_cast<std::uint64_t>(sample.job.value()));
  of.row = of.own_row.get();
}

void TablePredictor::forget(job::JobId job) {
  jobs_.of(job).is_forgotten = true;
}

/// The row that all jobs of this signature and level share: made once, stays where it is.
const SpeedRow* TablePredictor::shared_row(job::SignatureIndex signature, int level) {
  const int cut = fit_.is_cut_by(signature, level) ? level : 0;
  if (is_exact() && cut == 0) {
    return &book_->row(signature);
  }
  std::vector<Variant>& variants =
      remembered_[static_cast<std::size_t>(signature.value())].variants;
  for (const Variant& variant : variants) {
    if (variant.level == cut) {
      return variant.row.get();
    }
  }
  variants.push_back({.level = cut,
                      .row = std::make_unique<SpeedRow>(make_row(
                          signature, cut, static_cast<std::uint64_t>(signature.value())))});
  return variants.back().row.get();
}

SpeedRow TablePredictor::make_row(job::SignatureIndex signature,
                                  int level,
                                  std::uint64_t stream) const {
  SpeedRow row = book_->row(signature);
  const double whole = row.on(book_->whole_profile());
  if (!is_exact() && whole > 0) {
    // Step times in units of the largest of the largest profiles that fit; in speeds: the smallest.
    const std::span<const ProfileIndex> plain = book_->plain_profiles();
    double slowest = whole;
    for (std::size_t i = plain.size() - std::min(kNormalising, plain.size()); i < plain.size();
         ++i) {
      const double speed = row.on(plain[i]);
      slowest = speed > 0 ? std::min(slowest, speed) : slowest;
    }
    Rng rng = Rng(options_.seed).stream("prediction", stream);
    std::array<double, kProfilesMax> predicted{};
    for (const ProfileIndex index : plain) {
      // Drawn for every profile, also where the job does not fit: the stream stays the same.
      const double size = rng.normal(options_.error.mean, options_.error.sd);
      const double error = rng.chance(1, 2) ? size : -size;
      const double speed = row.on(index);
      if (speed > 0) {
        const double time = slowest / speed;
        predicted[static_cast<std::size_t>(index.value())] =
            std::max(time + error, kPredictedPartMin * time);
      }
    }
    const double whole_time = predicted[static_cast<std::size_t>(book_->whole_profile().value())];
    for (const ProfileIndex index : plain) {
      double& speed = row.speed[static_cast<std::size_t>(index.value())];
      speed =
          speed > 0 ? whole * whole_time / predicted[static_cast<std::size_t>(index.value())] : 0;
    }
  }
  fit_.cut(row, level);
  return row;
}

}  // namespace septule::predict
