#pragma once

#include <string>
#include <string_view>

namespace septule::report {

/// `text` for XML and HTML, inside elements and quoted attributes alike: the five special
/// characters as entities; what XML forbids (control characters, invalid UTF-8, U+FFFE, U+FFFF) and
/// the marks that turn the direction of writing as U+FFFD. Any bytes in.
std::string xml_escaped(std::string_view text);

/// A coordinate of a drawing: one decimal at most, never "-0". Finite.
std::string pixels(double value);

/// Width of `text` in a drawing, pixels at its 12 px letters: a guess that is rather too wide, as
/// the reader's font is not known. Any bytes.
double text_width(std::string_view text);
/// The text, or as much of it with an ellipsis as is no wider than `width` by text_width.
std::string fitted_text(std::string_view text, double width);

/// The rules that drawings need: colours for light and dark, letters, lines. One copy in a page, or
/// in a drawing that stands alone.
std::string_view plot_style();

/// Policies have these many colours (safe for the colour-blind, classes c0...); the next ones
/// repeat them: lines dashed, areas with stripes.
inline constexpr int kPlotColours = 8;
/// Class of the line or the area of the n-th policy, n >= 0: "c3", "c3 dash1".
std::string plot_class(int index);
/// Stripes over the area of the n-th policy, n >= 0, as a path element; empty for the first
/// kPlotColours. The box is in pixels.
std::string area_stripes(int index, double x, double y, double width, double height);

/// Whether a drawing lies in a page that has plot_style(), or is a file of its own.
enum class Embedding { kInline, kStandalone };
struct DrawingSize {
  int width = 0;   ///< of the view box, in its own units (pixels at full width)
  int height = 0;  ///< likewise
};
/// The first tag of a drawing, with its name for those who cannot see it. Closed by "</svg>\n".
std::string svg_opening(DrawingSize size, std::string_view title, Embedding embedding);

}  // namespace septule::report
