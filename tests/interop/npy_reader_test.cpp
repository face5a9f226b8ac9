#include "interop/npy_reader.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace septule::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(std::string heading, std::string_view payload) {
  heading += '\n';
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\x00';
  text += static_cast<char>(heading.size() & 0xFFU);
  text += static_cast<char>(heading.size() >> 8U);
  return text + heading + std::string(payload);
}

// 1, -2.5, as little-endian float32.
const std::string& two_values() {
  static const std::string values("\x00\x00\x80\x3F\x00\x00\x20\xC0", 8);
  return values;
}

std::string fault_of(const std::string& text) {
  const auto read = read_npy({text, "x.npy"});
  EXPECT_FALSE(read.has_value());
  return read ? "" : read.error().message;
}

TEST(NpyReader, Valid_GivesShapeAndValues) {
  // Aim: values arrive in order, for one axis (as NumPy writes it) and for several.
  const auto one = read_npy(
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", two_values()), "x.npy"});
  ASSERT_TRUE(one.has_value()) << one.error().message;
  EXPECT_THAT(one->shape, ElementsAre(2U));
  EXPECT_THAT(one->values, ElementsAre(1.0F, -2.5F));
  const auto two = read_npy(
      {npy("{'shape': (1, 2), 'fortran_order': False, 'descr': '<f4'}   ", two_values()), "x"});
  ASSERT_TRUE(two.has_value()) << two.error().message;
  EXPECT_THAT(two->shape, ElementsAre(1U, 2U));
  const auto scalar = read_npy(
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", two_values().substr(4)),
       "x"});
  ASSERT_TRUE(scalar.has_value()) << scalar.error().message;
  EXPECT_THAT(scalar->values, ElementsAre(-2.5F));
}

TEST(NpyReader, NotANumber_IsPassedOn) {
  // Aim: judging values is the caller's matter.
  const auto read = read_npy({npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                                  std::string_view("\x00\x00\xC0\x7F", 4)),
                              "x.npy"});
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(std::isnan(read->values[0]));
}

TEST(NpyReader, Unsupported_SaysWhatIsExpected) {
  // Aim: other types, orders and versions are refused by name.
  EXPECT_THAT(fault_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "")),
              HasSubstr("values of type \"'<f8'\"; expected '<f4'"));
  EXPECT_THAT(fault_of(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "")),
              HasSubstr("expected '<f4'"));
  EXPECT_THAT(fault_of(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "")),
              HasSubstr("fortran_order"));
  std::string version = npy("{}", "");
  version[6] = '\x02';
  EXPECT_THAT(fault_of(version), HasSubstr("version 2.0; expected version 1.0"));
}

TEST(NpyReader, Broken_IsOneClearError) {
  // Aim: whatever is cut or mangled is an error that says where.
  const std::string good =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", two_values());
  EXPECT_THAT(fault_of(""), HasSubstr("x.npy: is not a .npy file"));
  EXPECT_THAT(fault_of(good.substr(0, 40)), HasSubstr("ends within its heading"));
  EXPECT_THAT(fault_of(good.substr(0, good.size() - 1)), HasSubstr("holds 7 bytes"));
  EXPECT_THAT(fault_of(good + "x"), HasSubstr("holds 9 bytes"));
  EXPECT_THAT(fault_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", "")),
              HasSubstr("axis of length \"0\""));
  EXPECT_THAT(
      fault_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }", "")),
      HasSubstr("axis of length"));
  EXPECT_THAT(
      fault_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (70000, 70000), }", "")),
      HasSubstr("axis of length"));
  for (const char* heading : {"",
                              "{",
                              "{'descr'",
                              "{'descr': '<f4', 'fortran_order': False}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
                              "{'descr': '<f4', 'shape': (2,), 'other': 1}",
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} more"}) {
    EXPECT_FALSE(read_npy({npy(heading, two_values()), "x.npy"}).has_value()) << heading;
  }
}

RC_GTEST_PROP(NpyReader, Mangled_NeverReadsBeyond, (const std::string& noise, std::uint8_t where)) {
  // Aim: no text makes the reader fail in another way than by an error.
  std::string text = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", two_values());
  text.insert(where % text.size(), noise);
  const auto read = read_npy({text, "x.npy"});
  if (read) {
    RC_ASSERT(read->values.size() <= text.size() / 4);
  } else {
    RC_ASSERT(!read.error().message.empty());
  }
}

}  // namespace
}  // namespace septule::interop
