#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace septule {

void check_failed(std::string_view condition,
                  std::string_view what_should_hold,
                  const char* file,
                  int line) {
  std::fprintf(stderr,
               "septule: internal error at %s:%d: %.*s (%.*s). This is a bug; please report it.\n",
               file,
               line,
               static_cast<int>(what_should_hold.size()),
               what_should_hold.data(),
               static_cast<int>(condition.size()),
               condition.data());
  std::abort();
}

}  // namespace septule
