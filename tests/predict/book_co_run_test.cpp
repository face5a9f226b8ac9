#include "predict/book_co_run.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "predict/co_run_support.hpp"

namespace septule::predict {
namespace {

using test::a100;
using test::client;
using test::instance;
using test::rates;
using test::whole_gpu;

/// Three jobs; the first does not fit 1g.
std::vector<job::PerfSignature> signatures(bool has_kernels) {
  std::vector<job::PerfSignature> out{
      test::measured(), test::amdahl("a", 20, 80), test::amdahl("b", 60, 40)};
  if (has_kernels) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].kernel_count = static_cast<int>(50 * (i + 1));
    }
  }
  return out;
}

SpeedBook book_of(const std::vector<job::PerfSignature>& of) {
  Result<SpeedBook> book = SpeedBook::make(a100(), of);
  SEPTULE_CHECK(book.has_value(), "the signatures are valid");
  return std::move(book).value();
}

constexpr std::array<job::SignatureIndex, 3> kAll = {
    job::SignatureIndex(0), job::SignatureIndex(1), job::SignatureIndex(2)};

TEST(BookCoRunModel, Truth_IsBookAndMpsModel) {
  // Aim: alone the book's speeds, in company what MpsModel says, with and without kernel counts and
  // percentages.
  for (const bool has_kernels : {false, true}) {
    const SpeedBook book = book_of(signatures(has_kernels));
    const auto model = BookCoRunModel::of_book(book, kAll, {});
    EXPECT_EQ(rates(*model, whole_gpu(), {client(1)}), std::vector<double>{1});
    for (const char* name : {"2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
      const auto place = instance(a100(), name);
      const ProfileIndex profile = test::profile(a100(), name);
      EXPECT_EQ(rates(*model, place, {client(1)})[0], book.speed(kAll[1], profile));
      for (const int atp : {0, 30, 60}) {
        std::vector<MpsClient> clients;
        for (const job::SignatureIndex signature : kAll) {
          clients.push_back(
              {.signature = signature, .atp = ActiveThreadPercentage(atp == 0 ? 100 : atp)});
        }
        std::vector<double> expected(clients.size());
        MpsModel{}.speeds(book, profile, clients, expected);
        EXPECT_EQ(rates(*model, place, {client(0, 0, atp), client(1, 0, atp), client(2, 0, atp)}),
                  expected);
        const auto turned =
            rates(*model, place, {client(2, 0, atp), client(0, 0, atp), client(1, 0, atp)});
        EXPECT_EQ(turned, (std::vector<double>{expected[2], expected[0], expected[1]}));
      }
    }
  }
}

TEST(BookCoRunModel, NoRoom_AndDividedInstances_AreZero) {
  // Aim: a job that does not fit makes all rates 0; the simulator has no divided instances.
  const SpeedBook book = book_of(signatures(true));
  const auto model = BookCoRunModel::of_book(book, kAll, {});
  EXPECT_EQ(rates(*model, instance(a100(), "1g.5gb"), {client(0)}), std::vector<double>{0});
  EXPECT_EQ(rates(*model, instance(a100(), "1g.5gb"), {client(1), client(0)}),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(rates(*model, instance(a100(), "7g.40gb", {4, 3}), {client(1)}),
            std::vector<double>{0});
}

TEST(BookCoRunModel, WholeInstance_HasItsSpeed) {
  // Aim: the simulator's factor counts for a job alone on the whole GPU as an instance only.
  const SpeedBook book = book_of(signatures(true));
  const auto model = BookCoRunModel::of_book(book, kAll, {.mps = {}, .whole_instance_speed = 0.97});
  EXPECT_EQ(rates(*model, instance(a100(), "7g.40gb"), {client(1)}), std::vector<double>{0.97});
  EXPECT_EQ(rates(*model, whole_gpu(), {client(1)}), std::vector<double>{1});
}

TEST(BookCoRunModel, Rows_OfTheBook_SayTheSame) {
  // Aim: believed rows that equal the truth give its rates (steps are whole nanoseconds).
  for (const bool has_kernels : {false, true}) {
    const SpeedBook book = book_of(signatures(has_kernels));
    const auto truth = BookCoRunModel::of_book(book, kAll, {});
    std::vector<BelievedJob> believed;
    for (const job::SignatureIndex signature : kAll) {
      believed.push_back({.row = book.row(signature),
                          .kernel_count = book.signature(signature).kernel_count,
                          .step = book.whole_step(signature)});
    }
    const auto belief = BookCoRunModel::of_rows(a100(), believed, {});
    ASSERT_TRUE(belief.has_value());
    for (const char* name : {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
      for (const int atp : {0, 40}) {
        const std::vector<CoRunClient> clients{client(1, 0, atp), client(2, 0, atp)};
        const auto a = rates(*truth, instance(a100(), name), clients);
        const auto b = rates(**belief, instance(a100(), name), clients);
        EXPECT_NEAR(a[0], b[0], 1e-6) << name << " " << atp;
        EXPECT_NEAR(a[1], b[1], 1e-6) << name << " " << atp;
      }
      EXPECT_EQ(rates(*truth, instance(a100(), name), {client(0)}),
                rates(**belief, instance(a100(), name), {client(0)}));
    }
  }
}

TEST(BookCoRunModel, Rows_ThatFitNowhere_AreZero) {
  // Aim: a row of zeros is no error; nobody runs with it.
  std::vector<BelievedJob> believed(2);
  believed[1].row.speed.fill(0.5);
  const auto model = BookCoRunModel::of_rows(a100(), believed, {});
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(rates(**model, whole_gpu(), {client(0)}), std::vector<double>{0});
  EXPECT_EQ(rates(**model, whole_gpu(), {client(0), client(1)}), (std::vector<double>{0, 0}));
  EXPECT_EQ(rates(**model, whole_gpu(), {client(1)}), std::vector<double>{1});
}

TEST(BookCoRunModel, InvalidBeliefs_AreNamed) {
  // Aim: bad speeds, kernel counts and steps say which job and which value.
  const auto message = [](const BelievedJob& job) {
    const std::vector<BelievedJob> jobs{BelievedJob{}, job};
    const auto made = BookCoRunModel::of_rows(a100(), jobs, {});
    return made.has_value() ? std::string() : made.error().message;
  };
  BelievedJob job;
  job.row.speed[0] = -1;
  EXPECT_NE(message(job).find("job 2: speed -1"), std::string::npos);
  job.row.speed[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message(job).find("nan"), std::string::npos);
  job = {};
  job.kernel_count = 0;
  EXPECT_NE(message(job).find("0 kernels"), std::string::npos);
  job = {};
  job.step = Duration();
  EXPECT_NE(message(job).find("0 ns"), std::string::npos);
}

}  // namespace
}  // namespace septule::predict
