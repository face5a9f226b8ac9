#include "gpu/layout_request.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::gpu {

namespace {

constexpr std::size_t kItemTextMax = 200;

Error invalid(std::string_view item, const std::string& why) {
  return Error{ErrorCode::kInvalidInput, fmt::format("{}: {}", quoted_for_message(item), why)};
}

/// "3 x ", "3x", "3*" in front of a name; 1 if there is none. Advances `text`.
Result<int> take_repeat(std::string_view& text, std::string_view item) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    ++digits;
  }
  const std::string_view rest = trimmed(text.substr(digits));
  const bool has_sign = rest.starts_with('x') || rest.starts_with('X') || rest.starts_with('*');
  if (digits == 0 || !has_sign) {
    return 1;
  }
  const auto count = parse_integer(text.substr(0, digits));
  if (!count || *count < 1 || *count > kRequestedInstancesMax) {
    return invalid(item, fmt::format("the count must be from 1 to {}", kRequestedInstancesMax));
  }
  text = trimmed(rest.substr(1));
  return static_cast<int>(*count);
}

/// "3g", "1g+me": a number of compute slices and perhaps a variant's suffix.
std::optional<ProfileIndex> shape_profile(const Geometry& geometry, std::string_view name) {
  const std::string lower = lower_case(name);
  const std::size_t letter = lower.find('g');
  const auto slices = parse_integer(std::string_view(lower).substr(0, letter));
  if (letter == std::string::npos || !slices || *slices < 1 || *slices > 99) {
    return std::nullopt;
  }
  const std::string suffix = lower.substr(letter + 1);
  if (suffix.empty()) {
    return geometry.plain_profile(ComputeSlices(static_cast<int>(*slices)));
  }
  for (std::size_t i = 0; i < geometry.profiles().size(); ++i) {
    const GpuInstanceProfile& profile = geometry.profiles()[i];
    if (profile.slices.value() == *slices && suffix == variant_suffix(profile.variant)) {
      return ProfileIndex(static_cast<int>(i));
    }
  }
  return std::nullopt;
}

std::optional<ProfileIndex> extreme_profile(const Geometry& geometry, std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower != "smallest" && lower != "largest") {
    return std::nullopt;
  }
  const std::vector<ProfileIndex> plain = geometry.profiles_in(ProfileSet::kPlain);
  const auto by_slices = [&](ProfileIndex a, ProfileIndex b) {
    return geometry.profile(a).slices < geometry.profile(b).slices;
  };
  if (plain.empty()) {
    return std::nullopt;
  }
  return lower == "smallest" ? *std::ranges::min_element(plain, by_slices)
                             : *std::ranges::max_element(plain, by_slices);
}

struct NamedProfile {
  ProfileIndex profile;
  std::optional<ComputeSlices> compute;
};

/// Takes "Mc." off the front of a shape or profile name.
std::optional<ComputeSlices> take_compute(std::string_view& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot < 2 || (name[dot - 1] != 'c' && name[dot - 1] != 'C')) {
    return std::nullopt;
  }
  const auto slices = parse_integer(name.substr(0, dot - 1));
  if (!slices || *slices < 1 || *slices > 99) {
    return std::nullopt;
  }
  name.remove_prefix(dot + 1);
  return ComputeSlices(static_cast<int>(*slices));
}

Result<NamedProfile> resolve_name(const Geometry& geometry,
                                  std::string_view name,
                                  std::string_view item,
                                  std::vector<std::string>& notes) {
  std::string_view rest = name;
  if (lower_case(rest.substr(0, 4)) == "mig ") {
    rest = trimmed(rest.substr(4));
  }
  NamedProfile named;
  named.compute = take_compute(rest);
  std::optional<ProfileIndex> index = geometry.find_profile(rest);
  const std::optional<ProfileNameParts> parts = parse_profile_name(rest);
  if (index && parts && geometry.profile(*index).name != parts->gpu_instance_name) {
    std::string note = fmt::format(
        "{} is {} on {}", parts->gpu_instance_name, geometry.profile(*index).name, geometry.key());
    if (std::ranges::find(notes, note) == notes.end()) {
      notes.push_back(std::move(note));
    }
  }
  if (!index) {
    index = shape_profile(geometry, rest);
  }
  if (!index) {
    index = extreme_profile(geometry, rest);
  }
  if (!index) {
    const std::vector<std::string> names = geometry.profile_names();
    const std::vector<std::string> nearest = nearest_names(rest, names, 3);
    return invalid(item,
                   fmt::format("{} has no profile {}; {}: {}",
                               geometry.key(),
                               quoted_for_message(rest),
                               nearest.empty() ? "it has" : "nearest",
                               joined_with_and(nearest.empty() ? names : nearest)));
  }
  named.profile = *index;
  return named;
}

Result<int> parse_start(std::string_view text, std::string_view item) {
  constexpr int kStartMax = 99;
  const auto start = parse_integer(text);
  if (!start || *start < 0 || *start > kStartMax) {
    return invalid(item, "after \"@\" comes the first slice, a number from 0");
  }
  return static_cast<int>(*start);
}

/// "1c@0,2c" between the brackets.
Result<std::vector<InstanceRequest::ComputeRequest>> parse_compute_list(std::string_view text,
                                                                        std::string_view item) {
  std::vector<InstanceRequest::ComputeRequest> list;
  if (trimmed(text).empty()) {
    return list;
  }
  for (std::string_view piece : split_outside_brackets(text, ',')) {
    const std::size_t sign = piece.find('@');
    std::string_view size = trimmed(piece.substr(0, sign));
    InstanceRequest::ComputeRequest request;
    const bool has_letter = size.ends_with('c') || size.ends_with('C');
    const auto slices = parse_integer(has_letter ? size.substr(0, size.size() - 1) : "");
    if (!slices || *slices < 1 || *slices > 99) {
      return invalid(
          item,
          fmt::format("{} is not a compute instance; write 1c or 1c@0", quoted_for_message(piece)));
    }
    request.size = ComputeSlices(static_cast<int>(*slices));
    if (sign != std::string_view::npos) {
      SEPTULE_TRY(const int start, parse_start(trimmed(piece.substr(sign + 1)), item));
      request.start = ComputeSlices(start);
    }
    list.push_back(request);
  }
  return list;
}

struct ParsedItem {
  int count = 1;
  InstanceRequest request;
  std::optional<InstanceRequest::ComputeRequest> shared;  ///< "1c.3g.20gb": joins others
};

Result<ParsedItem> parse_item(const Geometry& geometry,
                              std::string_view item,
                              std::vector<std::string>& notes) {
  ParsedItem parsed;
  std::string_view rest = item;
  SEPTULE_TRY(parsed.count, take_repeat(rest, item));
  std::optional<std::string_view> bracket;
  if (const std::size_t open = rest.find('['); open != std::string_view::npos) {
    if (!rest.ends_with(']')) {
      return invalid(item, "the bracket must be closed at the end; write 3g.20gb@4[1c,2c]");
    }
    bracket = rest.substr(open + 1, rest.size() - open - 2);
    rest = trimmed(rest.substr(0, open));
  }
  std::optional<ComputeSlices> compute_start;
  if (const std::size_t sign = rest.find('@'); sign != std::string_view::npos) {
    std::string_view place = trimmed(rest.substr(sign + 1));
    rest = trimmed(rest.substr(0, sign));
    if (const std::size_t slash = place.find('/'); slash != std::string_view::npos) {
      SEPTULE_TRY(const int start, parse_start(trimmed(place.substr(slash + 1)), item));
      compute_start = ComputeSlices(start);
      place = trimmed(place.substr(0, slash));
    }
    SEPTULE_TRY(const int start, parse_start(place, item));
    parsed.request.start = MemorySlices(start);
  }
  if (rest.empty()) {
    return invalid(item, "a profile name is missing; write for example 3g.20gb@4");
  }
  SEPTULE_TRY(const NamedProfile named, resolve_name(geometry, rest, item, notes));
  parsed.request.profile = named.profile;
  parsed.request.text = std::string(item);
  if (named.compute && bracket) {
    return invalid(item, "write either 1c.3g.20gb or 3g.20gb[1c], not both");
  }
  if (compute_start && !named.compute) {
    return invalid(
        item, "\"/\" gives the first compute slice of a compute instance such as 1c.3g.20gb@4/1");
  }
  if (compute_start.value_or(ComputeSlices(0)) != ComputeSlices(0) &&
      named.compute == geometry.profile(named.profile).slices) {
    return invalid(item, "a full compute instance can start only at compute slice 0");
  }
  if (bracket) {
    SEPTULE_TRY(parsed.request.compute_instances, parse_compute_list(*bracket, item));
  }
  // "3c.3g.20gb" is the full compute instance: the same as "3g.20gb".
  if (named.compute && *named.compute != geometry.profile(named.profile).slices) {
    parsed.shared = InstanceRequest::ComputeRequest{*named.compute, compute_start};
  } else if (parsed.count > 1 && parsed.request.start) {
    return invalid(item, "one place cannot hold several instances");
  }
  return parsed;
}

/// Finds places for compute requests inside one GPU instance: given starts kept, the others at
/// their first possible places; exact (backtracking, at most 7 of them).
bool place_compute(const Geometry& geometry,
                   GpuInstance& instance,
                   std::span<const InstanceRequest::ComputeRequest> requests) {
  if (requests.empty()) {
    return true;
  }
  const auto& request = requests.front();
  for (const ComputeInstanceProfile& profile : geometry.compute_profiles(instance.placed.profile)) {
    for (const ComputePlacement& place : profile.placements) {
      const ComputeInstance candidate{place};
      if (place.size != request.size || (request.start && *request.start != place.start) ||
          !can_add_compute_instance(geometry, instance, candidate)) {
        continue;
      }
      instance.compute_instances.push_back(candidate);
      if (place_compute(geometry, instance, requests.subspan(1))) {
        return true;
      }
      instance.compute_instances.pop_back();
    }
  }
  return false;
}

/// Compute requests with given starts first, then the large ones: so that "first possible" works.
std::vector<InstanceRequest::ComputeRequest> in_placing_order(
    std::vector<InstanceRequest::ComputeRequest> requests) {
  std::ranges::stable_sort(requests, [](const auto& a, const auto& b) {
    return a.start.has_value() != b.start.has_value() ? a.start.has_value() : a.size > b.size;
  });
  return requests;
}

Result<std::vector<ComputeInstance>> compute_instances_of(const Geometry& geometry,
                                                          const InstanceRequest& request) {
  if (!request.compute_instances) {
    return std::vector<ComputeInstance>{full_compute_instance(geometry, request.profile)};
  }
  GpuInstance instance{PlacedProfile{request.profile, MemorySlices(0)}, {}};
  // Asked first, because a search that must fail is long.
  int slices = 0;
  for (const InstanceRequest::ComputeRequest& wanted : *request.compute_instances) {
    slices += wanted.size.value();
  }
  if (slices > geometry.profile(request.profile).slices.value() ||
      !place_compute(geometry, instance, in_placing_order(*request.compute_instances))) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("{}: these compute instances do not fit into one {} ({} compute slices)",
                    quoted_for_message(request.text),
                    geometry.profile(request.profile).name,
                    geometry.profile(request.profile).slices.value())};
  }
  std::ranges::sort(instance.compute_instances);
  return instance.compute_instances;
}

/// Adds "1c.3g.20gb" to the last GPU instance of its kind with room, or opens a new one.
Status add_shared(const Geometry& geometry,
                  const ParsedItem& item,
                  const InstanceRequest::ComputeRequest& shared,
                  std::vector<std::size_t>& open,
                  LayoutRequest& request) {
  for (const std::size_t i : open) {
    InstanceRequest& candidate = request.instances[i];
    if (candidate.profile != item.request.profile || candidate.start != item.request.start) {
      continue;
    }
    InstanceRequest fuller = candidate;
    fuller.compute_instances =
        candidate.compute_instances.value_or(std::vector<InstanceRequest::ComputeRequest>());
    fuller.compute_instances->push_back(shared);
    if (compute_instances_of(geometry, fuller)) {
      candidate = std::move(fuller);
      return Status();
    }
  }
  InstanceRequest fresh = item.request;
  fresh.compute_instances = std::vector{shared};
  if (const auto placed = compute_instances_of(geometry, fresh); !placed) {
    return placed.error();
  }
  open.push_back(request.instances.size());
  request.instances.push_back(std::move(fresh));
  return Status();
}

}  // namespace

Result<LayoutRequest> parse_layout_request(const Geometry& geometry, std::string_view text) {
  LayoutRequest request;
  if (!geometry.has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no profile table of {} has been published, so layouts of it cannot "
                             "be checked or planned",
                             geometry.key())};
  }
  if (lower_case(trimmed(text)) == "empty") {
    return request;
  }
  std::vector<std::size_t> open;  // GPU instances opened by "1c.3g.20gb" items
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    if (item.empty()) {
      return invalid(text, "an item is empty; write for example 4g.20gb@0,3g.20gb@4, or empty");
    }
    if (item.size() > kItemTextMax) {
      return invalid(item, fmt::format("is longer than {} characters", kItemTextMax));
    }
    SEPTULE_TRY(const ParsedItem parsed, parse_item(geometry, item, request.notes));
    if (!parsed.shared) {
      if (const auto placed = compute_instances_of(geometry, parsed.request); !placed) {
        return placed.error();
      }
    }
    for (int i = 0; i < parsed.count; ++i) {
      if (parsed.shared) {
        SEPTULE_TRY_STATUS(add_shared(geometry, parsed, *parsed.shared, open, request));
      } else {
        request.instances.push_back(parsed.request);
      }
      if (request.instances.size() > static_cast<std::size_t>(kRequestedInstancesMax)) {
        return invalid(item,
                       fmt::format("more than {} instances are asked for", kRequestedInstancesMax));
      }
    }
  }
  return request;
}

Result<Partition> partition_as_written(const Geometry& geometry, const LayoutRequest& request) {
  std::vector<std::size_t> order(request.instances.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const InstanceRequest& left = request.instances[a];
    const InstanceRequest& right = request.instances[b];
    if (left.start.has_value() != right.start.has_value()) {
      return left.start.has_value();
    }
    return geometry.profile(left.profile).size() > geometry.profile(right.profile).size();
  });
  LayoutBuilder builder(geometry);
  Partition partition;
  for (const std::size_t i : order) {
    const InstanceRequest& wanted = request.instances[i];
    const auto& places = geometry.profile(wanted.profile).placements;
    PlacedProfile placed{wanted.profile, wanted.start.value_or(places.front().start)};
    if (!wanted.start) {
      const auto is_free = [&](const Placement& place) {
        return builder.can_add(PlacedProfile{wanted.profile, place.start});
      };
      if (const auto found = std::ranges::find_if(places, is_free); found != places.end()) {
        placed.start = found->start;
      }
    }
    const bool is_possible = std::ranges::any_of(
        places, [&](const Placement& place) { return place.start == placed.start; });
    if (is_possible && builder.can_add(placed)) {
      builder.add(placed);
    }
    SEPTULE_TRY(std::vector<ComputeInstance> compute, compute_instances_of(geometry, wanted));
    partition.instances.push_back(GpuInstance{placed, std::move(compute)});
  }
  canonicalise(partition);
  return partition;
}

}  // namespace septule::gpu
