#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace septule {

/// An integer with a meaning. Constructed explicitly, read with `value()`; two different meanings
/// never mix. `Tag` is an empty type that only names the meaning. Plain value, any thread.
template <class Tag, class Rep>
class StrongInteger {
 public:
  using Representation = Rep;

  constexpr StrongInteger() = default;
  constexpr explicit StrongInteger(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(StrongInteger, StrongInteger) = default;

 private:
  Rep value_ = 0;
};

/// A StrongInteger that counts something, so that sums and differences make sense.
template <class Tag, class Rep>
class StrongCount {
 public:
  using Representation = Rep;

  constexpr StrongCount() = default;
  constexpr explicit StrongCount(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(StrongCount, StrongCount) = default;
  friend constexpr StrongCount operator+(StrongCount a, StrongCount b) {
    return StrongCount(static_cast<Rep>(a.value_ + b.value_));
  }
  friend constexpr StrongCount operator-(StrongCount a, StrongCount b) {
    return StrongCount(static_cast<Rep>(a.value_ - b.value_));
  }
  constexpr StrongCount& operator+=(StrongCount other) { return *this = *this + other; }
  constexpr StrongCount& operator-=(StrongCount other) { return *this = *this - other; }

 private:
  Rep value_ = 0;
};

/// Memory slices of a GPU's placement grid (8 on seven-slice parts, 4 on A30, 12 on RTX PRO 6000).
using MemorySlices = StrongCount<struct MemorySlicesTag, int>;
/// Compute slices (the N of "Ng" and "Nc").
using ComputeSlices = StrongCount<struct ComputeSlicesTag, int>;
/// Index of a GPU on its node, as nvidia-smi prints it (not the device minor).
using GpuIndex = StrongInteger<struct GpuIndexTag, int>;
/// Number of a GPU in the cluster, dense from 0.
using GpuId = StrongInteger<struct GpuIdTag, int>;
/// Limit of an MPS client, 1 to 100 percent of the threads of the instance it runs in.
using ActiveThreadPercentage = StrongInteger<struct ActiveThreadPercentageTag, int>;
/// Hardware id of a GPU instance, as the driver reports it; never derived from a placement.
using GpuInstanceId = StrongInteger<struct GpuInstanceIdTag, int>;
/// Id of a compute instance inside its GPU instance, as the driver reports it.
using ComputeInstanceId = StrongInteger<struct ComputeInstanceIdTag, int>;
/// Index of a profile in one Geometry's profile list. Meaningless for another Geometry.
using ProfileIndex = StrongInteger<struct ProfileIndexTag, int>;
/// NVML's profile enumeration value, used by the profile queries.
using NvmlProfileId = StrongInteger<struct NvmlProfileIdTag, int>;
/// The profile id that create calls and nvidia-smi use (19, 14, 9 ... on A100).
using SmiProfileId = StrongInteger<struct SmiProfileIdTag, int>;

/// An amount of memory in bytes. GiB and MiB appear only in text, with the word.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t value) : value_(value) {}
  static constexpr Bytes mebibytes(std::uint64_t count) { return Bytes(count << 20U); }

  constexpr std::uint64_t value() const { return value_; }
  constexpr std::uint64_t whole_mebibytes() const { return value_ >> 20U; }
  /// For text and files only.
  constexpr double to_gibibytes() const { return static_cast<double>(value_) / 1073741824.0; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  std::uint64_t value_ = 0;
};

/// A length of time in nanoseconds. Seconds exist only at the edge (files, text).
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanoseconds(std::int64_t count) { return Duration(count); }
  static constexpr Duration milliseconds(std::int64_t count) { return Duration(count * 1000000); }

  constexpr std::int64_t to_nanoseconds() const { return value_; }
  /// For text and files only.
  constexpr double to_seconds() const { return static_cast<double>(value_) / 1e9; }
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(a.value_ + b.value_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return Duration(a.value_ - b.value_);
  }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }

 private:
  constexpr explicit Duration(std::int64_t value) : value_(value) {}
  std::int64_t value_ = 0;
};

}  // namespace septule

template <class Tag, class Rep>
struct std::hash<septule::StrongInteger<Tag, Rep>> {
  std::size_t operator()(septule::StrongInteger<Tag, Rep> id) const noexcept {
    return std::hash<Rep>()(id.value());
  }
};
