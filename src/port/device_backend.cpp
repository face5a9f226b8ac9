#include "port/device_backend.hpp"

#include "base/check.hpp"

namespace septule::port {

std::string_view device_code_name(DeviceCode code) {
  switch (code) {
    case DeviceCode::kOk:
      return "ok";
    case DeviceCode::kInvalidArgument:
      return "invalid-argument";
    case DeviceCode::kNotSupported:
      return "not-supported";
    case DeviceCode::kNoPermission:
      return "no-permission";
    case DeviceCode::kNotFound:
      return "not-found";
    case DeviceCode::kInsufficientResources:
      return "insufficient-resources";
    case DeviceCode::kInUse:
      return "in-use";
    case DeviceCode::kResetRequired:
      return "reset-required";
    case DeviceCode::kGpuLost:
      return "gpu-lost";
  }
  SEPTULE_CHECK(false, "every DeviceCode has a name");
}

}  // namespace septule::port
