#include "base/digest.hpp"

#include <fmt/format.h>

namespace septule {

std::string Digest::text() const {
  return fmt::format("{:016x}", value_);
}

}  // namespace septule
