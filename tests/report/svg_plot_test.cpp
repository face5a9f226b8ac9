#include "report/svg_plot.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "report/svg_plot_bars.hpp"
#include "support/xml_check.hpp"

namespace septule::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string labels_of(const Axis& axis) {
  std::string labels;
  for (const Tick& tick : axis.ticks()) {
    labels += (labels.empty() ? "" : "|") + tick.label;
  }
  return labels;
}

std::string labels(AxisKind kind, double low, double high) {
  return labels_of(Axis({"", kind, {}, {}}, {0, 100, 6}, {low, high}));
}

TEST(XmlEscaped, SpecialAndForbiddenCharacters_AreReplaced) {
  // Fit for elements and attributes; every byte that XML cannot hold becomes U+FFFD.
  EXPECT_EQ(xml_escaped("<a href=\"x\" b='y'>&amp;"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(xml_escaped(std::string_view("\0\x1b\x7f\r", 4)),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(xml_escaped("\xff\xc3\xa9\xed\xa0\x80").find("\xef\xbf\xbd\xc3\xa9"), 0U);
  EXPECT_EQ(xml_escaped("a\xe2\x80\xae"), "a\xef\xbf\xbd");
  EXPECT_EQ(xml_escaped("\xef\xbf\xbf"), "\xef\xbf\xbd");
  EXPECT_EQ(xml_escaped("tab\tend\n"), "tab\tend\n");
}

RC_GTEST_PROP(XmlEscaped, AnyBytes_MakeAWellFormedElement, ()) {
  // As a text and as an attribute.
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const std::string text = xml_escaped(bytes);
  const std::string xml = "<a b=\"" + text + "\">" + text + "</a>";
  RC_ASSERT(test::XmlReader(xml).fault().empty());
}

TEST(Pixels, Coordinates_HaveOneDecimalAtMost) {
  // Without a trailing zero and without a negative zero.
  EXPECT_EQ(pixels(12.04), "12");
  EXPECT_EQ(pixels(12.06), "12.1");
  EXPECT_EQ(pixels(-0.01), "0");
}

TEST(PlotClass, ManyPolicies_AreToldApartByDashes) {
  // Eight colours, then the same dashed.
  EXPECT_EQ(plot_class(0), "c0");
  EXPECT_EQ(plot_class(7), "c7");
  EXPECT_EQ(plot_class(8), "c0 dash1");
  EXPECT_EQ(plot_class(39), "c7");
}

TEST(Axis, Ticks_AreRoundNumbers) {
  // 1, 2, 5 times a power of ten, or steps of the clock.
  EXPECT_EQ(labels(AxisKind::kNumber, 0, 1425), "0|500|1,000|1,500");
  EXPECT_EQ(labels(AxisKind::kNumber, 0, 1), "0.0|0.2|0.4|0.6|0.8|1.0");
  EXPECT_EQ(labels(AxisKind::kNumber, -3, 4), "-4|-2|0|2|4");
  EXPECT_EQ(labels(AxisKind::kNumber, 0, 0.031), "0.00|0.01|0.02|0.03|0.04");
  EXPECT_EQ(labels(AxisKind::kNumber, 0, 5e9), "0|1e+09|2e+09|3e+09|4e+09|5e+09");
  EXPECT_EQ(labels(AxisKind::kPercent, 0, 1), "0 %|20 %|40 %|60 %|80 %|100 %");
  EXPECT_EQ(labels(AxisKind::kTime, 0, 14002), "0|1 h|2 h|3 h|4 h");
  EXPECT_EQ(labels(AxisKind::kTime, 0, 100), "0|30 s|1 min|1 min 30 s|2 min");
  EXPECT_EQ(labels(AxisKind::kLog, 3, 80), "2|5|10|20|50|100");
  EXPECT_EQ(labels(AxisKind::kLog, 1, 1e5), "1|10|100|1,000|10,000|100,000");
  EXPECT_EQ(labels(AxisKind::kLogTime, 100, 9000), "3 min|10 min|30 min|1 h");
}

TEST(Axis, DegenerateData_StillGiveAnAxis) {
  // Nothing, one value, equal values, values that cannot be shown.
  EXPECT_EQ(labels_of(Axis({}, {0, 100, 6}, {})), "0.0|0.2|0.4|0.6|0.8|1.0");
  EXPECT_EQ(labels_of(Axis({}, {0, 100, 6}, {0, 0})), "0.0|0.2|0.4|0.6|0.8|1.0");
  for (const double value : {5.0, -5.0, 1e-9, 1e18, 1e90, -1e90, kInfinity, std::nan("")}) {
    for (const AxisKind kind : {AxisKind::kNumber,
                                AxisKind::kTime,
                                AxisKind::kLog,
                                AxisKind::kLogTime,
                                AxisKind::kPercent}) {
      const Axis axis({"", kind, {}, {}}, {10, 20, 6}, {value, value});
      EXPECT_LT(axis.min(), axis.max()) << value;
      EXPECT_LE(axis.ticks().size(), 8U) << value;
      if (axis.can_show(value)) {
        EXPECT_GE(axis.at(value), 10) << value;
        EXPECT_LE(axis.at(value), 20) << value;
      }
    }
  }
}

RC_GTEST_PROP(Axis, Values_KeepTheirOrderAndStayInside, ()) {
  // Of any data, with few ticks, all of them within the bounds.
  const auto raw =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000000, 1000000)));
  const double scale = std::pow(10.0, *rc::gen::inRange(-9, 9));
  std::vector<double> values;
  for (const int value : raw) {
    values.push_back(value * scale);
  }
  std::sort(values.begin(), values.end());
  const auto kind =
      *rc::gen::element(AxisKind::kNumber, AxisKind::kTime, AxisKind::kLog, AxisKind::kLogTime);
  const Axis axis({"", kind, {}, {}}, {200, 100, 7}, values);
  double last = 200;
  for (const double value : values) {
    if (axis.can_show(value)) {
      RC_ASSERT(axis.at(value) <= last + 1e-9);
      RC_ASSERT(axis.at(value) >= 100);
      last = axis.at(value);
    }
  }
  RC_ASSERT(axis.ticks().size() <= 9U);
  for (const Tick& tick : axis.ticks()) {
    RC_ASSERT(tick.value >= axis.min() - 1e-9 * std::abs(axis.min()));
    RC_ASSERT(tick.value <= axis.max() + 1e-9 * std::abs(axis.max()));
  }
}

TEST(TimeText, Lengths_HaveTheirTwoLargestUnits) {
  // Rounded, and never "60 s".
  EXPECT_EQ(time_text(0), "0 s");
  EXPECT_EQ(time_text(0.004), "0.004 s");
  EXPECT_EQ(time_text(12.34), "12.3 s");
  EXPECT_EQ(time_text(59.96), "1 min");
  EXPECT_EQ(time_text(125), "2 min 5 s");
  EXPECT_EQ(time_text(3599.9), "1 h");
  EXPECT_EQ(time_text(3725), "1 h 2 min");
  EXPECT_EQ(time_text(86399), "1 d");
  EXPECT_EQ(time_text(90000), "1 d 1 h");
  EXPECT_EQ(time_text(-90), "-1 min 30 s");
  EXPECT_EQ(time_text(kInfinity), "N/A");
}

LinePlot sweep_plot() {
  LinePlot plot;
  plot.title = "Arrival sweep";
  plot.x.label = "mean gap, s";
  plot.y = {"mean JCT, s", AxisKind::kNumber, 0.0, {}};
  plot.lines = {{"miso", 0, {{5, 400, 380, 420}, {60, 100, {}, {}}}},
                {"septule", 1, {{5, 300, 290, 310}, {60, 90, 80, 100}}}};
  return plot;
}

TEST(SvgLinePlot, Standalone_IsAFileOfItsOwn) {
  // It has the name space, its style and nothing from elsewhere, and all is inside the view box.
  const std::string svg = svg_line_plot(sweep_plot(), Embedding::kStandalone);
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_NE(svg.find("xmlns=\"http://www.w3.org/2000/svg\""), std::string::npos);
  EXPECT_EQ(svg.find("http"), svg.rfind("http"));
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(test::count_class(svg, "dot"), 4);
  // Two legend samples, two lines, three intervals.
  EXPECT_EQ(test::count_class(svg, "line"), 7);
  EXPECT_NE(svg.find("miso: 400.00 at 5.00 [380.00, 420.00]"), std::string::npos);
}

TEST(SvgLinePlot, Steps_HoldTheirValueUntilTheNextPoint) {
  // Horizontal first, then vertical; equal values make no vertical stroke.
  LinePlot plot;
  plot.shape = LineShape::kSteps;
  plot.x.min = 0, plot.x.max = 10, plot.y.min = 0, plot.y.max = 10;
  plot.lines = {{"a", 0, {{0, 0, {}, {}}, {5, 0, {}, {}}, {10, 10, {}, {}}}}};
  const std::string svg = svg_line_plot(plot, Embedding::kInline);
  EXPECT_NE(svg.find("d=\"M100 300H470H840V30\""), std::string::npos) << svg;
  EXPECT_EQ(svg.find("xmlns"), std::string::npos);
}

TEST(SvgLinePlot, PointsThatCannotBeShown_AreLeftOut) {
  // Not finite, or not above 0 on a logarithmic axis; without any point it says so.
  LinePlot plot = sweep_plot();
  plot.y.kind = AxisKind::kLog;
  plot.y.min.reset();
  plot.lines = {{"a", 0, {{1, -1, {}, {}}, {2, kInfinity, {}, {}}, {std::nan(""), 2, {}, {}}}}};
  EXPECT_NE(svg_line_plot(plot, Embedding::kInline).find(">no data<"), std::string::npos);
  plot.lines[0].points.push_back({3, 10, -1.0, 20.0});
  const std::string svg = svg_line_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::count_class(svg, "dot"), 1);
  EXPECT_EQ(test::drawing_faults(svg), "");
  plot.lines.clear();
  EXPECT_NE(svg_line_plot(plot, Embedding::kInline).find(">no data<"), std::string::npos);
}

TEST(SvgLinePlot, ManyLongNames_WrapInTheLegend) {
  // Thirty policies with names of any length stay inside the drawing.
  LinePlot plot;
  for (int i = 0; i < 30; ++i) {
    plot.lines.push_back({std::string(static_cast<std::size_t>(7 * i), 'w'), i, {{1, 2, {}, {}}}});
  }
  const std::string svg = svg_line_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(svg), "");
}

TEST(SvgLinePlot, Dots_HaveADiagonalAndNoLine) {
  // Aim: a circle per point, one straight line from corner to corner of equal axes, no path
  // between.
  LinePlot plot;
  plot.shape = LineShape::kDots;
  plot.x = {"x", AxisKind::kNumber, 0.0, 1.0};
  plot.y = {"y", AxisKind::kNumber, 0.0, 1.0};
  plot.lines = {{"a", 0, {{0.9, 0.8, {}, {}}, {0.1, 0.3, {}, {}}}}};
  const std::string svg = svg_line_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_EQ(test::count_class(svg, "dot"), 2);
  EXPECT_NE(svg.find("<path class=\"axis\" d=\"M100 300L840 30\"/>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("<title>a</title></path>"), std::string::npos);
}

RC_GTEST_PROP(SvgLinePlot, AnyData_StayInTheViewBox, ()) {
  // Well formed whatever the names hold, with coordinates inside, and equal when drawn again.
  LinePlot plot;
  plot.x.kind = *rc::gen::element(AxisKind::kNumber, AxisKind::kTime, AxisKind::kLogTime);
  plot.y.kind = *rc::gen::element(AxisKind::kNumber, AxisKind::kPercent, AxisKind::kLog);
  plot.shape = *rc::gen::element(LineShape::kSteps, LineShape::kPoints, LineShape::kDots);
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    PlotLine line{*rc::gen::container<std::string>(rc::gen::arbitrary<char>()), i, {}};
    for (const double value :
         *rc::gen::container<std::vector<double>>(rc::gen::arbitrary<double>())) {
      line.points.push_back({value, -value, value - 1, value + 1});
    }
    plot.lines.push_back(line);
  }
  const std::string svg = svg_line_plot(plot, Embedding::kStandalone);
  RC_ASSERT(test::drawing_faults(svg) == "");
  RC_ASSERT(svg == svg_line_plot(plot, Embedding::kStandalone));
}

TEST(SvgBarPlot, StackedBars_ShowTheirShares) {
  // Parts lie end to end; wide ones carry their share, and each tells its value.
  BarPlot plot;
  plot.part_names = {"wait", "running"};
  plot.bars = {{"miso", 0, {25, 75}, {}, {}, "100 s"}};
  const std::string svg = svg_bar_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_NE(svg.find(">25 %<"), std::string::npos);
  EXPECT_NE(svg.find("miso, running: 75.00 (75.0 %)"), std::string::npos);
  EXPECT_NE(svg.find("class=\"bar k0\" x=\"150\" y=\"39\" width=\"155\""), std::string::npos)
      << svg;
  EXPECT_NE(svg.find("class=\"bar k1\" x=\"305\" y=\"39\" width=\"465\""), std::string::npos)
      << svg;
}

TEST(SvgBarPlot, LongNames_GetTheirRoom) {
  // The column of names grows with them: nothing is shortened that fits half of the drawing.
  BarPlot plot;
  const std::string name = "optsta-on-trace on 8 x A100-80GB, gap 60 s";
  plot.bars = {{name, 0, {5}, {}, {}, "5"}};
  EXPECT_NE(svg_bar_plot(plot, Embedding::kInline).find(">" + name + "<"), std::string::npos);
  plot.bars[0].name = std::string(500, 'w');
  const std::string svg = svg_bar_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_NE(svg.find("w\xe2\x80\xa6<"), std::string::npos);
}

TEST(SvgBarPlot, Groups_HaveOneHeadingEach) {
  // Above the first bar of each, and the drawing is as much higher.
  BarPlot plot;
  plot.bars = {{"a", 0, {5}, {}, {}, "5", "one"},
               {"b", 1, {5}, {}, {}, "5", "one"},
               {"a", 0, {5}, {}, {}, "5", "two & more"}};
  const std::string svg = svg_bar_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_EQ(test::count_class(svg, "heading"), 2);
  EXPECT_NE(svg.find(">two &amp; more<"), std::string::npos);
}

TEST(AreaStripes, RepeatedColours_AreToldApart) {
  // None, then upright, level, both.
  EXPECT_EQ(area_stripes(7, 0, 0, 6, 6), "");
  EXPECT_EQ(area_stripes(8, 1, 2, 6, 5), "<path class=\"stripes\" d=\"M3.5 2v5\"/>");
  EXPECT_EQ(area_stripes(16, 1, 2, 6, 5), "<path class=\"stripes\" d=\"M1 4.5h6\"/>");
  EXPECT_EQ(area_stripes(24, 1, 2, 6, 5), "<path class=\"stripes\" d=\"M3.5 2v5M1 4.5h6\"/>");
  BarPlot plot;
  plot.bars = {{"a", 7, {5}, {}, {}, "5"}, {"b", 8, {5}, {}, {}, "5"}};
  EXPECT_EQ(test::count_class(svg_bar_plot(plot, Embedding::kInline), "stripes"), 1);
}

RC_GTEST_PROP(FittedText, AnyText_FitsOrIsOneLetter, ()) {
  // As it is where it fits; never wider than asked for, but for the ellipsis alone.
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const double width = *rc::gen::inRange(20, 400);
  const std::string fitted = fitted_text(text, width);
  RC_ASSERT(text_width(text) > width || fitted == text);
  RC_ASSERT(text_width(fitted) <= width || text.size() <= 1);
}

TEST(SvgBarPlot, DegenerateBars_AreDrawnOrSaidToBeUnknown) {
  // No bar, no value, zero, a value that is none, an interval that reaches below 0.
  BarPlot plot;
  plot.width = 340;
  EXPECT_EQ(test::drawing_faults(svg_bar_plot(plot, Embedding::kInline)), "");
  plot.bars = {{"none", 0, {}, {}, {}, "x"},
               {"zero", 1, {0}, {}, {}, "0"},
               {"nan", 2, {std::nan("")}, {}, {}, "x"},
               {"wide", 3, {5}, -100.0, 200.0, "5"},
               {"<b>", 99, {1e9}, kInfinity, kInfinity, "\"&"}};
  const std::string svg = svg_bar_plot(plot, Embedding::kInline);
  EXPECT_EQ(test::drawing_faults(svg), "");
  EXPECT_EQ(test::count_class(svg, "bar"), 3);
  EXPECT_NE(svg.find(">N/A<"), std::string::npos);
  EXPECT_NE(svg.find("&lt;b&gt;"), std::string::npos);
}

TEST(SvgBarPlotDeathTest, MorePartsThanNames_AreAProgrammerError) {
  // And a drawing that is too narrow for its figures.
  BarPlot plot;
  plot.part_names = {"a"};
  plot.bars = {{"x", 0, {1, 2}, {}, {}, ""}};
  EXPECT_DEATH((void)svg_bar_plot(plot, Embedding::kInline), "each part of a stacked bar");
  EXPECT_DEATH((void)svg_bar_plot({.width = 100}, Embedding::kInline), "room for names");
}

}  // namespace
}  // namespace septule::report
