// learn::make_slice_model and the models compiled in.
#include "learn/slice_models.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "learn/learn_support.hpp"
#include "support/read_file.hpp"

namespace septule::learn {
namespace {

using predict::MpsMatrix;
using predict::SlicePrediction;

constexpr std::array<int, 3> kMeasured = {100, 50, 14};

bool same(const SlicePrediction& a, const SlicePrediction& b) {
  return a.speed == b.speed && a.speed_sd == b.speed_sd && a.time == b.time &&
         a.time_sd == b.time_sd;
}
TEST(SliceModels_Kinds, BecomeModels) {
  // The kind in the weights says which network; a written file is read back to the same answers.
  const NetworkWeights ours = test::drawn_slice_net(8, {});
  const NetworkWeights unet = test::drawn_unet(8);
  Rng rng(9);
  const MpsMatrix matrix = test::drawn_matrix(kMeasured, 5, &rng);
  const std::map<std::string, const NetworkWeights*> kinds = {{"ours", &ours}, {"unet", &unet}};
  for (const auto& [name, weights] : kinds) {
    const auto parsed = parse_weights(write_weights(*weights), name);
    ASSERT_TRUE(parsed.has_value());
    const auto model = make_slice_model(*parsed);
    const auto original = make_slice_model(*weights);
    ASSERT_TRUE(model.has_value() && original.has_value());
    EXPECT_EQ((*model)->name(), name);
    const auto first = (*model)->predict(matrix);
    const auto second = (*original)->predict(matrix);
    ASSERT_TRUE(first.has_value() && second.has_value());
    for (std::size_t column = 0; column < 7; ++column) {
      EXPECT_TRUE(!(*first)[column].has_value() || same(*(*first)[column], *(*second)[column]));
    }
  }
  const auto unknown =
      make_slice_model({.kind = "forest", .settings = {}, .tensors = {}, .recipe = {}});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message,
            "weights of kind \"forest\" are not known; known are \"slice-net\" and \"unet\"");
}

TEST(SliceModels_FuzzCorpus, ReachesTheModels) {
  // Inputs meant to be valid are, so that the fuzz target gets beyond the digest.
  const std::filesystem::path corpus =
      std::filesystem::path(SEPTULE_SOURCE_DIR) / "fuzz/corpus/weights";
  Rng rng(12);
  const MpsMatrix matrix = test::drawn_matrix(kMeasured, 7, &rng);
  for (const char* name : {"slice_net", "slice_net_huge"}) {
    const auto parsed = parse_weights(test::read_file(corpus / name), name);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    const auto model = make_slice_model(*parsed);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    EXPECT_EQ((*model)->predict(matrix).has_value(), std::string_view(name) == "slice_net");
  }
}

TEST(SliceModels_Builtin, AreThereByName) {
  // Each compiled-in file is a valid model; other names are refused with those there are.
  for (const std::string_view name : builtin_model_names()) {
    const auto model = builtin_slice_model(name);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    EXPECT_EQ((*model)->name(), name);
  }
  const auto unknown = builtin_slice_model("oracle");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace septule::learn
