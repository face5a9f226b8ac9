#include "interop/nvidia_smi_listing.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/partition_checker.hpp"
#include "interop/input_text.hpp"
#include "interop/nvidia_smi_rows.hpp"

namespace septule::interop {

namespace {

constexpr std::string_view kHoldNote =
    "a listing does not say who uses an instance: every instance is taken as idle";

/// Turns rows into an inventory of one GPU model.
class ListingReader {
 public:
  ListingReader(std::string_view source_name, const gpu::Geometry& geometry)
      : source_name_(source_name), geometry_(geometry) {}

  Result<SmiListing> read(const SmiRows& rows) {
    SEPTULE_TRY_STATUS(check_tables(rows.gpu_instances, "lgi"));
    SEPTULE_TRY_STATUS(check_tables(rows.compute_instances, "lci"));
    for (const SmiRow& row : rows.gpu_instances) {
      SEPTULE_TRY_STATUS(add_gpu_instance(row));
    }
    for (const SmiRow& row : rows.compute_instances) {
      SEPTULE_TRY_STATUS(add_compute_instance(row));
    }
    settle_compute_instances(rows);
    if (gpus_.empty()) {
      gpu::ObservedGpu& gpu = gpu_at(GpuIndex(0));
      gpu.is_mig_enabled = !rows.is_mig_disabled;
      note(rows.is_mig_disabled ? "the listing names no GPU: taken as GPU 0 with MIG off"
                                : "the listing names no GPU: taken as GPU 0 without instances");
    } else {
      note(std::string(kHoldNote));
    }
    for (auto& [index, gpu] : gpus_) {
      std::ranges::stable_sort(gpu.instances, {}, [](const gpu::ObservedInstance& instance) {
        return std::pair(instance.placed.start, instance.placed.profile);
      });
      const std::vector<gpu::Violation> violations =
          gpu::check_partition(geometry_, gpu.partition());
      if (!violations.empty()) {
        return input_error(source_name_,
                           0,
                           "",
                           fmt::format("the listing is not a state GPU {} ({}) can be in: {}",
                                       index.value(),
                                       geometry_.key(),
                                       one_line(violations.front().message, 400)));
      }
      listing_.inventory.gpus.push_back(std::move(gpu));
    }
    return std::move(listing_);
  }

 private:
  /// Two tables of one kind may hold different GPUs, but what two say of one GPU (before and
  /// after?) must not be mixed.
  Status check_tables(const std::vector<SmiRow>& rows, std::string_view option) const {
    std::map<int, int> table_of_gpu;
    for (const SmiRow& row : rows) {
      const auto [first, is_new] = table_of_gpu.emplace(row.gpu, row.table);
      if (!is_new && first->second != row.table) {
        return error(
            row,
            "",
            fmt::format(
                "GPU {} is in two -{} tables of the paste; paste one listing", row.gpu, option));
      }
    }
    return {};
  }

  Error error(const SmiRow& row, std::string_view field, std::string_view what) const {
    return input_error(source_name_, row.line, field, what);
  }
  void note(std::string text) {
    if (std::ranges::find(listing_.notes, text) == listing_.notes.end()) {
      listing_.notes.push_back(std::move(text));
    }
  }
  gpu::ObservedGpu& gpu_at(GpuIndex index) {
    gpu::ObservedGpu& gpu = gpus_[index];
    gpu.index = index;
    gpu.geometry = &geometry_;
    return gpu;
  }

  /// The profile of a GPU-instance row: the id decides, the name must not contradict it.
  Result<ProfileIndex> profile_of(const SmiRow& row) {
    std::optional<ProfileIndex> by_id;
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < geometry_.profiles().size(); ++i) {
      const gpu::GpuInstanceProfile& profile = geometry_.profiles()[i];
      ids.push_back(fmt::format("{} ({})", profile.smi_id.value(), profile.name));
      if (profile.smi_id.value() == row.profile_id) {
        by_id = ProfileIndex(static_cast<int>(i));
      }
    }
    if (!by_id) {
      return error(row,
                   "profile id",
                   fmt::format("{} is no profile of {}; its ids are {} (is --gpu the right model?)",
                               row.profile_id,
                               geometry_.key(),
                               joined_with_and(ids)));
    }
    const std::string& name = geometry_.profile(*by_id).name;
    const std::optional<ProfileIndex> by_name = geometry_.find_profile(row.name);
    if (by_name && *by_name != *by_id) {
      return error(row,
                   "name",
                   fmt::format("{} does not go with profile id {}, which is {} on {} (is --gpu the "
                               "right model?)",
                               quoted_for_message(row.name),
                               row.profile_id,
                               name,
                               geometry_.key()));
    }
    const auto parts = gpu::parse_profile_name(row.name);
    if (!by_name && (!parts || parts->compute || parts->gpu != geometry_.profile(*by_id).slices)) {
      return error(row,
                   "name",
                   fmt::format("{} does not go with profile id {}, which is {} on {}",
                               quoted_for_message(row.name),
                               row.profile_id,
                               name,
                               geometry_.key()));
    }
    if (parts && parts->gpu_instance_name != name) {
      const std::string printed = one_line(parts->gpu_instance_name, 60);
      // A spelling that the catalogue lists is certain; another one may be another GPU's.
      note(by_name ? fmt::format("{} is {} on {}", printed, name, geometry_.key())
                   : fmt::format(
                         "{} is taken as {} of {}, by its profile id; is --gpu the right model?",
                         printed,
                         name,
                         geometry_.key()));
    }
    return *by_id;
  }

  Status add_gpu_instance(const SmiRow& row) {
    SEPTULE_TRY(const ProfileIndex index, profile_of(row));
    const gpu::GpuInstanceProfile& profile = geometry_.profile(index);
    const bool is_possible =
        std::ranges::any_of(profile.placements, [&](const gpu::Placement& place) {
          return place.start.value() == row.start && place.size.value() == row.size;
        });
    if (!is_possible) {
      std::vector<std::string> places;
      for (const gpu::Placement& place : profile.placements) {
        places.push_back(fmt::format("{}:{}", place.start.value(), place.size.value()));
      }
      return error(row,
                   "placement",
                   fmt::format("{}:{} is no placement of {} on {}; possible are {}",
                               row.start,
                               row.size,
                               profile.name,
                               geometry_.key(),
                               joined_with_and(places)));
    }
    gpu::ObservedGpu& gpu = gpu_at(GpuIndex(row.gpu));
    for (const gpu::ObservedInstance& other : gpu.instances) {
      if (other.id && other.id->value() == row.instance_id) {
        return error(row,
                     "instance id",
                     fmt::format("GPU instance {} of GPU {} is listed twice; paste one listing",
                                 row.instance_id,
                                 row.gpu));
      }
    }
    if (gpu.instances.size() >= static_cast<std::size_t>(kInstancesMax)) {
      return error(row, "", fmt::format("more than {} GPU instances on one GPU", kInstancesMax));
    }
    gpu::ObservedInstance instance;
    instance.placed = {index, MemorySlices(row.start)};
    instance.id = GpuInstanceId(row.instance_id);
    gpu.instances.push_back(std::move(instance));
    return {};
  }

  Status add_compute_instance(const SmiRow& row) {
    gpu::ObservedInstance* holder = nullptr;
    if (const auto gpu = gpus_.find(GpuIndex(row.gpu)); gpu != gpus_.end()) {
      for (gpu::ObservedInstance& instance : gpu->second.instances) {
        if (instance.id && instance.id->value() == row.gpu_instance_id) {
          holder = &instance;
        }
      }
    }
    if (holder == nullptr) {
      return error(row,
                   "GPU instance id",
                   fmt::format("no -lgi table lists GPU instance {} of GPU {}; paste the output of "
                               "nvidia-smi mig -lgi as well",
                               row.gpu_instance_id,
                               row.gpu));
    }
    SEPTULE_TRY(const gpu::ComputePlacement place, compute_place(row, *holder));
    if (!holder->compute_instances) {
      holder->compute_instances.emplace();
    }
    for (const gpu::ObservedComputeInstance& other : *holder->compute_instances) {
      if (other.id && other.id->value() == row.instance_id) {
        return error(row,
                     "instance id",
                     fmt::format("compute instance {} of GPU instance {} is listed twice",
                                 row.instance_id,
                                 row.gpu_instance_id));
      }
    }
    if (holder->compute_instances->size() >= static_cast<std::size_t>(kInstancesMax)) {
      return error(row, "", fmt::format("more than {} compute instances", kInstancesMax));
    }
    gpu::ObservedComputeInstance compute;
    compute.instance.placement = place;
    compute.id = ComputeInstanceId(row.instance_id);
    holder->compute_instances->push_back(std::move(compute));
    return {};
  }

  Result<gpu::ComputePlacement> compute_place(const SmiRow& row,
                                              const gpu::ObservedInstance& holder) {
    const gpu::GpuInstanceProfile& profile = geometry_.profile(holder.placed.profile);
    const auto parts = gpu::parse_profile_name(row.name);
    const std::optional<ProfileIndex> named =
        parts ? geometry_.find_profile(parts->gpu_instance_name) : std::nullopt;
    if (!parts || parts->gpu != profile.slices || (named && *named != holder.placed.profile)) {
      return error(row,
                   "name",
                   fmt::format("{} cannot stand in GPU instance {}, which is {}",
                               quoted_for_message(row.name),
                               row.gpu_instance_id,
                               profile.name));
    }
    const ComputeSlices size = parts->compute.value_or(profile.slices);
    const bool is_full = size == profile.slices;
    for (const gpu::ComputeInstanceProfile& known :
         geometry_.compute_profiles(holder.placed.profile)) {
      if (!is_full && known.smi_id.value() == row.profile_id && known.slices != size) {
        return error(row,
                     "profile id",
                     fmt::format("{} is the compute instance of {} slices, but the name {} says {}",
                                 row.profile_id,
                                 known.slices.value(),
                                 quoted_for_message(row.name),
                                 size.value()));
      }
    }
    if (!row.has_placement) {
      if (is_full) {
        return gpu::ComputePlacement{ComputeSlices(0), size};
      }
      return error(
          row,
          "placement",
          "is missing (old drivers do not print it), so where this compute instance stands "
          "is not known; give the state as a JSON inventory");
    }
    // A full compute instance is printed with its slices or with its GPU instance's memory slices.
    const bool is_size_right =
        row.size == size.value() || (is_full && row.size == profile.size().value());
    if (!is_size_right || (is_full && row.start != 0) ||
        row.start + size.value() > profile.slices.value()) {
      return error(row,
                   "placement",
                   fmt::format("{}:{} is no place of {} in {}",
                               row.start,
                               row.size,
                               quoted_for_message(row.name),
                               profile.name));
    }
    return gpu::ComputePlacement{ComputeSlices(row.start), size};
  }

  /// GPU instances without a row: no compute instances if the -lci table covers their GPU, not
  /// listed otherwise (a listing of one GPU beside one of all GPUs).
  void settle_compute_instances(const SmiRows& rows) {
    if (!rows.has_compute_table) {
      return;
    }
    std::set<int> covered;
    for (const SmiRow& row : rows.compute_instances) {
      covered.insert(row.gpu);
    }
    for (auto& [index, gpu] : gpus_) {
      const bool is_covered = covered.empty() || covered.contains(index.value());
      for (gpu::ObservedInstance& instance : gpu.instances) {
        if (!instance.compute_instances && is_covered) {
          instance.compute_instances.emplace();
        }
        if (instance.compute_instances) {
          std::ranges::stable_sort(
              *instance.compute_instances, {}, [](const gpu::ObservedComputeInstance& compute) {
                return compute.instance.placement;
              });
        }
      }
      if (!is_covered) {
        note(
            fmt::format("the -lci table has no row of GPU {}: its compute instances count as not "
                        "listed",
                        index.value()));
      }
    }
  }

  std::string_view source_name_;
  const gpu::Geometry& geometry_;
  std::map<GpuIndex, gpu::ObservedGpu> gpus_;
  SmiListing listing_;
};

}  // namespace

bool looks_like_smi_listing(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  const std::string_view rest = trimmed(text);
  return !rest.empty() && rest.front() != '{' && rest.front() != '[';
}

Result<SmiListing> parse_smi_listing(const InputText& input, const gpu::Geometry& geometry) {
  SEPTULE_TRY(const SmiRows rows, read_smi_rows(input));
  const bool has_rows = !rows.gpu_instances.empty() || !rows.compute_instances.empty();
  if (has_rows && !geometry.has_profile_table()) {
    return input_error(input.source_name,
                       0,
                       "",
                       fmt::format("no profile table is published for {}, so its instances cannot "
                                   "be told apart",
                                   geometry.key()));
  }
  return ListingReader(input.source_name, geometry).read(rows);
}

}  // namespace septule::interop
