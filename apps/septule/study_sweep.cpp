#include "septule/study_sweep.hpp"

#include "report/sweep_plot.hpp"

namespace septule::app {

std::string sweep_drawing(const FinishedStudy& finished) {
  return finished.study->spec().gaps.size() < 2
             ? std::string()
             : report::svg_line_plot(report::sweep_plot(study_report(finished)),
                                     report::Embedding::kStandalone);
}

}  // namespace septule::app
