#include "septule/window_setup.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "predict/speed_book.hpp"

namespace septule::app {

namespace {

/// Where each job's speeds come from, by number in the table.
struct Origins {
  std::vector<std::string> believed;      ///< names: one time and priors
  std::vector<std::string> without_room;  ///< neither memory nor speeds: the whole GPU only
  std::vector<std::string> without_kernel;
  std::vector<std::string> doubted;  ///< a speed above kSpeedDoubted
};

/// Jobs are hardly ever so much faster on an instance than on the whole GPU; percent look like it.
constexpr double kSpeedDoubted = 1.5;

bool has_law(const interop::WindowRow& row) {
  return row.usable.has_value() || row.serial_share.has_value() || row.memory_share.has_value();
}

predict::SoloLaw law_of(const interop::WindowRow& row) {
  const double serial = row.serial_share.value_or(0);
  const double memory = row.memory_share.value_or(0);
  const double usable = row.usable.value_or(1);
  // Of rounding: shares that add up to 1 leave no compute.
  const double compute = std::max(1 - serial - memory, 0.0) * usable;
  return {.serial = serial, .compute = compute, .memory = memory, .usable = usable};
}

/// Makes the jobs of a window one by one.
class JobsMaker {
 public:
  JobsMaker(const gpu::SharingCatalogue& catalogue, const std::string& source_name)
      : catalogue_(catalogue), geometry_(*catalogue.geometry), source_name_(source_name) {}

  Status add(const interop::WindowRow& row) {
    predict::LawJob law;
    law.kernel = row.kernel;
    if (row.has_speeds || !has_law(row)) {
      SEPTULE_TRY(auto model, fitted(row));
      law.model = model.get();
      out_.signatures.push_back(std::move(model));
    } else {
      law.law = law_of(row);
    }
    law.known = known_speeds(row);
    if (std::ranges::any_of(law.known, [](const predict::KnownSpeed& known) {
          return known.speed > kSpeedDoubted;
        })) {
      origins_.doubted.push_back(row.job.name);
    }
    if (!row.kernel.has_value()) {
      origins_.without_kernel.push_back(row.job.name);
    }
    if (!row.has_speeds && !has_law(row)) {
      origins_.believed.push_back(row.job.name);
    }
    if (!row.has_speeds && !row.job.memory.has_value()) {
      origins_.without_room.push_back(row.job.name);
    }
    predict::JobTraits traits = predict::traits_of(geometry_, law, row.job.solo);
    fill(row, traits);
    out_.traits.push_back(traits);
    out_.jobs.push_back(row.job);
    laws_.push_back(std::move(law));
    return {};
  }

  Result<WindowJobs> finish() {
    SEPTULE_TRY(out_.model, predict::LawCoRunModel::make(geometry_, laws_, catalogue_.domains));
    note(origins_.believed,
         "has neither speeds nor shares: how it scales is believed from its one time and priors, "
         "and may be off by a third",
         "have neither speeds nor shares: how they scale is believed from their one time and "
         "priors, and may be off by a third");
    note(origins_.doubted,
         "is far faster on an instance than on the whole GPU by its speeds: is that percent? 1 is "
         "as fast as on the whole GPU",
         "are far faster on an instance than on the whole GPU by their speeds: is that percent? 1 "
         "is as fast as on the whole GPU");
    note(origins_.without_room,
         "states neither speeds nor memory: no GPU instance is offered to it",
         "state neither speeds nor memory: no GPU instance is offered to them");
    note(origins_.without_kernel,
         "states no kernel_us: it shares by MPS only with percentages",
         "state no kernel_us: they share by MPS only with percentages");
    return std::move(out_);
  }

 private:
  /// What the row states itself counts more than what a fit to it says.
  static void fill(const interop::WindowRow& row, predict::JobTraits& traits) {
    traits.memory = row.job.memory;
    traits.kernel = row.kernel;
    traits.sm_percent = row.sm_percent;
    traits.memory_percent = row.memory_percent;
    if (row.usable.has_value()) {
      traits.usable = row.usable;
    }
    if (row.serial_share.has_value()) {
      traits.serial_share = row.serial_share;
    }
    if (row.memory_share.has_value()) {
      traits.memory_share = row.memory_share;
    }
  }

  /// Whether a profile has all that the whole GPU has (the 4g of an A30): one place to a fit, of
  /// which `solo_s` says more.
  bool is_whole(ProfileIndex profile) const {
    const auto part = predict::place_resources({&geometry_, profile}, ActiveThreadPercentage(100));
    const auto whole =
        predict::place_resources({&geometry_, std::nullopt}, ActiveThreadPercentage(100));
    return part.has_value() && whole.has_value() &&
           part->resources.compute == whole->resources.compute &&
           part->resources.bandwidth == whole->resources.bandwidth;
  }

  Result<std::unique_ptr<predict::SignatureModel>> fitted(const interop::WindowRow& row) const {
    std::vector<predict::MeasuredStep> steps = {
        {.profile = std::nullopt, .step = row.job.solo.to_seconds()}};
    for (std::size_t p = 0; p < row.speed.size(); ++p) {
      const ProfileIndex profile(static_cast<int>(p));
      if (row.speed[p] > 0 && !is_whole(profile)) {
        steps.push_back({.profile = profile, .step = row.job.solo.to_seconds() / row.speed[p]});
      }
    }
    predict::SignatureOptions options;
    options.solo.kind = row.kind;
    options.solo.usable = row.usable;
    options.solo.counters.sm_percent = row.sm_percent;
    options.solo.counters.memory_percent = row.memory_percent;
    Result<predict::SignatureModel> model = predict::SignatureModel::fit(geometry_, steps, options);
    if (!model) {
      return Error{model.error().code,
                   fmt::format("{}:{}: job {}: {}",
                               source_name_,
                               row.line,
                               quoted_for_message(row.job.name),
                               model.error().message)};
    }
    return std::make_unique<predict::SignatureModel>(std::move(model).value());
  }

  /// Stated speeds as they are; without any, 0 where the memory does not fit or is not known.
  std::vector<predict::KnownSpeed> known_speeds(const interop::WindowRow& row) const {
    std::vector<predict::KnownSpeed> known;
    for (std::size_t p = 0; p < row.speed.size(); ++p) {
      const ProfileIndex profile(static_cast<int>(p));
      if (row.has_speeds) {
        known.push_back({.profile = profile, .speed = row.speed[p]});
        continue;
      }
      const std::optional<Bytes> room = predict::usable_memory(geometry_, profile);
      if (!row.job.memory.has_value() || !room.has_value() || *row.job.memory > *room) {
        known.push_back({.profile = profile, .speed = 0});
      }
    }
    return known;
  }

  void note(const std::vector<std::string>& names, std::string_view one, std::string_view many) {
    if (names.empty()) {
      return;
    }
    constexpr std::size_t kNamesMax = 5;
    std::vector<std::string> shown;
    for (const std::string& name : names) {
      if (shown.size() < kNamesMax) {
        shown.push_back(quoted_for_message(name));
      }
    }
    if (names.size() > kNamesMax) {
      shown.push_back(fmt::format("{} more", names.size() - kNamesMax));
    }
    out_.notes.push_back(fmt::format("job{} {} {}",
                                     names.size() == 1 ? "" : "s",
                                     joined_with_and(shown),
                                     names.size() == 1 ? one : many));
  }

  const gpu::SharingCatalogue& catalogue_;
  const gpu::Geometry& geometry_;
  const std::string& source_name_;
  WindowJobs out_;
  std::vector<predict::LawJob> laws_;
  Origins origins_;
};

}  // namespace

Result<WindowJobs> make_window_jobs(const interop::WindowTable& table,
                                    const gpu::SharingCatalogue& catalogue,
                                    const std::string& source_name) {
  JobsMaker maker(catalogue, source_name);
  for (const interop::WindowRow& row : table.rows) {
    SEPTULE_TRY_STATUS(maker.add(row));
  }
  return maker.finish();
}

}  // namespace septule::app
