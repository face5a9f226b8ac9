#include "live/milp_solvers.hpp"

#ifdef SEPTULE_HAS_CBC
#include "live/cbc_solver.hpp"
#endif

namespace septule::live {

std::unique_ptr<port::MilpSolver> make_milp_solver() {
#ifdef SEPTULE_HAS_CBC
  return std::make_unique<CbcSolver>();
#else
  return nullptr;
#endif
}

}  // namespace septule::live
