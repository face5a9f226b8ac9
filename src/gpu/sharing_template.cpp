#include "gpu/sharing_template.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::gpu {
namespace {

/// Seats of one compute instance: a limit for each, or none for any. One seat has none.
using Split = InlineVector<std::optional<ActiveThreadPercentage>, kSeatsMax>;

/// A way to cut the GPU, before jobs are seated: GPU instances, or the compute instances of the one
/// GPU instance of `layout`; both empty with MIG off.
struct Cut {
  Layout layout;
  std::vector<ComputePlacement> compute;
  std::vector<int> sizes;  ///< compute slices of the parts that jobs sit in, by place
  bool is_dominated = false;

  std::vector<int> multiset() const {
    std::vector<int> sorted = sizes;
    std::ranges::sort(sorted, std::greater<>());
    return sorted;
  }
};

enum class CutKind { kWhole, kPrivate, kShared };

/// All ways to give `count` seats of one compute instance percentages, larger first.
void add_percentage_splits(const SharingOptions& options, int count, std::vector<Split>& splits) {
  const auto& percentages = options.percentages;
  Split chosen;
  const auto walk = [&](const auto& self, std::size_t below, int left) -> void {
    if (std::ssize(chosen) == count) {
      if (left < percentages.front().value()) {
        splits.push_back(chosen);
      }
      return;
    }
    for (std::size_t i = below; i-- > 0;) {
      if (percentages[i].value() <= left) {
        chosen.push_back(percentages[i]);
        self(self, i + 1, left - percentages[i].value());
        chosen.pop_back();
      }
    }
  };
  if (!percentages.empty()) {
    walk(walk, percentages.size(), 100);
  }
}

/// splits[k]: all ways to seat k jobs in one compute instance.
std::vector<std::vector<Split>> all_splits(const SharingOptions& options) {
  std::vector<std::vector<Split>> splits(2);
  splits[1].emplace_back();
  splits[1].back().push_back(std::nullopt);
  for (int count = 2; count <= std::min(options.concurrency_max, kMpsConcurrencyMax); ++count) {
    std::vector<Split>& of_count = splits.emplace_back();
    if (options.default_mps == SharingOptions::DefaultMps::kOffered) {
      Split& as_it_is = of_count.emplace_back();
      for (int seat = 0; seat < count; ++seat) {
        as_it_is.push_back(std::nullopt);
      }
    }
    add_percentage_splits(options, count, of_count);
  }
  return splits;
}

std::string split_text(const Split& split) {
  if (split.size() == 1) {
    return {};
  }
  if (!split[0].has_value()) {
    return fmt::format("{{{}}}", split.size());
  }
  std::string text;
  for (const auto& atp : split) {
    text += fmt::format(
        "{}{}", text.empty() ? "(" : ",", atp.value_or(ActiveThreadPercentage()).value());
  }
  return text + ")";
}

/// Whether every part of `a`, sorted, is at least as large as that of `b`, and one is larger. Plain
/// profiles with more compute slices never have less memory.
bool dominates(const Cut& a, const Cut& b) {
  const std::vector<int> left = a.multiset();
  const std::vector<int> right = b.multiset();
  return left.size() == right.size() && left != right &&
         std::ranges::equal(left, right, std::greater_equal<>());
}

/// Fewer parts first, then larger parts first; tells which parts dominated cuts are.
std::vector<Cut> in_order(const std::map<std::vector<int>, Cut>& by_multiset) {
  std::vector<Cut> cuts;
  for (const auto& [multiset, cut] : by_multiset) {
    cuts.push_back(cut);
  }
  for (Cut& cut : cuts) {
    cut.is_dominated =
        std::ranges::any_of(cuts, [&](const Cut& other) { return dominates(other, cut); });
  }
  std::ranges::sort(cuts, [](const Cut& a, const Cut& b) {
    return a.sizes.size() != b.sizes.size() ? a.sizes.size() < b.sizes.size()
                                            : a.multiset() > b.multiset();
  });
  return cuts;
}

/// Keeps one cut for each multiset: the one with larger parts to the left.
void keep_better(std::map<std::vector<int>, Cut>& by_multiset, Cut cut) {
  const auto [at, is_new] = by_multiset.try_emplace(cut.multiset(), cut);
  if (!is_new && cut.sizes > at->second.sizes) {
    at->second = std::move(cut);
  }
}

std::map<std::vector<int>, Cut> private_cuts(const Geometry& geometry) {
  std::map<std::vector<int>, Cut> by_multiset;
  for (const Layout& layout : maximal_layouts(geometry, ProfileSet::kPlain)) {
    Cut cut{.layout = layout, .compute = {}, .sizes = {}};
    for (const PlacedProfile& placed : layout) {
      cut.sizes.push_back(geometry.profile(placed.profile).slices.value());
    }
    keep_better(by_multiset, std::move(cut));
  }
  return by_multiset;
}

/// Compute instances of the one GPU instance of `whole`, two or more.
void add_shared_cuts(const Geometry& geometry,
                     const Layout& whole,
                     const std::map<std::vector<int>, Cut>& twins,
                     std::map<std::vector<int>, Cut>& shared) {
  std::map<std::vector<int>, Cut> only_twins;
  for_each_compute_layout(geometry,
                          whole.front().profile,
                          [&](std::span<const ComputeInstance> instances, bool is_maximal) {
                            Cut cut{.layout = whole, .compute = {}, .sizes = {}};
                            for (const ComputeInstance& instance : instances) {
                              cut.compute.push_back(instance.placement);
                              cut.sizes.push_back(instance.placement.size.value());
                            }
                            if (cut.sizes.size() < 2) {
                              return;
                            }
                            if (is_maximal) {
                              keep_better(shared, std::move(cut));
                            } else if (twins.contains(cut.multiset())) {
                              keep_better(only_twins, std::move(cut));
                            }
                          });
  shared.merge(only_twins);  // what is there as a maximal one stays
}

/// Builds one catalogue. Lives for one call.
class CatalogueMaker {
 public:
  CatalogueMaker(const Geometry& geometry, const SharingOptions& options)
      : options_(options), splits_(all_splits(options)) {
    catalogue_.geometry = &geometry;
    cuts_[0] = {Cut{.layout = {}, .compute = {}, .sizes = {0}}};
    const auto by_multiset = private_cuts(geometry);
    cuts_[1] = in_order(by_multiset);
    std::map<std::vector<int>, Cut> shared;
    for (const Cut& cut : cuts_[1]) {
      if (cut.layout.size() == 1) {
        add_shared_cuts(geometry, cut.layout, by_multiset, shared);
      }
    }
    cuts_[2] = in_order(shared);
  }

  SharingCatalogue make() {
    for (int count = 1; count <= options_.concurrency_max; ++count) {
      if (count == 1) {
        add_family(SharingFamily::kTimeSharing, CutKind::kWhole, count);
      } else {
        add_family(SharingFamily::kMpsOnly, CutKind::kWhole, count);
      }
      add_family(SharingFamily::kMigPrivate, CutKind::kPrivate, count);
      add_family(SharingFamily::kMigShared, CutKind::kShared, count);
      add_family(SharingFamily::kMigMpsPrivate, CutKind::kPrivate, count);
      add_family(SharingFamily::kMigMpsShared, CutKind::kShared, count);
    }
    return std::move(catalogue_);
  }

 private:
  static bool has_mps(SharingFamily family) {
    return family == SharingFamily::kMpsOnly || family == SharingFamily::kMigMpsPrivate ||
           family == SharingFamily::kMigMpsShared;
  }

  void add_family(SharingFamily family, CutKind kind, int count) {
    const bool is_wanted = options_.families.empty() ||
                           std::ranges::find(options_.families, family) != options_.families.end();
    if (!is_wanted || (has_mps(family) && count > kMpsConcurrencyMax)) {
      return;
    }
    family_ = family;
    kind_ = kind;
    for (const Cut& cut : cuts_[static_cast<std::size_t>(kind)]) {
      const int parts = static_cast<int>(cut.sizes.size());
      if (has_mps(family) ? parts < count && !cut.is_dominated : parts == count) {
        seat(cut, count);
      }
    }
  }

  /// Gives each part of the cut a number of seats and their limits, `left` seats in all for the
  /// parts that have none yet. Of equal parts the first has the more seats, then the earlier split.
  void seat(const Cut& cut, int left) {
    const std::size_t part = chosen_.size();
    if (part == cut.sizes.size()) {
      add_template(cut);
      return;
    }
    const int others = static_cast<int>(cut.sizes.size() - part) - 1;
    for (int seats = others == 0 ? left : left - others; seats >= (others == 0 ? left : 1);
         --seats) {
      for (std::size_t s = 0; s < splits_[static_cast<std::size_t>(seats)].size(); ++s) {
        const Choice choice{.seats = seats, .split = s};
        if (!is_in_order(cut, part, choice)) {
          continue;
        }
        chosen_.push_back(choice);
        seat(cut, left - seats);
        chosen_.pop_back();
      }
    }
  }

  struct Choice {
    int seats = 1;
    std::size_t split = 0;
  };

  bool is_in_order(const Cut& cut, std::size_t part, const Choice& choice) const {
    for (std::size_t before = part; before-- > 0;) {
      if (cut.sizes[before] == cut.sizes[part]) {
        const Choice& other = chosen_[before];
        return other.seats != choice.seats ? other.seats > choice.seats
                                           : other.split <= choice.split;
      }
    }
    return true;
  }

  const Split& split_of(std::size_t part) const {
    const Choice& choice = chosen_[part];
    return splits_[static_cast<std::size_t>(choice.seats)][choice.split];
  }

  void add_template(const Cut& cut) {
    SharingTemplate made{.name = name_of(cut), .family = family_, .layout = cut.layout};
    made.concurrency = 0;
    for (const Choice& choice : chosen_) {
      made.concurrency += choice.seats;
    }
    switch (kind_) {
      case CutKind::kWhole:
        made.domains.push_back(domain_index(std::nullopt, {}, 0, 1));
        break;
      case CutKind::kShared:
        made.domains.push_back(
            domain_index(cut.layout.front().profile, cut.compute, 0, cut.sizes.size()));
        break;
      case CutKind::kPrivate:
        for (std::size_t part = 0; part < cut.sizes.size(); ++part) {
          const ComputePlacement full{ComputeSlices(0), ComputeSlices(cut.sizes[part])};
          made.domains.push_back(domain_index(cut.layout[part].profile, {full}, part, part + 1));
        }
        break;
    }
    catalogue_.templates.push_back(std::move(made));
  }

  std::string name_of(const Cut& cut) const {
    if (kind_ == CutKind::kWhole) {
      return family_ == SharingFamily::kTimeSharing ? "full" : "mps" + split_text(split_of(0));
    }
    const char* const unit = kind_ == CutKind::kShared ? "c" : "g";
    std::string parts;
    for (std::size_t part = 0; part < cut.sizes.size(); ++part) {
      parts += fmt::format(
          "{}{}{}{}", part > 0 ? "+" : "", cut.sizes[part], unit, split_text(split_of(part)));
    }
    if (kind_ == CutKind::kPrivate) {
      return parts;
    }
    const int slices = catalogue_.geometry->profile(cut.layout.front().profile).slices.value();
    return fmt::format("{}g[{}]", slices, parts);
  }

  /// The domain with the seats of the parts `first` up to `last`, made if it is not there yet.
  std::size_t domain_index(std::optional<ProfileIndex> profile,
                           const std::vector<ComputePlacement>& compute,
                           std::size_t first,
                           std::size_t last) {
    MemoryDomain domain{.profile = profile, .compute = {}, .seats = {}};
    std::vector<int> key = {profile.has_value() ? profile->value() : -1};
    for (const ComputePlacement& place : compute) {
      domain.compute.push_back(place);
      key.insert(key.end(), {place.start.value(), place.size.value()});
    }
    key.push_back(-1);
    for (std::size_t part = first; part < last; ++part) {
      for (const auto& atp : split_of(part)) {
        const int index = static_cast<int>(part - first);
        domain.seats.push_back(Seat{.compute = index, .atp = atp});
        key.insert(key.end(), {index, atp.has_value() ? atp->value() : 0});
      }
    }
    const auto [at, is_new] = known_.try_emplace(std::move(key), catalogue_.domains.size());
    if (is_new) {
      catalogue_.domains.push_back(domain);
    }
    return at->second;
  }

  const SharingOptions& options_;
  std::vector<std::vector<Split>> splits_;
  std::array<std::vector<Cut>, 3> cuts_;  ///< by CutKind
  SharingFamily family_ = SharingFamily::kTimeSharing;
  CutKind kind_ = CutKind::kWhole;
  std::vector<Choice> chosen_;
  std::map<std::vector<int>, std::size_t> known_;  ///< domains by what they are
  SharingCatalogue catalogue_;
};

Status check_options(const SharingOptions& options) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidInput, std::move(message)};
  };
  if (options.concurrency_max < 1 || options.concurrency_max > kConcurrencyMax) {
    return invalid(fmt::format(
        "concurrency_max is {}; valid are 1 to {}", options.concurrency_max, kConcurrencyMax));
  }
  if (options.percentages.size() > kPercentagesMax) {
    return invalid(fmt::format("{} percentages are given; at most {} are taken",
                               options.percentages.size(),
                               kPercentagesMax));
  }
  int before = 0;
  for (const ActiveThreadPercentage atp : options.percentages) {
    if (atp.value() < 1 || atp.value() > 100) {
      return invalid(fmt::format("percentages hold {}; valid are 1 to 100", atp.value()));
    }
    if (atp.value() <= before) {
      return invalid(fmt::format(
          "percentages hold {} after {}; they must ascend, each once", atp.value(), before));
    }
    before = atp.value();
  }
  return {};
}

}  // namespace

std::string_view sharing_family_name(SharingFamily family) {
  switch (family) {
    case SharingFamily::kTimeSharing:
      return "time-sharing";
    case SharingFamily::kMpsOnly:
      return "mps-only";
    case SharingFamily::kMigPrivate:
      return "mig-private";
    case SharingFamily::kMigShared:
      return "mig-shared";
    case SharingFamily::kMigMpsPrivate:
      return "mig-mps-private";
    case SharingFamily::kMigMpsShared:
      return "mig-mps-shared";
  }
  SEPTULE_CHECK(false, "every SharingFamily has a name");
}

Result<SharingCatalogue> make_sharing_catalogue(const Geometry& geometry,
                                                const SharingOptions& options) {
  SEPTULE_TRY_STATUS(check_options(options));
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kBlocked,
                 fmt::format("{} has no published profile table, so it cannot be planned how to "
                             "cut it",
                             geometry.key())};
  }
  SharingCatalogue catalogue = CatalogueMaker(geometry, options).make();
  if (catalogue.templates.empty()) {
    std::vector<std::string_view> names;
    for (const SharingFamily family : options.families) {
      names.push_back(sharing_family_name(family));
    }
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("families {} have no template for up to {} jobs on {}; add a family "
                             "or allow more jobs",
                             fmt::join(names, ", "),
                             options.concurrency_max,
                             geometry.key())};
  }
  return catalogue;
}

std::optional<Partition> partition_of(const SharingCatalogue& catalogue,
                                      const SharingTemplate& one) {
  if (one.layout.empty()) {
    return std::nullopt;
  }
  SEPTULE_CHECK(one.layout.size() == one.domains.size(), "a domain for each GPU instance");
  Partition partition;
  for (std::size_t i = 0; i < one.layout.size(); ++i) {
    GpuInstance instance{.placed = one.layout[i], .compute_instances = {}};
    for (const ComputePlacement& place : catalogue.domains[one.domains[i]].compute) {
      instance.compute_instances.push_back(ComputeInstance{place});
    }
    partition.instances.push_back(std::move(instance));
  }
  canonicalise(partition);
  return partition;
}

std::optional<Bytes> domain_memory(const Geometry& geometry, std::optional<ProfileIndex> profile) {
  if (profile.has_value()) {
    return geometry.profile(*profile).memory;
  }
  std::optional<Bytes> most;
  ComputeSlices slices_most;
  for (const ProfileIndex index : geometry.profiles_in(ProfileSet::kPlain)) {
    if (geometry.profile(index).slices > slices_most) {
      slices_most = geometry.profile(index).slices;
      most = geometry.profile(index).memory;
    }
  }
  return most;
}

}  // namespace septule::gpu
