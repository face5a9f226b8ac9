#pragma once

#include <optional>
#include <string>
#include <vector>

namespace septule::report {

/// How an axis runs and how its numbers are written.
enum class AxisKind {
  kNumber,   ///< linear
  kTime,     ///< linear; seconds, written "30 min"
  kLog,      ///< logarithmic; values > 0
  kLogTime,  ///< logarithmic; seconds > 0, written "30 min"
  kPercent,  ///< linear; shares, written "50 %"
};

/// What an axis shall show. Bounds that are not given follow from the data.
struct AxisSpec {
  std::string label;
  AxisKind kind = AxisKind::kNumber;
  std::optional<double> min;
  std::optional<double> max;
};

struct Tick {
  double value = 0;
  std::string label;
};

/// Where an axis lies on the drawing: pixel of its lower and of its upper end (which may be the
/// smaller number, as for y).
struct AxisPlace {
  double from = 0;
  double to = 0;
  int ticks_max = 6;  ///< at most so many ticks; >= 2
};

/// An axis with its bounds settled: from values to places. A value; any thread.
class Axis {
 public:
  /// `values` are the data; those that are not finite, or that a logarithmic axis cannot show, are
  /// passed over. Without any the axis is 0..1 (1..10 if logarithmic). Bounds fall on ticks unless
  /// `spec` gives them; lower < upper always.
  Axis(const AxisSpec& spec, const AxisPlace& place, const std::vector<double>& values);

  /// Whether the axis has a place for this value at all (finite, below 1e100; > 0 if logarithmic).
  bool can_show(double value) const;
  /// Place of a value that can be shown; values beyond the bounds lie on the bounds.
  double at(double value) const;
  double min() const { return min_; }
  double max() const { return max_; }
  const std::vector<Tick>& ticks() const { return ticks_; }
  const std::string& label() const { return label_; }

 private:
  bool is_log() const { return kind_ == AxisKind::kLog || kind_ == AxisKind::kLogTime; }

  std::string label_;
  AxisKind kind_;
  AxisPlace place_;
  double min_ = 0;
  double max_ = 1;
  std::vector<Tick> ticks_;
};

/// A length of time for people: "0.5 s", "45 s", "2 min 5 s", "3 h 10 min", "2 d 4 h".
std::string time_text(double seconds);

}  // namespace septule::report
