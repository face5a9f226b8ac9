#include "device/board_model.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <climits>
#include <fmt/format.h>

namespace septule::device {

namespace {

/// Ids of the half, quarter and eighth locations of a chip end at 14; what lies across them (no
/// known model has it) is numbered from here.
constexpr int kUnalignedIdFirst = 64;
/// The grid of the parts on which the mirrored orientation was seen.
constexpr int kMirroredGrid = 8;

std::uint32_t low_bits(int count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << static_cast<unsigned>(count)) - 1U);
}

std::uint32_t bit(int index) {
  return std::uint32_t{1} << static_cast<unsigned>(index);
}

Error too_large(const gpu::Geometry& geometry, std::string_view what, int have, int limit) {
  return {
      .code = ErrorCode::kInvalidInput,
      .message = fmt::format(
          "{} cannot be emulated: {} is {}, the limit is {}", geometry.key(), what, have, limit)};
}

/// The whole chip is location 0, its halves are 1 and 2, its quarters 3 to 6, its eighths 7 to 14.
int location_id(int grid, int size, int start, Orientation orientation) {
  const int parts = grid / size;
  const int part = start / size;
  const bool is_mirrored = orientation == Orientation::kMirrored && grid == kMirroredGrid;
  return parts - 1 + (is_mirrored ? (part + parts / 2) % parts : part);
}

Status check_limits(const gpu::Geometry& geometry) {
  const int grid = geometry.memory_slices().value();
  if (grid > BoardModel::kMemorySlicesMax) {
    return too_large(geometry, "the number of memory slices", grid, BoardModel::kMemorySlicesMax);
  }
  for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
    const gpu::GpuInstanceProfile& profile = geometry.profiles()[p];
    const int most = grid / std::max(profile.size().value(), 1);
    if (most > BoardModel::kInstancesMax) {
      return too_large(geometry, "the number of GPU instances", most, BoardModel::kInstancesMax);
    }
    for (const gpu::Placement& placement : profile.placements) {
      if (placement.start.value() < 0 || placement.size.value() < 1 ||
          placement.end().value() > grid) {
        return too_large(geometry,
                         fmt::format("the end of a placement of {}", profile.name),
                         placement.end().value(),
                         grid);
      }
    }
    if (profile.slices.value() > BoardModel::kComputeInstancesMax) {
      return too_large(geometry,
                       fmt::format("the number of compute slices of {}", profile.name),
                       profile.slices.value(),
                       BoardModel::kComputeInstancesMax);
    }
    const auto rows = geometry.compute_profiles(ProfileIndex(static_cast<int>(p)));
    if (std::cmp_greater(rows.size(), BoardModel::kComputeInstancesMax)) {
      return too_large(geometry,
                       fmt::format("the number of compute profiles of {}", profile.name),
                       static_cast<int>(rows.size()),
                       BoardModel::kComputeInstancesMax);
    }
  }
  return {};
}

}  // namespace

Result<BoardModel> BoardModel::make(const gpu::Geometry& geometry,
                                    const gpu::LatencyTable& latencies,
                                    int mps_clients_max) {
  SEPTULE_TRY_STATUS(check_limits(geometry));
  BoardModel model(geometry);
  for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
    model.add_profile(ProfileIndex(static_cast<int>(p)), latencies, mps_clients_max);
  }
  model.number_instances();
  for (std::size_t e = 0; e < model.engine_budget_.size(); ++e) {
    model.engine_budget_[e] = geometry.engine_budget()[e].value_or(INT_MAX);
  }
  model.compute_create_ = latencies.compute_instance_create(geometry.key()).duration;
  model.compute_destroy_ = latencies.compute_instance_destroy(geometry.key()).duration;
  model.mig_mode_toggle_ = latencies.mig_mode_toggle(geometry.key()).duration;
  return model;
}

void BoardModel::add_profile(ProfileIndex index,
                             const gpu::LatencyTable& latencies,
                             int mps_clients_max) {
  const gpu::GpuInstanceProfile& from = geometry_->profile(index);
  Profile profile;
  profile.size_mask = low_bits(from.size().value());
  for (const gpu::Placement& placement : from.placements) {
    profile.start_mask |= bit(placement.start.value());
  }
  profile.instances_max = from.instances_max;
  const int whole = std::max(geometry_->compute_slices().value(), from.slices.value());
  profile.mps_clients_max = std::max(1, mps_clients_max * from.slices.value() / whole);
  for (std::size_t e = 0; e < profile.engines.size(); ++e) {
    profile.engines[e] = from.engines[e].value_or(0);
  }
  profile.create = latencies.gpu_instance_create(geometry_->key(), from.slices).duration;
  profile.destroy = latencies.gpu_instance_destroy(geometry_->key(), from.slices).duration;
  for (const gpu::ComputeInstanceProfile& row : geometry_->compute_profiles(index)) {
    ComputeRow compute{.slices = row.slices.value(), .instances_max = row.instances_max};
    for (const gpu::ComputePlacement& placement : row.placements) {
      if (placement.start.value() >= 0 && placement.end() <= from.slices) {
        compute.start_mask |= bit(placement.start.value());
      }
    }
    profile.compute_rows.push_back(compute);
  }
  profiles_.push_back(profile);
}

void BoardModel::number_instances() {
  const int grid = geometry_->memory_slices().value();
  std::map<std::pair<int, int>, int> unaligned;  // (size, start) -> id
  for (std::size_t p = 0; p < profiles_.size(); ++p) {
    const gpu::GpuInstanceProfile& from = geometry_->profiles()[p];
    for (auto& of_orientation : profiles_[p].ids) {
      of_orientation.fill(-1);
    }
    for (const gpu::Placement& placement : from.placements) {
      const int size = placement.size.value();
      const int start = placement.start.value();
      const bool is_aligned = grid % size == 0 && start % size == 0;
      for (int o = 0; o < kOrientationCount; ++o) {
        const int next = kUnalignedIdFirst + static_cast<int>(unaligned.size());
        const int id = is_aligned ? location_id(grid, size, start, static_cast<Orientation>(o))
                                  : unaligned.try_emplace({size, start}, next).first->second;
        profiles_[p].ids[static_cast<std::size_t>(o)][static_cast<std::size_t>(start)] =
            static_cast<std::int16_t>(id);
      }
    }
  }
}

}  // namespace septule::device
