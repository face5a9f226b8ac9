#pragma once

#include <string>

#include "report/study.hpp"

namespace septule::report {

/// Limits of a page, so that a large study cannot make one that no browser opens.
struct HtmlOptions {
  int timeline_gpus_max = 8;        ///< per policy; >= 1
  int timeline_pieces_max = 24000;  ///< of all policies together, who get equal parts; >= 1
};

/// The study as one self-contained page: no script, and nothing is fetched. Figures with their
/// intervals, distribution of JCT, what the time went into, queue and STP over time, the GPUs over
/// time with their slices in place, what policies and terms mean, and how to get the same figures
/// again. A study of several gaps shows its chart and its tables by gap first, and pictures of its
/// first gap only; with several clusters colours stay with the policies. Light or dark as the
/// reader's system is. What a study lacks is said, not drawn. The page is well-formed XML; equal
/// studies give equal bytes.
std::string html_report(const StudyReport& study, const HtmlOptions& options = {});

}  // namespace septule::report
