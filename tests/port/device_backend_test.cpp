#include "port/device_backend.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace septule::port {
namespace {

TEST(DeviceCodeName, EveryCode_HasItsOwnName) {
  // Aim: messages can tell every code apart, and the count is that of the enumeration.
  std::set<std::string> names;
  for (int code = 0; code < kDeviceCodeCount; ++code) {
    const std::string name(device_code_name(static_cast<DeviceCode>(code)));
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(device_code_name(DeviceCode::kOk), "ok");
  EXPECT_EQ(device_code_name(DeviceCode::kGpuLost), "gpu-lost");
}

TEST(DeviceCodeNameDeathTest, NoSuchCode_Stops) {
  // Aim: a code outside the enumeration is a programmer error; the last one counted is inside.
  EXPECT_DEATH(device_code_name(static_cast<DeviceCode>(kDeviceCodeCount)), "has a name");
}

}  // namespace
}  // namespace septule::port
