#include "learn_train/window_source.hpp"

#include <array>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"

namespace septule::learn_train {
namespace {

/// Windows for a GPU by name; kept with what they point to.
struct Setting {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  gpu::SharingCatalogue templates;
  Result<std::unique_ptr<WindowSource>> source;

  explicit Setting(const char* name, std::uint64_t seed)
      : templates(*gpu::make_sharing_catalogue(**catalogue.find(name), {})),
        source(WindowSource::make(templates, seed)) {}
};

TEST(WindowSource, Parts_ShareNoJob) {
  // Aim: no job of the windows that train occurs in those that validate or test, and the same
  // window comes again.
  const Setting setting("A100-80GB", 7);
  std::array<std::set<std::string>, 3> names;
  constexpr std::array kParts = {
      predict::PoolPart::kTrain, predict::PoolPart::kValidation, predict::PoolPart::kTest};
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    for (std::uint64_t number = 0; number < 100; ++number) {
      const auto window = (*setting.source)->window(kParts[part], number);
      EXPECT_EQ(window->problem().jobs.size(), learn::kWindowRows);
      for (const plan::WindowJob& job : window->problem().jobs) {
        names[part].insert(job.name);
      }
    }
  }
  for (std::size_t a = 0; a < names.size(); ++a) {
    EXPECT_GT(names[a].size(), 100U);
    for (std::size_t b = 0; b < a; ++b) {
      for (const std::string& name : names[a]) {
        EXPECT_FALSE(names[b].contains(name)) << name;
      }
    }
  }
  const auto first = (*setting.source)->window(predict::PoolPart::kTrain, 12);
  const auto again = (*setting.source)->window(predict::PoolPart::kTrain, 12);
  for (std::size_t i = 0; i < learn::kWindowRows; ++i) {
    EXPECT_EQ(first->problem().jobs[i].name, again->problem().jobs[i].name);
  }
}

TEST(WindowSource, Seeds_MakeOtherJobs) {
  // Aim: a digest tells pools apart; the same seed has the same.
  const Setting one("A100-80GB", 1);
  const Setting again("A100-80GB", 1);
  const Setting other("A100-80GB", 2);
  EXPECT_EQ((*one.source)->digest(), (*again.source)->digest());
  EXPECT_NE((*one.source)->digest(), (*other.source)->digest());
}

TEST(WindowSource, GpuOfAnotherGrid_IsRefused) {
  // Aim: an A30 has four slices; the fault names it.
  const Setting setting("A30-24GB", 1);
  ASSERT_FALSE(setting.source.has_value());
  EXPECT_EQ(setting.source.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(setting.source.error().message, testing::HasSubstr("A30"));
}

}  // namespace
}  // namespace septule::learn_train
