#include "gpu/geometry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::gpu {

std::string_view profile_set_name(ProfileSet set) {
  switch (set) {
    case ProfileSet::kPlain:
      return "plain";
    case ProfileSet::kDouble:
      return "double";
    case ProfileSet::kAll:
      return "all";
  }
  check_failed("set", "a ProfileSet is one of the enumerators", __FILE__, __LINE__);
}

std::optional<ProfileSet> parse_profile_set(std::string_view text) {
  for (const ProfileSet set : {ProfileSet::kPlain, ProfileSet::kDouble, ProfileSet::kAll}) {
    if (profile_set_name(set) == text) {
      return set;
    }
  }
  return std::nullopt;
}

const GpuInstanceProfile& Geometry::profile(ProfileIndex index) const {
  SEPTULE_CHECK(index.value() >= 0, "a profile index is not negative");
  SEPTULE_CHECK(static_cast<std::size_t>(index.value()) < profiles_.size(),
                "a profile index belongs to its geometry");
  return profiles_[static_cast<std::size_t>(index.value())];
}

std::vector<ProfileIndex> Geometry::profiles_in(ProfileSet set) const {
  std::vector<ProfileIndex> indices;
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    const ProfileVariant variant = profiles_[i].variant;
    const bool is_member = set == ProfileSet::kAll || variant == ProfileVariant::kPlain ||
                           (set == ProfileSet::kDouble && variant == ProfileVariant::kDoubleMemory);
    if (is_member) {
      indices.emplace_back(static_cast<int>(i));
    }
  }
  return indices;
}

std::optional<ProfileIndex> Geometry::find_profile(std::string_view name) const {
  const auto parts = parse_profile_name(name);
  if (!parts || parts->compute) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    const GpuInstanceProfile& profile = profiles_[i];
    if (profile.name == parts->gpu_instance_name ||
        std::ranges::find(profile.aliases, parts->gpu_instance_name) != profile.aliases.end()) {
      return ProfileIndex(static_cast<int>(i));
    }
  }
  return std::nullopt;
}

std::optional<ProfileIndex> Geometry::plain_profile(ComputeSlices slices) const {
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    if (profiles_[i].variant == ProfileVariant::kPlain && profiles_[i].slices == slices) {
      return ProfileIndex(static_cast<int>(i));
    }
  }
  return std::nullopt;
}

std::vector<std::string> Geometry::profile_names() const {
  std::vector<std::string> names;
  for (const GpuInstanceProfile& profile : profiles_) {
    names.push_back(profile.name);
    names.insert(names.end(), profile.aliases.begin(), profile.aliases.end());
  }
  return names;
}

std::span<const ComputeInstanceProfile> Geometry::compute_profiles(
    ProfileIndex gpu_instance_profile) const {
  const auto found =
      compute_profiles_.by_gpu_instance_slices.find(profile(gpu_instance_profile).slices);
  if (found == compute_profiles_.by_gpu_instance_slices.end()) {
    return {};
  }
  return found->second;
}

Result<Catalogue> Catalogue::parse(
    std::span<const std::pair<std::string_view, std::string_view>> files) {
  Catalogue catalogue;
  for (const auto& [name, text] : files) {
    SEPTULE_TRY(Geometry geometry, Geometry::parse(text, name));
    for (const Geometry& other : catalogue.geometries_) {
      if (lower_case(other.key()) == lower_case(geometry.key())) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("{}: key {} is defined twice", name, geometry.key())};
      }
    }
    catalogue.geometries_.push_back(std::move(geometry));
  }
  return catalogue;
}

std::vector<std::string> Catalogue::keys() const {
  std::vector<std::string> keys;
  for (const Geometry& geometry : geometries_) {
    keys.push_back(geometry.key());
  }
  return keys;
}

Result<const Geometry*> Catalogue::find(std::string_view name) const {
  const std::string wanted = lower_case(trimmed(name));
  // "H100" is the full name of one board but would be read as a family: short names must be
  // unambiguous.
  const auto begins_with_wanted = [&](const Geometry& geometry) {
    return lower_case(geometry.key()).starts_with(wanted + "-");
  };
  const bool is_family = std::ranges::count_if(geometries_, begins_with_wanted) > 1;
  const auto matches_board = [&](const std::string& board) {
    const std::string lower = lower_case(board);
    return wanted == lower || (!is_family && "nvidia " + wanted == lower);
  };
  for (const Geometry& geometry : geometries_) {
    if (wanted == lower_case(geometry.key()) ||
        std::ranges::any_of(geometry.facts().board_names, matches_board)) {
      return &geometry;
    }
  }
  const std::optional<std::string> pci_id = parse_pci_device_id(wanted);
  if (pci_id) {
    for (const Geometry& geometry : geometries_) {
      const auto& ids = geometry.facts().pci_ids;
      if (std::ranges::find(ids, *pci_id) != ids.end()) {
        return &geometry;
      }
    }
  }
  std::vector<std::string> candidates = keys();
  for (const Geometry& geometry : geometries_) {
    candidates.insert(
        candidates.end(), geometry.facts().board_names.begin(), geometry.facts().board_names.end());
  }
  const std::vector<std::string> nearest = nearest_names(wanted, candidates, 3);
  std::string hint = nearest.empty() ? "" : fmt::format("; nearest: {}", joined_with_and(nearest));
  return Error{ErrorCode::kNotFound,
               fmt::format("GPU {} is not in the catalogue{}; it has: {}",
                           quoted_for_message(name),
                           hint,
                           fmt::join(keys(), ", "))};
}

std::optional<std::string> parse_pci_device_id(std::string_view text) {
  std::string lower = lower_case(trimmed(text));
  std::string_view rest = lower;
  constexpr std::string_view kVendor = "10de";
  const bool has_vendor = rest.starts_with(std::string(kVendor) + ":");
  if (has_vendor) {
    rest.remove_prefix(kVendor.size() + 1);
  } else if (rest.starts_with("0x")) {
    rest.remove_prefix(2);
  }
  const bool is_hex = std::ranges::all_of(
      rest, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!is_hex || (rest.size() != 4 && (has_vendor || rest.size() != 8))) {
    return std::nullopt;
  }
  if (rest.size() == 8) {
    if (!rest.ends_with(kVendor)) {
      return std::nullopt;
    }
    rest.remove_suffix(kVendor.size());
  }
  return std::string(rest);
}

}  // namespace septule::gpu
