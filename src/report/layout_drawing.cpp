#include "report/layout_drawing.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace septule::report {

namespace {

constexpr std::size_t kSliceWidth = 5;

/// Writes "[name      ]" over the slices of `place`.
void draw_box(std::string& line,
              const gpu::Placement& place,
              std::string_view name,
              std::string_view mark) {
  const auto from = static_cast<std::size_t>(place.start.value()) * kSliceWidth;
  const auto width = static_cast<std::size_t>(place.size.value()) * kSliceWidth;
  if (from + width > line.size()) {
    return;  // off the grid: an illegal layout is explained in words, not drawn
  }
  const std::size_t inner = width - 2;
  std::string label(name);
  if (label.size() + mark.size() > inner) {
    label = label.substr(0, label.find('g') + 1);
  }
  label += mark;
  label.resize(inner, ' ');
  line.replace(from, width, "[" + label + "]");
}

std::string empty_line(const gpu::Geometry& geometry) {
  std::string line;
  for (int i = 0; i < geometry.memory_slices().value(); ++i) {
    line += "  .  ";
  }
  return line;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string slice_ruler(const gpu::Geometry& geometry) {
  std::string line;
  for (int i = 0; i < geometry.memory_slices().value(); ++i) {
    line += fmt::format("{:^5}", i);
  }
  return without_trailing_spaces(line);
}

std::string draw_layout(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  std::string line = empty_line(geometry);
  for (const gpu::PlacedProfile& placed : layout) {
    draw_box(line, gpu::placement_of(geometry, placed), geometry.profile(placed.profile).name, "");
  }
  return without_trailing_spaces(line);
}

std::string draw_observed(const gpu::ObservedGpu& gpu) {
  std::string line = empty_line(*gpu.geometry);
  for (const gpu::ObservedInstance& instance : gpu.instances) {
    const gpu::Hold hold = instance.effective_hold();
    const std::string_view mark = hold == gpu::Hold::kBusy      ? "*"
                                  : hold == gpu::Hold::kForeign ? "!"
                                                                : "";
    draw_box(line,
             gpu::placement_of(*gpu.geometry, instance.placed),
             gpu.geometry->profile(instance.placed.profile).name,
             mark);
  }
  return without_trailing_spaces(line);
}

}  // namespace septule::report
