#pragma once

namespace septule::job {

/// Which quantile of Student's t distribution.
struct StudentTPoint {
  double probability = 0.975;  ///< in (0.5, 1)
  int degrees = 1;             ///< degrees of freedom, from 1
};

/// The value not exceeded with that probability, to a relative 1e-12. Costs time proportional to
/// the degrees of freedom. Pure; any thread.
double student_t_quantile(const StudentTPoint& point);

}  // namespace septule::job
