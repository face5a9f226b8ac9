#pragma once

#include <cstddef>
#include <string_view>

namespace septule {

/// Levenshtein distance of two short texts: fewest bytes inserted, left out or replaced. Takes time
/// of the product of their lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Whether `candidate` is so near to `text` that it may be what was meant: `text` is part of it and
/// has at least three bytes, or at most a third of the longer one (rounded up, never all) is
/// edited. Upper and lower case are one. Texts beyond 80 bytes resemble none.
bool is_likely_meant(std::string_view text, std::string_view candidate);

}  // namespace septule
