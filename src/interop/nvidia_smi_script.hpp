#pragma once

#include <string_view>

namespace septule::interop {

/// The functions in front of every script of smi_script(): POSIX sh, nothing but nvidia-smi and the
/// shell itself is run.
extern const std::string_view kScriptHead;

}  // namespace septule::interop
