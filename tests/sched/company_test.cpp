// Who may share an instance, what it is worth, and how a GPU is filled.
#include "sched/policies/company.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/partition_checker.hpp"
#include "support/policy_loop.hpp"

namespace septule::sched {
namespace {

using test::Draws;

class CompanyTest : public ::testing::Test {
 protected:
  const gpu::Geometry& geometry() const { return **catalogue_.find("A100-40GB"); }
  ProfileIndex profile(std::string_view name) const { return *geometry().find_profile(name); }

  /// A job of Amdahl's law; kernels of a millisecond unless none.
  CompanyJob job(int id, double serial, Bytes need, int kernels = 100) const {
    CompanyJob made{.id = job::JobId(id), .need = need, .window = {}};
    for (const ProfileIndex index : geometry().profiles_in(gpu::ProfileSet::kPlain)) {
      if (geometry().profile(index).memory.value() >= need) {
        const double share = geometry().profile(index).slices.value() / 7.0;
        made.row.speed[static_cast<std::size_t>(index.value())] =
            1 / (serial + (1 - serial) / share);
      }
    }
    made.curve = predict::curve_through(geometry(), made.row);
    if (kernels > 0) {
      made.kernels = predict::KernelUse{.count = kernels, .step = Duration::milliseconds(kernels)};
    }
    made.window.user = "0";
    return made;
  }
  std::vector<CompanyJob> drawn_pool(Draws& draws, int count) const {
    std::vector<CompanyJob> pool;
    for (int i = 0; i < count; ++i) {
      const auto mebibytes = static_cast<std::uint64_t>(500 + draws.number(9000));
      pool.push_back(job(i,
                         0.1 * draws.number(10),
                         Bytes::mebibytes(mebibytes),
                         draws.number(4) == 0 ? 0 : 1 + draws.number(400)));
    }
    return pool;
  }
  static std::vector<std::size_t> all_of(const std::vector<CompanyJob>& pool) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      all.push_back(i);
    }
    return all;
  }

  gpu::Catalogue catalogue_ = gpu::load_builtin_catalogue();
  predict::MpsModel mps_;
  plan::SharingRules rules_{.mps_users = plan::SharingRules::Users::kAnyUsers};
};

TEST_F(CompanyTest, Value_Alone_IsTheBelievedSpeed) {
  // Aim: who shares with nobody runs as the row says, whatever its memory was said to be.
  const CompanyValue value(geometry(), mps_, rules_);
  const std::vector pool = {job(0, 0.5, Bytes::mebibytes(1000))};
  const CompanySeat seat{.job = 0};
  EXPECT_DOUBLE_EQ(value.of(pool, profile("7g.40gb"), {&seat, 1}).value(), 1.0);
  EXPECT_NEAR(value.of(pool, profile("1g.5gb"), {&seat, 1}).value(), 0.25, 1e-12);
}

TEST_F(CompanyTest, Value_ForbiddenCompanies_AreNoCompanies) {
  // Aim: memory, unknown kernels, users and the floor each rule a pair out, and nothing else does.
  const Bytes small = Bytes::mebibytes(1000);
  const std::vector pool = {job(0, 0.5, small),
                            job(1, 0.5, small),
                            job(2, 0.5, Bytes::mebibytes(9000)),
                            job(3, 0.5, small, 0)};
  const auto pair =
      [&](const CompanyValue& value, std::size_t other, std::optional<ActiveThreadPercentage> atp) {
        const std::vector<CompanySeat> seats = {{.job = 0, .atp = atp}, {.job = other, .atp = atp}};
        return value.of(pool, profile("2g.10gb"), seats);
      };
  const ActiveThreadPercentage half(50);
  const CompanyValue value(geometry(), mps_, rules_);
  EXPECT_TRUE(pair(value, 1, std::nullopt).has_value());
  EXPECT_FALSE(pair(value, 2, std::nullopt).has_value()) << "memory";
  EXPECT_FALSE(pair(value, 3, std::nullopt).has_value()) << "kernels are not known";
  EXPECT_TRUE(pair(value, 3, half).has_value()) << "percentages need no kernels";
  plan::SharingRules fair = rules_;
  fair.fairness = 0.9;
  EXPECT_FALSE(pair(CompanyValue(geometry(), mps_, fair), 1, half).has_value()) << "the floor";
  plan::SharingRules own = rules_;
  own.mps_users = plan::SharingRules::Users::kSameUserOnly;
  std::vector users = pool;
  users[1].window.user = "1";
  const std::vector<CompanySeat> seats = {{.job = 0, .atp = half}, {.job = 1, .atp = half}};
  EXPECT_FALSE(
      CompanyValue(geometry(), mps_, own).of(users, profile("2g.10gb"), seats).has_value());
  EXPECT_TRUE(CompanyValue(geometry(), mps_, own).of(pool, profile("2g.10gb"), seats).has_value());
}

TEST_F(CompanyTest, Fill_SerialJobs_ShareWhereMigAloneIsFull) {
  // Aim: eleven jobs that hardly use a GPU get more done together than the seven that have an
  // instance each.
  const CompanyValue value(geometry(), mps_, rules_);
  CompanyFiller filler(value);
  std::vector<CompanyJob> pool;
  for (int i = 0; i < 11; ++i) {
    pool.push_back(job(i, 0.9, Bytes::mebibytes(2000)));
  }
  const std::vector<std::size_t> due = all_of(pool);
  const auto company = filler.fill({.pool = pool, .running = {}, .must = {}, .may = due});
  ASSERT_TRUE(company.has_value());
  EXPECT_GT(company->value, 7 * pool[0].row.on(profile("1g.5gb")));
}

TEST_F(CompanyTest, Fill_RandomPools_LegalCompaniesThatKeepWhoRuns) {
  // Aim: layouts are legal, nobody sits twice, all rules hold in every instance, those who must are
  // seated, and filling around running jobs changes nobody's seat.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const CompanyValue value(geometry(), mps_, rules_);
    CompanyFiller filler(value);
    const std::vector<CompanyJob> pool = drawn_pool(draws, 12);
    const std::vector<std::size_t> due = all_of(pool);
    const std::span<const std::size_t> must = std::span(due).first(2);
    const std::span<const std::size_t> may = std::span(due).subspan(2);
    const auto company = filler.fill({.pool = pool, .running = {}, .must = must, .may = may});
    ASSERT_TRUE(company.has_value());
    std::vector<std::size_t> seated;
    double sum = 0;
    gpu::Layout layout;
    for (const CompanyInstance& instance : company->instances) {
      const auto worth =
          value.of(pool, instance.placed.profile, {instance.seats.begin(), instance.seats.size()});
      ASSERT_TRUE(worth.has_value());
      EXPECT_NEAR(*worth, instance.value, 1e-12);
      sum += *worth;
      layout.push_back(instance.placed);
      for (const CompanySeat& seat : instance.seats) {
        seated.push_back(seat.job);
      }
    }
    EXPECT_NEAR(sum, company->value, 1e-9);
    EXPECT_TRUE(
        gpu::check_partition(geometry(), gpu::partition_with_full_instances(geometry(), layout))
            .empty());
    std::ranges::sort(seated);
    EXPECT_EQ(std::ranges::adjacent_find(seated), seated.end());
    EXPECT_TRUE(std::ranges::includes(seated, must));
    // One leaves; the others stay.
    std::vector<CompanyInstance> running(company->instances.begin(), company->instances.end());
    for (CompanyInstance& instance : running) {
      instance.is_running = true;
      instance.is_open = instance.seats.size() > 1;
    }
    if (running.front().seats.size() == 1) {
      running.erase(running.begin());
    }
    std::vector<std::size_t> left;
    for (const std::size_t index : due) {
      if (!std::ranges::binary_search(seated, index)) {
        left.push_back(index);
      }
    }
    const auto refilled = filler.fill({.pool = pool, .running = running, .must = {}, .may = left});
    ASSERT_TRUE(refilled.has_value());
    for (const CompanyInstance& before : running) {
      const auto* after =
          std::ranges::find(refilled->instances, before.placed, &CompanyInstance::placed);
      ASSERT_NE(after, refilled->instances.end());
      for (std::size_t s = 0; s < before.seats.size(); ++s) {
        EXPECT_EQ(after->seats[s].job, before.seats[s].job);
        EXPECT_EQ(after->seats[s].atp, before.seats[s].atp);
      }
      EXPECT_TRUE(before.is_open || after->seats.size() == before.seats.size());
    }
  }
}

/// The best value of these jobs alone in instances, by trying everything.
double best_alone(const CompanyValue& value,
                  const std::vector<CompanyJob>& pool,
                  const gpu::Layout& layout,
                  std::size_t at,
                  std::uint32_t used) {
  if (at == layout.size()) {
    return 0;
  }
  double best = best_alone(value, pool, layout, at + 1, used);
  for (std::size_t job = 0; job < pool.size(); ++job) {
    const CompanySeat seat{.job = job};
    const auto worth = value.of(pool, layout[at].profile, {&seat, 1});
    if ((used >> job & 1U) == 0 && worth.has_value()) {
      best = std::max(best, *worth + best_alone(value, pool, layout, at + 1, used | 1U << job));
    }
  }
  return best;
}

TEST_F(CompanyTest, Fill_SmallPools_IsNoWorseThanMigAloneByMuch) {
  // Aim: against every assignment of five jobs to instances of every layout: never more than 5 %
  // below the best without sharing, on average above it.
  double ratio_sum = 0;
  constexpr int kSeeds = 25;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Draws draws(seed);
    const CompanyValue value(geometry(), mps_, rules_);
    CompanyFiller filler(value);
    const std::vector<CompanyJob> pool = drawn_pool(draws, 5);
    const std::vector<std::size_t> due = all_of(pool);
    double best = 0;
    for (const gpu::Layout& layout : gpu::maximal_layouts(geometry(), gpu::ProfileSet::kPlain)) {
      best = std::max(best, best_alone(value, pool, layout, 0, 0));
    }
    const auto company = filler.fill({.pool = pool, .running = {}, .must = {}, .may = due});
    ASSERT_TRUE(company.has_value());
    EXPECT_GE(company->value, 0.95 * best) << seed;
    ratio_sum += company->value / best;
  }
  EXPECT_GE(ratio_sum / kSeeds, 1.0);
}

TEST_F(CompanyTest, Fill_MustWithoutRoom_IsNothing) {
  // Aim: two jobs that each need more than half of the GPU and do not fit together get no company.
  const CompanyValue value(geometry(), mps_, rules_);
  CompanyFiller filler(value);
  const std::vector pool = {job(0, 0.5, Bytes::mebibytes(30000)),
                            job(1, 0.5, Bytes::mebibytes(30000))};
  const std::vector<std::size_t> must = {0, 1};
  EXPECT_FALSE(filler.fill({.pool = pool, .running = {}, .must = must, .may = {}}).has_value());
}

}  // namespace
}  // namespace septule::sched
