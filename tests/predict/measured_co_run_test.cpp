#include "predict/measured_co_run.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "predict/co_run_support.hpp"

namespace septule::predict {
namespace {

using test::client;
using test::instance;
using test::rates;
using test::whole_gpu;

ProfileIndex on(std::string_view name) {
  return test::profile(test::a100_80(), name);
}

std::unique_ptr<MeasuredCoRunModel> make(std::size_t count,
                                         const std::vector<MeasuredSpeed>& speeds,
                                         const std::vector<MeasuredPair>& pairs) {
  auto made = MeasuredCoRunModel::make(count, speeds, pairs);
  SEPTULE_CHECK(made.has_value(), "tests make valid tables unless they say otherwise");
  return std::move(made).value();
}

TEST(MeasuredCoRunModel, Measured_IsAnswered) {
  // Aim: alone the speed, in pairs speed / slowdown, whichever of the two is named first.
  const auto model = make(3,
                          {{.job = 0, .profile = on("3g.40gb"), .speed = 0.5},
                           {.job = 1, .profile = on("3g.40gb"), .speed = 0.8}},
                          {{.first = 1, .second = 0, .profile = on("3g.40gb"), .slowdown = {2, 4}},
                           {.first = 0, .second = 2, .profile = {}, .slowdown = {1.25, 1}}});
  EXPECT_EQ(rates(*model, whole_gpu(), {client(2)}), std::vector<double>{1});
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(1)}), std::vector<double>{0.8});
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(1), client(0)}),
            (std::vector<double>{0.4, 0.125}));
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(0), client(1)}),
            (std::vector<double>{0.125, 0.4}));
  EXPECT_EQ(rates(*model, whole_gpu(), {client(2), client(0)}), (std::vector<double>{1, 0.8}));
  EXPECT_TRUE(model->only_slows());
}

TEST(MeasuredCoRunModel, NotMeasured_IsZero) {
  // Aim: other places, pairs, percentages, divided instances and more than two jobs.
  const auto model =
      make(3,
           {{.job = 0, .profile = on("3g.40gb"), .speed = 0.5}},
           {{.first = 0, .second = 1, .profile = on("3g.40gb"), .slowdown = {2, 2}},
            {.first = 0, .second = 1, .profile = on("4g.40gb"), .slowdown = {2, 2}}});
  const std::vector<double> none{0, 0};
  EXPECT_EQ(rates(*model, instance("4g.40gb"), {client(0)}), std::vector<double>{0});
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(1)}), std::vector<double>{0});
  EXPECT_EQ(rates(*model, instance("4g.40gb"), {client(0), client(1)}), none);
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(0), client(2)}), none);
  EXPECT_EQ(rates(*model, instance("2g.20gb"), {client(0), client(1)}), none);
  EXPECT_EQ(rates(*model, whole_gpu(), {client(0), client(1)}), none);
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(0, 0, 50)}), std::vector<double>{0});
  EXPECT_EQ(rates(*model, instance("3g.40gb", {2, 1}), {client(0, 0)}), std::vector<double>{0});
  EXPECT_EQ(rates(*model, whole_gpu(), {client(0), client(1), client(2)}),
            (std::vector<double>{0, 0, 0}));
  // Measured of one of the two alone: what the other does is not known.
  EXPECT_EQ(rates(*model, instance("3g.40gb"), {client(1), client(0)})[0], 0);
}

TEST(MeasuredCoRunModel, FasterInCompany_IsSaid) {
  // Aim: figures are believed as they are, and searches are told.
  const auto model = make(2, {}, {{.first = 0, .second = 1, .profile = {}, .slowdown = {0.99, 1}}});
  EXPECT_FALSE(model->only_slows());
  EXPECT_GT(rates(*model, whole_gpu(), {client(0), client(1)})[0], 1);
}

TEST(MeasuredCoRunModel, InvalidRows_AreNamed) {
  // Aim: each kind of bad row fails, with its number and the value.
  const auto speed = [](const std::vector<MeasuredSpeed>& rows) {
    const auto made = MeasuredCoRunModel::make(2, rows, {});
    return made.has_value() ? std::string() : made.error().message;
  };
  const auto pair = [](const std::vector<MeasuredPair>& rows) {
    const auto made = MeasuredCoRunModel::make(2, {}, rows);
    return made.has_value() ? std::string() : made.error().message;
  };
  const ProfileIndex p(0);
  EXPECT_EQ(speed({{.job = 1, .profile = p, .speed = 1}}), "");
  EXPECT_NE(speed({{.job = 2, .profile = p, .speed = 1}}).find("speed 1: job number 2"),
            std::string::npos);
  EXPECT_NE(speed({{.job = 0, .profile = p, .speed = 0}}).find("figure 0"), std::string::npos);
  EXPECT_NE(speed({{.job = 0, .profile = ProfileIndex(-1), .speed = 1}}).find("number -1"),
            std::string::npos);
  EXPECT_NE(speed({{.job = 0, .profile = p, .speed = 1}, {.job = 0, .profile = p, .speed = 1}})
                .find("speed 2"),
            std::string::npos);
  EXPECT_NE(pair({{.first = 1, .second = 1}}).find("1 and 1"), std::string::npos);
  EXPECT_NE(pair({{.first = 0, .second = 5}}).find("0 and 5"), std::string::npos);
  EXPECT_NE(pair({{.first = 0, .second = 1, .profile = {}, .slowdown = {1, -2}}}).find("-2"),
            std::string::npos);
  EXPECT_NE(pair({{.first = 0, .second = 1}, {.first = 1, .second = 0}}).find("already"),
            std::string::npos);
}

}  // namespace
}  // namespace septule::predict
