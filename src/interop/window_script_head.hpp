#pragma once

#include <string_view>

namespace septule::interop {

/// The functions of a window's script, after kScriptHead (nvidia_smi_script.hpp): jobs, MPS
/// daemons, UUIDs of MIG devices.
extern const std::string_view kWindowScriptHead;

}  // namespace septule::interop
