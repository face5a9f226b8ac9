#include "plan/plan.hpp"

namespace septule::plan {

std::string_view proof_name(Proof proof) {
  switch (proof) {
    case Proof::kNone:
      return "none";
    case Proof::kOptimal:
      return "optimal";
  }
  return "";
}

}  // namespace septule::plan
