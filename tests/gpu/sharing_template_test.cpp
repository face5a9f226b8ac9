#include "gpu/sharing_template.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "gpu/catalogue_support.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SharingCatalogue made(const Geometry& geometry, const SharingOptions& options = {}) {
  Result<SharingCatalogue> catalogue = make_sharing_catalogue(geometry, options);
  SEPTULE_CHECK(catalogue.has_value(), "tests ask for catalogues that exist");
  return *catalogue;
}

std::vector<const Geometry*> models_with_table() {
  std::vector<const Geometry*> found;
  for (const Geometry& geometry : test::builtin_catalogue().geometries()) {
    if (geometry.has_profile_table()) {
      found.push_back(&geometry);
    }
  }
  return found;
}

std::vector<ActiveThreadPercentage> steps_of_ten() {
  std::vector<ActiveThreadPercentage> steps;
  for (int percent = 10; percent <= 90; percent += 10) {
    steps.emplace_back(percent);
  }
  return steps;
}

std::vector<std::string> names(const SharingCatalogue& catalogue,
                               SharingFamily family,
                               int concurrency) {
  std::vector<std::string> found;
  for (const SharingTemplate& one : catalogue.templates) {
    if (one.family == family && one.concurrency == concurrency) {
      found.push_back(one.name);
    }
  }
  return found;
}

TEST(SharingTemplate_Table, EveryRowOfTheSpecification_IsThere) {
  // Aim: the catalogue of hierarchical.md 1.3, cell by cell, for an A100 (equal on H100 and H200).
  for (const std::string_view key : {"A100-80GB", "A100-40GB", "H100-80GB-SXM", "H200-141GB"}) {
    const SharingCatalogue catalogue = made(test::model(key));
    std::set<std::string> there;
    for (const SharingTemplate& one : catalogue.templates) {
      there.insert(one.name);
    }
    for (const std::string_view name : {"full",
                                        "mps{2}",
                                        "mps(50,50)",
                                        "mps(75,25)",
                                        "mps{3}",
                                        "mps(50,25,25)",
                                        "mps{4}",
                                        "mps(25,25,25,25)",
                                        "7g",
                                        "4g+3g",
                                        "3g+3g",
                                        "4g+2g+1g",
                                        "2g+2g+3g",
                                        "3g+2g+1g",
                                        "2g+2g+2g+1g",
                                        "2g+1g+1g+3g",
                                        "4g+1g+1g+1g",
                                        "3g+1g+1g+1g",
                                        "7g[4c+3c]",
                                        "7g[3c+3c]",
                                        "7g[4c+2c+1c]",
                                        "7g[2c+2c+3c]",
                                        "7g[2c+2c+2c+1c]",
                                        "7g[4c+1c+1c+1c]",
                                        "7g{2}",
                                        "7g(50,50)",
                                        "4g{2}+3g",
                                        "4g+3g{2}",
                                        "4g{2}+3g{2}",
                                        "4g(75,25)+3g(50,50)",
                                        "4g{3}+3g",
                                        "4g+3g{3}",
                                        "7g[4c{2}+3c]",
                                        "7g[4c{2}+3c{2}]",
                                        "7g[4c(50,50)+3c{2}]"}) {
      EXPECT_TRUE(there.contains(std::string(name))) << key << ": " << name;
    }
  }
}

TEST(SharingTemplate_Table, DefaultOptionsOnA100_HaveKnownCounts) {
  // Aim: the number of templates stays manageable, and a change of it is seen.
  const SharingCatalogue catalogue = made(test::model("A100-80GB"));
  EXPECT_EQ(catalogue.templates.size(), 109U);
  EXPECT_EQ(catalogue.domains.size(), 86U);
  EXPECT_EQ(made(test::model("A30-24GB")).templates.size(), 56U);
  const SharingCatalogue seven = made(test::model("A100-80GB"), {.concurrency_max = 7});
  EXPECT_EQ(seven.templates.size(), 117U);
}

TEST(SharingTemplate_Table, A30_IsCutIntoOnesTwosAndFour) {
  // Aim: the table is derived from geometry, not written for seven-slice parts.
  const SharingCatalogue catalogue = made(test::model("A30-24GB"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigPrivate, 1), ElementsAre("4g"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigPrivate, 2), ElementsAre("2g+2g"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigPrivate, 3), ElementsAre("2g+1g+1g"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigPrivate, 4), ElementsAre("1g+1g+1g+1g"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigShared, 3), ElementsAre("4g[2c+1c+1c]"));
}

TEST(SharingTemplate_Table, SevenJobs_HaveMigOnlyBeyondFour) {
  // Aim: concurrency up to 7 without MPS, and none with it.
  const SharingCatalogue catalogue = made(test::model("A100-80GB"), {.concurrency_max = 7});
  EXPECT_THAT(names(catalogue, SharingFamily::kMigPrivate, 5),
              ElementsAre("1g+1g+1g+1g+3g", "2g+2g+1g+1g+1g"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigPrivate, 7), ElementsAre("1g+1g+1g+1g+1g+1g+1g"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMigShared, 6), ElementsAre("7g[2c+1c+1c+1c+1c+1c]"));
  for (const SharingTemplate& one : catalogue.templates) {
    if (one.concurrency > kMpsConcurrencyMax) {
      EXPECT_THAT(one.name, testing::Not(testing::ContainsRegex("[{(]")));
    }
  }
}

TEST(SharingTemplate_Splits, StepsOfTen_GiveTheOrderedCountsOfTheSpecification) {
  // Aim: 9, 36 and 84 ordered splits for 2, 3 and 4 clients, with each unordered one there once.
  const SharingCatalogue catalogue =
      made(test::model("A100-80GB"), {.concurrency_max = 4, .percentages = steps_of_ten()});
  std::map<int, std::set<std::vector<int>>> ordered;
  std::map<int, int> unordered;
  for (const SharingTemplate& one : catalogue.templates) {
    if (one.family != SharingFamily::kMpsOnly || one.name.find('{') != std::string::npos) {
      continue;
    }
    std::vector<int> limits;
    for (const Seat& seat : catalogue.domains[one.domains[0]].seats) {
      limits.push_back(seat.atp.value().value());
    }
    ++unordered[one.concurrency];
    std::ranges::sort(limits);
    do {
      ordered[one.concurrency].insert(limits);
    } while (std::ranges::next_permutation(limits).found);
  }
  EXPECT_EQ(ordered[2].size(), 9U);
  EXPECT_EQ(ordered[3].size(), 36U);
  EXPECT_EQ(ordered[4].size(), 84U);
  EXPECT_EQ(unordered[2], 5);
  EXPECT_EQ(unordered[3], 8);
  EXPECT_EQ(unordered[4], 9);
}

TEST(SharingTemplate_Splits, SumBelowHundred_IsKeptWhereNoClientCouldUseTheRest) {
  // Aim: (50,33) leaves 17, less than any client may get; (33,33) leaves 34 and is left out.
  const SharingCatalogue catalogue =
      made(test::model("A100-80GB"),
           {.concurrency_max = 3,
            .percentages = {ActiveThreadPercentage(33), ActiveThreadPercentage(50)},
            .default_mps = SharingOptions::DefaultMps::kNotOffered,
            .families = {SharingFamily::kMpsOnly}});
  EXPECT_THAT(names(catalogue, SharingFamily::kMpsOnly, 2),
              ElementsAre("mps(50,50)", "mps(50,33)"));
  EXPECT_THAT(names(catalogue, SharingFamily::kMpsOnly, 3), ElementsAre("mps(33,33,33)"));
}

RC_GTEST_PROP(SharingTemplate_Splits, AnyPercentages_GiveExactlyTheSplitsOfTheRule, ()) {
  // Aim: against trying every tuple of the percentages given.
  std::set<int> drawn;
  const auto count = *rc::gen::inRange<std::size_t>(1, 7);
  while (drawn.size() < count) {
    drawn.insert(*rc::gen::inRange(5, 101));
  }
  std::vector<ActiveThreadPercentage> percentages;
  for (const int percent : drawn) {
    percentages.emplace_back(percent);
  }
  std::set<std::string> expected;
  const std::vector<int> all(drawn.begin(), drawn.end());
  const auto walk = [&](const auto& self, std::vector<int>& tuple) -> void {
    int sum = 0;
    std::string text;
    for (const int percent : tuple) {
      sum += percent;
      text += (text.empty() ? "mps(" : ",") + std::to_string(percent);
    }
    if (tuple.size() >= 2 && sum <= 100 && 100 - sum < all.front()) {
      expected.insert(text + ")");
    }
    for (const int percent : all) {
      if (tuple.size() < 4 && (tuple.empty() || percent <= tuple.back())) {
        tuple.push_back(percent);
        self(self, tuple);
        tuple.pop_back();
      }
    }
  };
  std::vector<int> tuple;
  walk(walk, tuple);
  const auto result =
      make_sharing_catalogue(test::model("A100-80GB"),
                             {.percentages = percentages,
                              .default_mps = SharingOptions::DefaultMps::kNotOffered,
                              .families = {SharingFamily::kTimeSharing, SharingFamily::kMpsOnly}});
  RC_ASSERT(result.has_value());
  std::set<std::string> found;
  for (const SharingTemplate& one : result->templates) {
    if (one.family == SharingFamily::kMpsOnly) {
      RC_ASSERT(found.insert(one.name).second);
    }
  }
  RC_ASSERT(found == expected);
}

TEST(SharingTemplate_Structure, EveryTemplateOfEveryGpu_IsLegalAndUnique) {
  // Aim: partitions pass the independent judge, names and domains are there once, seats are
  // canonical, and counts are what the seats say.
  for (const Geometry* geometry : models_with_table()) {
    const SharingCatalogue catalogue = made(*geometry, {.concurrency_max = 7});
    EXPECT_EQ(catalogue.geometry, geometry);
    std::set<std::string> seen;
    std::set<std::size_t> used;
    std::pair<int, SharingFamily> before = {0, SharingFamily::kTimeSharing};
    for (const SharingTemplate& one : catalogue.templates) {
      const std::string where = geometry->key() + " " + one.name;
      EXPECT_TRUE(seen.insert(one.name).second) << where;
      EXPECT_LE(before, std::make_pair(one.concurrency, one.family)) << where;
      before = {one.concurrency, one.family};
      std::size_t seats = 0;
      for (const std::size_t index : one.domains) {
        ASSERT_LT(index, catalogue.domains.size()) << where;
        used.insert(index);
        seats += catalogue.domains[index].seats.size();
      }
      EXPECT_EQ(seats, static_cast<std::size_t>(one.concurrency)) << where;
      const auto partition = partition_of(catalogue, one);
      ASSERT_EQ(partition.has_value(), !one.layout.empty()) << where;
      if (!partition.has_value()) {
        EXPECT_FALSE(catalogue.domains[one.domains[0]].profile.has_value()) << where;
        EXPECT_TRUE(catalogue.domains[one.domains[0]].compute.empty()) << where;
        continue;
      }
      EXPECT_THAT(check_partition(*geometry, *partition), IsEmpty()) << where;
      EXPECT_EQ(layout_of(*partition), one.layout) << where;
      for (std::size_t i = 0; i < one.layout.size(); ++i) {
        EXPECT_EQ(catalogue.domains[one.domains[i]].profile, one.layout[i].profile) << where;
      }
    }
    EXPECT_EQ(used.size(), catalogue.domains.size()) << geometry->key();
  }
}

void expect_seats_canonical(const MemoryDomain& domain, const std::string& where) {
  std::map<int, std::vector<Seat>> by_compute;
  int before = 0;
  for (const Seat& seat : domain.seats) {
    EXPECT_GE(seat.compute, before) << where;
    before = seat.compute;
    by_compute[seat.compute].push_back(seat);
  }
  EXPECT_EQ(by_compute.size(), std::max<std::size_t>(domain.compute.size(), 1)) << where;
  for (const auto& [compute, seats] : by_compute) {
    int sum = 0;
    for (std::size_t s = 0; s < seats.size(); ++s) {
      EXPECT_EQ(seats[s].atp.has_value(), seats[0].atp.has_value()) << where;
      sum += seats[s].atp.value_or(ActiveThreadPercentage(0)).value();
      EXPECT_TRUE(s == 0 || seats[s].atp <= seats[s - 1].atp) << where;
    }
    EXPECT_LE(sum, 100) << where;
    EXPECT_TRUE(seats.size() > 1 || !seats[0].atp.has_value()) << where;
  }
}

TEST(SharingTemplate_Structure, EveryDomain_IsCanonicalAndThereOnce) {
  // Aim: what the header promises of a MemoryDomain, for every GPU and two sets of percentages.
  for (const Geometry* geometry : models_with_table()) {
    for (const auto& percentages : {SharingOptions().percentages, steps_of_ten()}) {
      const SharingCatalogue catalogue =
          made(*geometry, {.concurrency_max = 7, .percentages = percentages});
      for (std::size_t a = 0; a < catalogue.domains.size(); ++a) {
        const MemoryDomain& domain = catalogue.domains[a];
        expect_seats_canonical(domain, geometry->key() + " domain " + std::to_string(a));
        for (std::size_t b = 0; b < a; ++b) {
          const MemoryDomain& other = catalogue.domains[b];
          EXPECT_FALSE(domain.profile == other.profile && domain.compute == other.compute &&
                       domain.seats == other.seats)
              << geometry->key() << " " << a << " " << b;
        }
      }
    }
  }
}

TEST(SharingTemplate_Options, Families_AreTheOnlyOnesGiven) {
  // Aim: each family alone, and each is there under default options.
  const Geometry& geometry = test::model("A100-80GB");
  const SharingCatalogue all = made(geometry);
  for (int f = 0; f < kSharingFamilyCount; ++f) {
    const auto family = static_cast<SharingFamily>(f);
    const SharingCatalogue alone = made(geometry, {.families = {family}});
    for (const SharingTemplate& one : alone.templates) {
      EXPECT_EQ(one.family, family) << one.name;
    }
    EXPECT_EQ(std::ssize(alone.templates),
              std::ranges::count(all.templates, family, &SharingTemplate::family))
        << sharing_family_name(family);
  }
}

TEST(SharingTemplate_Options, NoPercentages_LeaveDefaultMpsOnly) {
  // Aim: empty percentages, and then default MPS not offered either: no MPS at all.
  const Geometry& geometry = test::model("A100-80GB");
  for (const SharingTemplate& one : made(geometry, {.percentages = {}}).templates) {
    EXPECT_EQ(one.name.find('('), std::string::npos) << one.name;
  }
  const SharingCatalogue none =
      made(geometry, {.percentages = {}, .default_mps = SharingOptions::DefaultMps::kNotOffered});
  for (const SharingTemplate& one : none.templates) {
    EXPECT_TRUE(one.family == SharingFamily::kTimeSharing ||
                one.family == SharingFamily::kMigPrivate || one.family == SharingFamily::kMigShared)
        << one.name;
  }
}

Error refused(const Geometry& geometry, const SharingOptions& options) {
  const auto result = make_sharing_catalogue(geometry, options);
  SEPTULE_CHECK(!result.has_value(), "these options are refused");
  test::expect_one_line(result.error());
  return result.error();
}

TEST(SharingTemplate_Options, InvalidOnes_AreRefusedByNameAndValue) {
  // Aim: every limit of the options, at both of its ends.
  const Geometry& geometry = test::model("A100-80GB");
  for (const int count : {-1, 0, 8, 1000}) {
    const Error error = refused(geometry, {.concurrency_max = count});
    EXPECT_EQ(error.code, ErrorCode::kInvalidInput);
    EXPECT_THAT(error.message, HasSubstr("concurrency_max is " + std::to_string(count)));
  }
  const auto with = [&](const std::vector<int>& values) {
    SharingOptions options;
    options.percentages.clear();
    for (const int value : values) {
      options.percentages.emplace_back(value);
    }
    return options;
  };
  EXPECT_THAT(refused(geometry, with({0, 50})).message, HasSubstr("hold 0; valid are 1 to 100"));
  EXPECT_THAT(refused(geometry, with({50, 101})).message, HasSubstr("hold 101"));
  EXPECT_THAT(refused(geometry, with({50, 50})).message, HasSubstr("hold 50 after 50"));
  EXPECT_THAT(refused(geometry, with({50, 25})).message, HasSubstr("hold 25 after 50"));
  std::vector<int> many(kPercentagesMax + 1);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<int>(i) + 1;
  }
  EXPECT_THAT(refused(geometry, with(many)).message, HasSubstr("21 percentages"));
  many.pop_back();
  EXPECT_TRUE(make_sharing_catalogue(geometry, with(many)).has_value());
  EXPECT_TRUE(make_sharing_catalogue(geometry, with({100})).has_value());
  const Error empty =
      refused(geometry, {.concurrency_max = 1, .families = {SharingFamily::kMigShared}});
  EXPECT_EQ(empty.code, ErrorCode::kInvalidInput);
  EXPECT_THAT(empty.message, HasSubstr("mig-shared"));
}

TEST(SharingTemplate_Options, GpuWithoutProfileTable_IsBlocked) {
  // Aim: nobody has published what it can be cut into, and the message says so.
  const Error error = refused(test::model("Thor-iGPU"), {});
  EXPECT_EQ(error.code, ErrorCode::kBlocked);
  EXPECT_THAT(error.message, HasSubstr("Thor-iGPU"));
}

TEST(SharingTemplate_Partition, ComputeInstances_AreThoseOfTheDomain) {
  // Aim: what a command would have to make, as text.
  const Geometry& geometry = test::model("A100-80GB");
  const SharingCatalogue catalogue = made(geometry);
  std::map<std::string, std::string> texts;
  for (const SharingTemplate& one : catalogue.templates) {
    const auto partition = partition_of(catalogue, one);
    texts[one.name] = partition.has_value() ? partition_text(geometry, *partition) : "MIG off";
  }
  EXPECT_EQ(texts["full"], "MIG off");
  EXPECT_EQ(texts["mps(75,25)"], "MIG off");
  EXPECT_EQ(texts["7g{2}"], "7g.80gb@0");
  EXPECT_EQ(texts["7g[3c+3c]"], "7g.80gb@0[3c@0,3c@4]");
  EXPECT_EQ(texts["4g{2}+3g(50,50)"], "4g.40gb@0,3g.40gb@4");
  EXPECT_EQ(texts["3g+2g+1g"], "3g.40gb@0,2g.20gb@4,1g.10gb@6");
}

TEST(SharingTemplate_Memory, OfTheWholeGpu_IsThatOfItsLargestProfile) {
  // Aim: known figures as they are, unknown ones not invented.
  const Geometry& geometry = test::model("A100-80GB");
  const auto whole = geometry.plain_profile(ComputeSlices(7)).value();
  EXPECT_EQ(domain_memory(geometry, std::nullopt), geometry.profile(whole).memory);
  EXPECT_EQ(domain_memory(geometry, std::nullopt), Bytes::mebibytes(80384));
  const auto third = geometry.plain_profile(ComputeSlices(3)).value();
  EXPECT_EQ(domain_memory(geometry, third), geometry.profile(third).memory);
  EXPECT_EQ(domain_memory(test::model("H20-96GB"), std::nullopt), std::nullopt);
  EXPECT_EQ(domain_memory(test::model("Thor-iGPU"), std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace septule::gpu
