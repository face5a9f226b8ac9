#include "report/svg_plot_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/number_text.hpp"

namespace septule::report {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Colours: Okabe and Ito's for policies, with their yellow, which fades on white, and black, which
// fades on dark, replaced; for parts of a time a scale of one stone hue, which no policy has; Paul
// Tol's "light" set for jobs, made to carry black letters.
constexpr std::string_view kStyle = R"(
:root{--paper:#fff;--ink:#1b1f24;--ink2:#57606a;--line:#8c959f;--grid:#e6e9ed;--band:#f1f3f5;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#aa4499;--c4:#d08c00;--c5:#56b4e9;--c6:#6e7781;
--c7:#8c510a;--k0:#e6e0d4;--k1:#c4b79f;--k2:#948568;--k3:#57503f;--t0:#1b1f24;--t1:#1b1f24;
--t2:#1b1f24;--t3:#fff}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e6e9ec;--ink2:#a8b2bd;
--line:#6b7682;--grid:#272e36;--band:#1c2229;--c0:#4aa8e0;--c1:#f08240;--c2:#2fc79a;--c3:#d98ac8;
--c4:#f2b93b;--c5:#9bd6f9;--c6:#a8b2bd;--c7:#c98a4b;--k0:#3d3a33;--k1:#6b6452;--k2:#a39678;
--k3:#e0d6bf;--t0:#e6e9ec;--t1:#e6e9ec;--t2:#12161b;--t3:#12161b}}
.plot{display:block;width:100%;height:auto;font:12px system-ui,"Segoe UI",Roboto,Helvetica,Arial,
sans-serif;font-variant-numeric:tabular-nums}
.plot text{fill:var(--ink2)}
.plot .strong{fill:var(--ink)}
.plot .heading{font-weight:600}
.plot .end{text-anchor:end}
.plot .mid{text-anchor:middle}
.plot .paper{fill:var(--paper)}
.plot .axis{stroke:var(--line);fill:none}
.plot .grid{stroke:var(--grid);fill:none}
.plot .line{fill:none;stroke-width:2;stroke-linejoin:round}
.plot .bound{fill:none;stroke:var(--ink);stroke-width:1.3}
.c0{stroke:var(--c0);fill:var(--c0)}.c1{stroke:var(--c1);fill:var(--c1)}
.c2{stroke:var(--c2);fill:var(--c2)}.c3{stroke:var(--c3);fill:var(--c3)}
.c4{stroke:var(--c4);fill:var(--c4)}.c5{stroke:var(--c5);fill:var(--c5)}
.c6{stroke:var(--c6);fill:var(--c6)}.c7{stroke:var(--c7);fill:var(--c7)}
.dash1{stroke-dasharray:6 3}.dash2{stroke-dasharray:2 3}.dash3{stroke-dasharray:9 3 2 3}
.plot .dot{stroke:none}
.plot .open{fill:var(--paper);stroke-width:1.8}
.plot .stripes{fill:none;stroke:var(--paper);stroke-width:1.6}
.plot .bar{stroke:none}
.k0{fill:var(--k0)}.k1{fill:var(--k1)}.k2{fill:var(--k2)}.k3{fill:var(--k3)}
.plot .t0{fill:var(--t0)}.plot .t1{fill:var(--t1)}.plot .t2{fill:var(--t2)}.plot .t3{fill:var(--t3)}
.plot .band{fill:var(--band)}
.plot .job{stroke:var(--paper);stroke-width:.6}
.plot .slow{opacity:.5}
.plot .mixed{fill:var(--line)}
.plot .idle{fill:none;stroke:var(--line);stroke-width:.6}
.plot .hold{fill-opacity:0}
.plot .over{pointer-events:none}
.plot .name{fill:#1b1f24;font-size:11px;text-anchor:middle;pointer-events:none;paint-order:stroke;
stroke:#fff;stroke-opacity:.75;stroke-width:3px}
.plot .tag{fill:#1b1f24;font-size:9px;text-anchor:middle;pointer-events:none}
.j0{fill:#77aadd}.j1{fill:#ee8866}.j2{fill:#eedd88}.j3{fill:#ffaabb}
.j4{fill:#99ddff}.j5{fill:#44bb99}.j6{fill:#bbcc33}.j7{fill:#c8b7e0}
)";

/// Length of the valid UTF-8 sequence at the start of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length) {
    if (is_valid_utf8(text.substr(0, length))) {
      return length;
    }
  }
  return 0;
}

/// Width of one letter, which may be any bytes.
double letter_width(std::string_view sequence) {
  constexpr std::string_view kNarrow = " !'(),.:;I[]`ijl|tfr-";
  constexpr std::string_view kWide = "MW@mw%";
  if (sequence.size() > 1) {
    return 12;
  }
  if (kNarrow.find(sequence) != std::string_view::npos) {
    return 5;
  }
  return kWide.find(sequence) != std::string_view::npos ? 12 : 7.6;
}

/// Sequences that XML forbids, or that would turn the text around them.
bool is_unwanted(std::string_view sequence) {
  static constexpr std::array<std::string_view, 13> kUnwanted = {"\xef\xbf\xbe",
                                                                 "\xef\xbf\xbf",
                                                                 "\xe2\x80\x8e",
                                                                 "\xe2\x80\x8f",
                                                                 "\xe2\x80\xaa",
                                                                 "\xe2\x80\xab",
                                                                 "\xe2\x80\xac",
                                                                 "\xe2\x80\xad",
                                                                 "\xe2\x80\xae",
                                                                 "\xe2\x81\xa6",
                                                                 "\xe2\x81\xa7",
                                                                 "\xe2\x81\xa8",
                                                                 "\xe2\x81\xa9"};
  if (sequence.size() == 1) {
    const auto byte = static_cast<unsigned char>(sequence.front());
    return (byte < 0x20U && byte != '\t' && byte != '\n') || byte == 0x7FU;
  }
  return std::ranges::find(kUnwanted, sequence) != kUnwanted.end();
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    const std::string_view sequence = text.substr(at, std::max<std::size_t>(length, 1));
    at += sequence.size();
    if (length == 0 || is_unwanted(sequence)) {
      out += kReplacement;
    } else if (sequence == "&") {
      out += "&amp;";
    } else if (sequence == "<") {
      out += "&lt;";
    } else if (sequence == ">") {
      out += "&gt;";
    } else if (sequence == "\"") {
      out += "&quot;";
    } else if (sequence == "'") {
      out += "&#39;";
    } else {
      out += sequence;
    }
  }
  return out;
}

std::string pixels(double value) {
  SEPTULE_CHECK(std::isfinite(value), "a coordinate is finite");
  std::string text = fixed_text(value, 1);
  if (text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text;
}

double text_width(std::string_view text) {
  double width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(sequence_length(text.substr(at)), 1);
    width += letter_width(text.substr(at, length));
    at += length;
  }
  return width;
}

std::string fitted_text(std::string_view text, double width) {
  std::string shown(text);
  for (std::size_t letters = text.size(); letters > 1 && text_width(shown) > width; --letters) {
    shown = shortened_text(text, letters - 1);
  }
  return shown;
}

std::string_view plot_style() {
  return kStyle;
}

std::string plot_class(int index) {
  SEPTULE_CHECK(index >= 0, "policies count from 0");
  const std::string colour = fmt::format("c{}", index % kPlotColours);
  const int dash = index / kPlotColours % 4;
  return dash == 0 ? colour : fmt::format("{} dash{}", colour, dash);
}

std::string area_stripes(int index, double x, double y, double width, double height) {
  SEPTULE_CHECK(index >= 0, "policies count from 0");
  constexpr double kStep = 5;
  const int dash = index / kPlotColours % 4;
  std::string path;
  for (double at = kStep / 2; dash % 2 == 1 && at < width; at += kStep) {
    path += fmt::format("M{} {}v{}", pixels(x + at), pixels(y), pixels(height));
  }
  for (double at = kStep / 2; dash >= 2 && at < height; at += kStep) {
    path += fmt::format("M{} {}h{}", pixels(x), pixels(y + at), pixels(width));
  }
  return path.empty() ? path : fmt::format("<path class=\"stripes\" d=\"{}\"/>", path);
}

std::string svg_opening(DrawingSize size, std::string_view title, Embedding embedding) {
  const std::string name = xml_escaped(title);
  const std::string space =
      embedding == Embedding::kStandalone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "";
  std::string out =
      fmt::format("<svg class=\"plot\"{} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  space,
                  size.width,
                  size.height,
                  name);
  if (embedding == Embedding::kStandalone) {
    out += fmt::format("<title>{}</title>\n<style>{}</style>\n", name, plot_style());
    out += fmt::format(
        "<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", size.width, size.height);
  }
  return out;
}

}  // namespace septule::report
