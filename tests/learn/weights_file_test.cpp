// learn::write_weights and learn::parse_weights: the file of a trained network.
#include "learn/weights_file.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"

namespace septule::learn {
namespace {

NetworkWeights small_weights() {
  NetworkWeights weights;
  weights.kind = "slice-net";
  weights.settings = {{"width", 2}};
  weights.tensors = {{.name = "a.weight", .shape = {2, 1}, .data = {1.5F, -0.0F}},
                     {.name = "a.bias", .shape = {2}, .data = {3e-45F, -2e38F}}};
  weights.recipe = {.command = "by hand",
                    .seed = UINT64_MAX,
                    .data_digest = "00000000000000ff",
                    .rows = 3,
                    .metrics = {{"mae", 0.1}}};
  return weights;
}

/// The file with this piece of its second line replaced, and the digest of the result.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = write_weights(small_weights());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& bytes, std::string_view what) {
  const Result<NetworkWeights> parsed = parse_weights(bytes, "w.bin");
  ASSERT_FALSE(parsed.has_value()) << what;
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(parsed.error().message.rfind("w.bin: ", 0), 0U) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find(what), std::string::npos) << parsed.error().message;
}

TEST(Weights_Written, ComeBackEqual) {
  // What is written is read back bit by bit, and written again gives the same bytes.
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const NetworkWeights weights = test::drawn_weights(seed);
    const std::string bytes = write_weights(weights);
    const Result<NetworkWeights> parsed = parse_weights(bytes, "seed");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(*parsed, weights) << seed;
    EXPECT_EQ(write_weights(*parsed), bytes) << seed;
  }
}

TEST(Weights_Written, HaveTheDocumentedForm) {
  // The bytes of docs/formats.md; a change here is a change of the format.
  const std::string bytes = write_weights(small_weights());
  const std::string_view expected =
      "septule-weights 1\n"
      R"({"kind":"slice-net","settings":{"width":2.0},"layers":[{"name":"a.weight","shape":[2,1]},)"
      R"({"name":"a.bias","shape":[2]}],"recipe":{"command":"by hand","seed":18446744073709551615,)"
      R"("data_digest":"00000000000000ff","rows":3,"metrics":{"mae":0.1}},"payload_bytes":16,)"
      R"("digest":")";
  EXPECT_EQ(std::string_view(bytes).substr(0, expected.size()), expected);
  EXPECT_EQ(bytes.substr(bytes.size() - 16, 4), std::string("\x00\x00\xC0\x3F", 4));
  EXPECT_EQ(bytes.substr(bytes.size() - 8, 4), std::string("\x02\x00\x00\x00", 4));
}

TEST(Weights_CutOff, AreRefusedAtEveryLength) {
  // A file that ends early says so, wherever it ends.
  const std::string bytes = write_weights(small_weights());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_refused(bytes.substr(0, size), "cut off");
  }
}

TEST(Weights_DamagedAnywhere, AreRefused) {
  // Each bit of the file is covered: none can change unnoticed.
  const std::string bytes = write_weights(small_weights());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
      EXPECT_FALSE(parse_weights(damaged, "damaged").has_value()) << at << ' ' << bit;
    }
  }
}

TEST(Weights_Wrong, SayWhatIsWrong) {
  // One clear sentence for each kind of fault.
  expect_refused("", "cut off in its first line");
  expect_refused("\x93NUMPY", "not a weights file: its first line is \"\\x93NUMPY\"");
  expect_refused(changed("weights 1", "weights 2"), "version \"2\" of the format is not known");
  expect_refused(changed("{\"kind\"", "[\"kind\""), "not valid JSON");
  expect_refused(changed("\"rows\":3,", ""), "the field rows is missing");
  expect_refused(changed("\"rows\":3", "\"rows\":3.5"), "rows is not a whole number");
  expect_refused(changed("\"rows\":3", "\"lines\":3"), "unknown field \"lines\"");
  expect_refused(changed("[2,1]", "[2,2]"), "payload_bytes is 16, but the layers need 24");
  expect_refused(changed("[2,1]", "[2,0]"), "the shape of tensor \"a.weight\" is [2, 0]");
  expect_refused(changed("[2,1]", "[]"), "the shape of tensor");
  expect_refused(changed("[2,1]", "[2,-1]"), "a shape holds something that is not a whole number");
  expect_refused(changed("[2,1]", "[65536,65536,65536,65536]"), "the shape of tensor");
  expect_refused(changed("a.bias", "a.weight"), "two tensors \"a.weight\"");
  expect_refused(changed("0.1}", "1e999}"), "not valid JSON");
  expect_refused(changed("by hand", "by hans"), "digest");
  expect_refused(write_weights(small_weights()) + "x", "17 bytes of weights where 16 are expected");
  std::string cut = write_weights(small_weights());
  cut.pop_back();
  expect_refused(cut, "cut off: 15 bytes of weights where 16 are expected");
}

TEST(Weights_NotFinite, AreRefusedBeforeWriting) {
  // A training that ran away must not become a file.
  NetworkWeights weights = small_weights();
  EXPECT_TRUE(check_weights(weights).is_ok());
  weights.tensors[1].data[1] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_FALSE(check_weights(weights).is_ok());
  EXPECT_EQ(check_weights(weights).error().message,
            "value 1 of tensor \"a.bias\" is not a finite number");
  EXPECT_DEATH(write_weights(weights), "checked before");
  weights = small_weights();
  weights.recipe.metrics["mae"] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(check_weights(weights).is_ok());
  weights = small_weights();
  weights.tensors[0].data.pop_back();
  EXPECT_FALSE(check_weights(weights).is_ok());
  weights = small_weights();
  weights.recipe.data_digest = "00000000000000FF";
  EXPECT_FALSE(check_weights(weights).is_ok());
}

TEST(Weights_Find, GivesTheTensorOrNull) {
  // Looking up by name.
  const NetworkWeights weights = small_weights();
  ASSERT_NE(weights.find("a.bias"), nullptr);
  EXPECT_EQ(weights.find("a.bias")->shape, std::vector<int>{2});
  EXPECT_EQ(weights.find("b"), nullptr);
}

}  // namespace
}  // namespace septule::learn
