#pragma once

#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// Bytes of a .npy file at most.
inline constexpr std::size_t kNpyBytesMax = std::size_t{64} << 20U;
/// Axes of an array at most.
inline constexpr std::size_t kNpyAxesMax = 8;

/// An array of float32, the last axis running fastest. Invariant: as many values as the product of
/// `shape`. A plain value; values may be NaN or infinite, as they were in the file.
struct NpyArray {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

/// Reads a .npy file (NumPy's format, version 1.0) of little-endian float32 in C order; that is all
/// Septule's training data needs. Fails with kInvalidInput, naming the source and what was found:
/// not such a file, another version, type or order, a heading that is not what NumPy writes, fewer
/// or more bytes than the shape asks for.
Result<NpyArray> read_npy(const InputText& input);

}  // namespace septule::interop
