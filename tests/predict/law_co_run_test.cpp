#include "predict/law_co_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.hpp"
#include "predict/co_run_support.hpp"

namespace septule::predict {
namespace {

constexpr std::array<const char*, 5> kProfiles = {
    "1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};

using test::a100_80;
using test::any_law;
using test::client;
using test::instance;
using test::OwnedPlace;
using test::rates;
using test::whole_gpu;

std::unique_ptr<LawCoRunModel> make(const std::vector<LawJob>& jobs,
                                    const std::vector<gpu::MemoryDomain>& asked = {}) {
  auto made = LawCoRunModel::make(a100_80(), jobs, asked);
  SEPTULE_CHECK(made.has_value(), "tests make valid jobs unless they say otherwise");
  return std::move(made).value();
}

SignatureModel any_signature(Rng& rng, std::optional<int> kernels) {
  const LawJob job = any_law(rng);
  std::vector<MeasuredStep> steps;
  const auto add = [&](std::optional<ProfileIndex> profile) {
    const auto at =
        place_resources({.gpu = &a100_80(), .profile = profile}, ActiveThreadPercentage(100));
    steps.push_back({.profile = profile,
                     .atp = ActiveThreadPercentage(100),
                     .step = 0.1 * job.law.step(at->resources) * (0.98 + 0.04 * rng.uniform())});
  };
  add(std::nullopt);
  for (std::size_t i = rng.below(kProfiles.size() + 1); i < kProfiles.size(); ++i) {
    add(test::profile(a100_80(), kProfiles[i]));
  }
  const auto fitted = SignatureModel::fit(a100_80(), steps, {.solo = {}, .kernel_count = kernels});
  SEPTULE_CHECK(fitted.has_value(), "the points are valid");
  return *fitted;
}

TEST(LawCoRunModel, Alone_IsTheLaw) {
  // Aim: on the whole GPU 1; in every instance and compute instance the law at its SMs and memory
  // slices, without slowdown.
  Rng rng(5);
  const std::vector<LawJob> jobs{any_law(rng)};
  const auto model = make(jobs);
  const SoloLaw& law = jobs[0].law;
  EXPECT_DOUBLE_EQ(rates(*model, whole_gpu(), {client(0)})[0], 1);
  const double whole = law.step({});
  for (const char* name : kProfiles) {
    const OwnedPlace place = instance(name);
    const auto at =
        place_resources({.gpu = &a100_80(), .profile = place.profile}, ActiveThreadPercentage(100));
    EXPECT_DOUBLE_EQ(rates(*model, place, {client(0)})[0], whole / law.step(at->resources));
  }
  EXPECT_DOUBLE_EQ(rates(*model, instance("7g.80gb", {4, 3}), {client(0, 1)})[0],
                   whole / law.step({.compute = 42.0 / 108, .bandwidth = 1, .sm_speed = 1}));
  EXPECT_DOUBLE_EQ(rates(*model, instance("4g.40gb"), {client(0, 0, 25)})[0],
                   whole / law.step({.compute = 14.0 / 108, .bandwidth = 0.5, .sm_speed = 1}));
}

TEST(LawCoRunModel, Signatures_AgreeWithPredictSharing) {
  // Aim: wherever both answer, with and without percentages, the figures are the same to 1e-9.
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    std::vector<SignatureModel> signatures;
    for (int i = 0; i < 4; ++i) {
      signatures.push_back(any_signature(rng, static_cast<int>(20 + rng.below(300))));
    }
    std::vector<LawJob> jobs(signatures.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].model = &signatures[i];
    }
    const auto model = make(jobs);
    for (std::size_t at = 0; at <= kProfiles.size(); ++at) {
      const OwnedPlace place = at < kProfiles.size() ? instance(kProfiles[at]) : whole_gpu();
      for (const std::vector<int>& percentages : std::vector<std::vector<int>>{{0},
                                                                               {50},
                                                                               {0, 0},
                                                                               {0, 0, 0, 0},
                                                                               {75, 25},
                                                                               {50, 25, 25},
                                                                               {100, 100},
                                                                               {60, 60, 60},
                                                                               {100, 50}}) {
        std::vector<CoRunClient> clients;
        std::vector<SignatureClient> sharing;
        for (std::size_t i = 0; i < percentages.size(); ++i) {
          const int atp = percentages[i];
          clients.push_back(client(i, 0, atp));
          sharing.push_back(
              {.model = &signatures[i], .atp = ActiveThreadPercentage(atp == 0 ? 100 : atp)});
        }
        const auto beliefs =
            predict_sharing({.gpu = &a100_80(), .profile = place.profile}, sharing);
        ASSERT_TRUE(beliefs.has_value());
        const std::vector<double> out = rates(*model, place, clients);
        for (std::size_t i = 0; i < out.size(); ++i) {
          const double whole = signatures[i].solo().predict({}).step;
          EXPECT_NEAR(out[i] * (*beliefs)[i].together.step / whole, 1, 1e-9)
              << seed << " " << at << " " << percentages.size();
        }
      }
    }
  }
}

TEST(LawCoRunModel, KernelLength_OrCount_SaysTheSame) {
  // Aim: a kernel's length on the whole GPU in place of the count gives the same rates.
  Rng rng(3);
  const SignatureModel counted = any_signature(rng, 120);
  const SignatureModel other = any_signature(rng, 30);
  const InterferenceClient alone = interference_client(counted.solo().predict({}).terms, 120);
  LawJob by_length{.model = &counted,
                   .kernel = Duration::nanoseconds(std::llround(alone.kernel_length * 1e9))};
  const auto a = make({{.model = &counted}, {.model = &other}});
  const auto b = make({by_length, {.model = &other}});
  const auto at = instance("3g.40gb");
  const auto one = rates(*a, at, {client(0), client(1)});
  const auto two = rates(*b, at, {client(0), client(1)});
  EXPECT_NEAR(one[0], two[0], 1e-5);  // whole nanoseconds
  EXPECT_NEAR(one[1], two[1], 1e-5);
}

TEST(LawCoRunModel, UnknownKernels_NoTurns_ButParts) {
  // Aim: a kernel length that is not known makes turns unknown for all, and nothing else.
  Rng rng(3);
  std::vector<LawJob> jobs{any_law(rng), any_law(rng), any_law(rng)};
  jobs[1].kernel.reset();
  const auto model = make(jobs);
  EXPECT_EQ(rates(*model, whole_gpu(), {client(0), client(1)}), (std::vector<double>{0, 0}));
  const auto place = instance("7g.80gb", {4, 3});
  EXPECT_EQ(rates(*model, place, {client(0, 0), client(1, 0), client(2, 1)}),
            (std::vector<double>{0, 0, 0}));
  for (const double rate : rates(*model, whole_gpu(), {client(0, 0, 50), client(1, 0, 50)})) {
    EXPECT_GT(rate, 0);
  }
  for (const double rate : rates(*model, place, {client(0, 0), client(2, 0), client(1, 1)})) {
    EXPECT_GT(rate, 0);
  }
}

TEST(LawCoRunModel, KnownSpeeds_HoldAlone_AndScaleCompany) {
  // Aim: a stated speed is the speed alone there; 0 stays 0 in any company; other places are as
  // the model says.
  Rng rng(8);
  std::vector<LawJob> jobs{any_law(rng), any_law(rng)};
  const auto plain = make(jobs);
  jobs[0].known = {{.profile = test::profile(a100_80(), "3g.40gb"), .speed = 0.4321},
                   {.profile = test::profile(a100_80(), "1g.10gb"), .speed = 0}};
  const auto model = make(jobs);
  const auto three = instance("3g.40gb");
  EXPECT_DOUBLE_EQ(rates(*model, three, {client(0)})[0], 0.4321);
  const double factor = 0.4321 / rates(*plain, three, {client(0)})[0];
  EXPECT_NEAR(rates(*model, three, {client(0), client(1)})[0],
              factor * rates(*plain, three, {client(0), client(1)})[0],
              1e-12);
  EXPECT_EQ(rates(*model, instance("1g.10gb"), {client(0)})[0], 0);
  EXPECT_EQ(rates(*model, instance("1g.10gb"), {client(0, 0, 50), client(1, 0, 50)}),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(rates(*model, instance("2g.20gb"), {client(0)}),
            rates(*plain, instance("2g.20gb"), {client(0)}));
}

TEST(LawCoRunModel, DividedInstance_ByHand) {
  // Aim: 4c and 3c of one 7g contend by parted_rates() with parts 4/7 and 3/7.
  Rng rng(11);
  const std::vector<LawJob> jobs{any_law(rng), any_law(rng)};
  const auto model = make(jobs);
  const std::array<Resources, 2> at{
      Resources{.compute = 56.0 / 108, .bandwidth = 1, .sm_speed = 1},
      Resources{.compute = 42.0 / 108, .bandwidth = 1, .sm_speed = 1}};
  std::array<PartedClient, 2> parted;
  std::array<double, 2> slowed{};
  for (std::size_t i = 0; i < 2; ++i) {
    const SoloTerms terms = jobs[i].law.terms(at[i]);
    parted[i] = {.part = at[i].compute * 108 / 98,
                 .serial = terms.serial / terms.step(),
                 .memory = terms.memory / terms.step()};
  }
  parted_rates(parted, kPartContention, slowed);
  const auto out = rates(*model, instance("7g.80gb", {4, 3}), {client(1, 1), client(0, 0)});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(out[1 - i], slowed[i] * jobs[i].law.step({}) / jobs[i].law.step(at[i]), 1e-12);
  }
}

TEST(LawCoRunModel, TurnsInsideDividedInstance_Compose) {
  // Aim: jobs that take turns in 4c are slowed by the job in 3c, and slow it; a serial job inside
  // is not touched by it; with nobody in 3c the turns are those of the place alone.
  Rng rng(12);
  std::vector<LawJob> jobs{any_law(rng), any_law(rng), any_law(rng)};
  jobs[1].law = {.serial = 1, .compute = 0, .memory = 0, .usable = 1};
  const auto model = make(jobs);
  const auto place = instance("7g.80gb", {4, 3});
  const auto inside = rates(*model, place, {client(0, 0), client(1, 0)});
  const auto all = rates(*model, place, {client(0, 0), client(1, 0), client(2, 1)});
  const auto outside = rates(*model, place, {client(2, 1)});
  EXPECT_LT(all[0], inside[0]);
  EXPECT_DOUBLE_EQ(all[1], 1);
  EXPECT_LT(all[2], outside[0]);
  // A compute instance with one job is the same with and without "turns": what composes is exact
  // there. One job beside a serial one that never uses the GPU is such a case.
  EXPECT_NEAR(all[0], rates(*model, place, {client(0, 0), client(2, 1)})[0], 1e-9);
}

/// Any domain of the GPU with jobs in it.
struct Company {
  OwnedPlace place;
  std::vector<CoRunClient> clients;
};
Company any_company(Rng& rng, std::size_t job_count) {
  const std::vector<OwnedPlace> places{whole_gpu(),
                                       instance("3g.40gb"),
                                       instance("7g.80gb"),
                                       instance("7g.80gb", {4, 3}),
                                       instance("7g.80gb", {2, 2, 3}),
                                       instance("4g.40gb", {2, 2})};
  Company out;
  out.place = places[rng.below(places.size())];
  std::vector<std::size_t> jobs(job_count);
  std::iota(jobs.begin(), jobs.end(), 0U);
  rng.shuffle(std::span(jobs));
  const std::size_t count = 1 + rng.below(job_count);
  const std::size_t parts = std::max<std::size_t>(out.place.compute.size(), 1);
  std::vector<int> percentages(parts);
  for (int& atp : percentages) {
    atp = rng.below(2) == 0 ? 0 : 25;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto compute = static_cast<std::size_t>(rng.below(parts));
    out.clients.push_back(client(jobs[i], static_cast<int>(compute), percentages[compute]));
  }
  return out;
}

TEST(LawCoRunModel, AnyCompany_RatesHold) {
  // Aim: rates are above 0 and not above the job alone there; the order of clients changes no bit;
  // one more job makes nobody faster, unless it makes others of its compute instance wait who need
  // more of the memory that all compute instances share.
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    std::vector<LawJob> jobs;
    for (int i = 0; i < 6; ++i) {
      jobs.push_back(any_law(rng));
    }
    const auto model = make(jobs);
    Company company = any_company(rng, jobs.size());
    const auto out = rates(*model, company.place, company.clients);
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_GT(out[i], 0);
      EXPECT_LE(out[i], rates(*model, company.place, {company.clients[i]})[0] * (1 + 1e-12));
    }
    std::vector<std::size_t> order(out.size());
    std::iota(order.begin(), order.end(), 0U);
    rng.shuffle(std::span(order));
    std::vector<CoRunClient> shuffled;
    for (const std::size_t i : order) {
      shuffled.push_back(company.clients[i]);
    }
    const auto again = rates(*model, company.place, shuffled);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(again[i], out[order[i]]);
    }
    company.clients.pop_back();
    if (!company.clients.empty() && company.place.compute.size() <= 1) {
      const auto fewer = rates(*model, company.place, company.clients);
      for (std::size_t i = 0; i < fewer.size(); ++i) {
        EXPECT_LE(out[i], fewer[i] * (1 + 1e-9)) << seed;
      }
    }
  }
}

TEST(LawCoRunModel, Prepared_SameAsWorkedOut) {
  // Aim: the table changes no bit of any answer.
  Rng rng(21);
  std::vector<LawJob> jobs;
  for (int i = 0; i < 6; ++i) {
    jobs.push_back(any_law(rng));
  }
  const auto plain = make(jobs);
  for (int round = 0; round < 300; ++round) {
    const Company company = any_company(rng, jobs.size());
    gpu::MemoryDomain domain;
    domain.profile = company.place.profile;
    for (const gpu::ComputePlacement& compute : company.place.compute) {
      domain.compute.push_back(compute);
    }
    for (const CoRunClient& of : company.clients) {
      domain.seats.push_back({.compute = of.compute, .atp = of.atp});
    }
    EXPECT_EQ(rates(*make(jobs, {domain}), company.place, company.clients),
              rates(*plain, company.place, company.clients));
  }
}

TEST(LawCoRunModel, OtherGpu_ByItsRatio) {
  // Aim: a job measured on another model needs a ratio, and has speeds relative to this GPU.
  Rng rng(2);
  const SignatureModel model = any_signature(rng, 50);
  const gpu::Geometry& h100 = test::model("H100-80GB-SXM");
  const std::vector<LawJob> without{{.model = &model}};
  const auto refused = LawCoRunModel::make(h100, without, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(refused.error().message.find("job 1"), std::string::npos);
  const std::vector<LawJob> with{
      {.model = &model, .ratio = GpuRatio{.compute = 2, .bandwidth = 1.6, .sm_speed = {}}}};
  const auto made = LawCoRunModel::make(h100, with, {});
  ASSERT_TRUE(made.has_value());
  EXPECT_DOUBLE_EQ(rates(**made, whole_gpu(), {client(0)})[0], 1);
}

TEST(LawCoRunModel, InvalidJobs_AreNamed) {
  // Aim: each kind of bad input says which job and what.
  const auto message = [](const LawJob& job) {
    const std::vector<LawJob> jobs{LawJob{}, job};
    const auto made = LawCoRunModel::make(a100_80(), jobs, {});
    return made.has_value() ? std::string() : made.error().message;
  };
  LawJob job;
  EXPECT_EQ(message(job), "");
  job.law.serial = -1;
  EXPECT_NE(message(job).find("job 2: its law is serial -1"), std::string::npos);
  job.law = {.serial = 0, .compute = 0, .memory = 0, .usable = 1};
  EXPECT_NE(message(job).find("not all 0"), std::string::npos);
  job.law = {.serial = 0, .compute = 1, .memory = 0, .usable = 0};
  EXPECT_NE(message(job).find("usable 0"), std::string::npos);
  job = {};
  job.kernel = Duration();
  EXPECT_NE(message(job).find("kernels take 0 ns"), std::string::npos);
  job = {};
  job.known = {{.profile = ProfileIndex(99), .speed = 1}};
  EXPECT_NE(message(job).find("no profile number 99"), std::string::npos);
  job.known = {{.profile = ProfileIndex(0), .speed = -0.5}};
  EXPECT_NE(message(job).find("-0.5"), std::string::npos);
  job.known = {{.profile = ProfileIndex(0), .speed = 1}, {.profile = ProfileIndex(0), .speed = 1}};
  EXPECT_NE(message(job).find("twice"), std::string::npos);
}

}  // namespace
}  // namespace septule::predict
