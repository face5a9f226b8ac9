#pragma once

#include <string>
#include <vector>

#include "report/study.hpp"
#include "report/svg_plot.hpp"

namespace septule::report {

/// Drawings of the page, from the study's figures. `rows` are the policies that are drawn, as
/// indices into StudyReport::policies.
using Rows = std::vector<std::size_t>;

/// Bars of mean JCT, makespan and STP per GPU with their intervals, by cluster: side by side, or
/// one under the other where names are long.
std::string html_overview(const StudyReport& study, const Rows& rows);
/// Distribution of JCT over all jobs of all seeds, one line per policy. At most some 400 points a
/// line: a larger sample is drawn at its quantiles.
std::string html_distribution(const StudyReport& study, const Rows& rows);
/// What the mean JCT consists of, by cluster.
std::string html_breakdown(const StudyReport& study, const Rows& rows);
/// A value of the representative runs over time: see series_points.
std::string html_series(const StudyReport& study,
                        const Rows& rows,
                        double job::SeriesPoint::* member,
                        const std::string& title);

/// The empirical distribution of `samples` as steps: share of samples at most x. Samples that are
/// not above 0 are passed over (the axis is logarithmic).
std::vector<PlotPoint> distribution_points(const std::vector<double>& samples);
/// A series as steps from 0 to `end`. A long one is cut into 120 equal parts, each with its mean
/// over time.
std::vector<PlotPoint> series_points(const std::vector<job::SeriesPoint>& series,
                                     double job::SeriesPoint::* member,
                                     SimTime end);
/// Where the time axes of all runs of the page end: the last makespan.
SimTime last_makespan(const StudyReport& study, const Rows& rows);

}  // namespace septule::report
