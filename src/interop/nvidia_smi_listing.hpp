#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/inventory.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// A node's state read from pasted nvidia-smi output, with what the reader should know about it,
/// each said once ("a listing does not say who uses an instance").
struct SmiListing {
  gpu::Inventory inventory;
  std::vector<std::string> notes;
};

/// Whether a text looks like `nvidia-smi mig` output rather than JSON: its first character that is
/// not blank is no "{" or "[".
bool looks_like_smi_listing(std::string_view text);

/// Parses the pasted text of `nvidia-smi mig -lgi` and `-lci`, one or both, in any order, with
/// prompts, warnings and other tables around. All GPUs are of the model `geometry`. Ids decide
/// which profile is meant; a known name that contradicts its id is an error. Without an -lci table
/// the compute instances are absent (not listed). Every instance counts as idle. An answer that
/// names no GPU
/// ("No GPU instances found") is taken as GPU 0. Fails with kInvalidInput, naming source and line.
/// Source of the format: nvidia-smi of driver branches 450 to 580.
Result<SmiListing> parse_smi_listing(const InputText& input, const gpu::Geometry& geometry);

}  // namespace septule::interop
