#include "job/perf_signature.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/clock.hpp"
#include "job/csv_rows.hpp"
#include "support/shared_data.hpp"

namespace septule::job {
namespace {

constexpr std::string_view kHead = "# septule-signatures/1\n# gpu: A100-40GB\n";

std::string message_of(std::string_view text) {
  const auto parsed = parse_signatures(text, "t.csv");
  EXPECT_FALSE(parsed.has_value()) << text;
  return parsed.has_value() ? "" : parsed.error().message;
}

TEST(BuiltinSignatures_AllCells, EqualThePublishedProfiles) {
  // 32 jobs x 5 slices: fits, mean step and first step as published.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/profiles.csv");
  std::map<std::pair<std::string, std::string>, const SliceTime*> known;
  const std::vector<PerfSignature> signatures = builtin_signatures();
  for (const PerfSignature& signature : signatures) {
    for (const SliceTime& slice : signature.times) {
      known[{signature.name, slice.profile}] = &slice;
    }
  }
  int fits = 0;
  for (const auto& row : test::csv_rows(path)) {
    const auto found =
        known.find({fmt::format("{}:{}", row.at("model"), row.at("batch")), row.at("slice")});
    ASSERT_EQ(found != known.end(), row.at("fits") == "1");
    if (found != known.end()) {
      ++fits;
      EXPECT_EQ(found->second->step,
                seconds_to_duration(test::number_of(row, "mean_step_s_artifact")));
      EXPECT_EQ(found->second->first_step,
                seconds_to_duration(test::number_of(row, "first_step_s")));
    }
  }
  EXPECT_EQ(fits, 145);
}

TEST(BuiltinSignatures_Utilisation, EqualsThePublishedReadings) {
  // Memory, power and utilisation alone on the whole GPU.
  SEPTULE_REQUIRE_SHARED(path, "data/miso/util.csv");
  std::map<std::string, PerfSignature> known;
  for (const PerfSignature& signature : builtin_signatures()) {
    known[signature.name] = signature;
  }
  int rows = 0;
  for (const auto& row : test::csv_rows(path)) {
    if (row.at("model") == "dummy") {
      continue;
    }
    ++rows;
    const PerfSignature& signature =
        known.at(fmt::format("{}:{}", row.at("model"), row.at("batch")));
    EXPECT_EQ(
        signature.memory,
        Bytes::mebibytes(static_cast<std::uint64_t>(test::number_of(row, "memory_mb_sampler"))));
    EXPECT_EQ(signature.power_watts, test::number_of(row, "power_w"));
    EXPECT_EQ(signature.sm_percent, test::number_of(row, "util_sm_pct"));
    EXPECT_EQ(signature.memory_percent, test::number_of(row, "util_mem_pct"));
  }
  EXPECT_EQ(rows, 32);
}

TEST(BuiltinSignatures_Fits, AreThoseOfTheSpecification) {
  // miso.md 2.1: 11 of 32 do not fit 1g, 4 do not fit 2g, all fit 3g; eight families.
  const std::vector<PerfSignature> signatures = builtin_signatures();
  const auto fitting = [&](std::string_view profile) {
    return std::count_if(signatures.begin(), signatures.end(), [&](const PerfSignature& s) {
      return std::any_of(s.times.begin(), s.times.end(), [&](const SliceTime& slice) {
        return slice.profile == profile;
      });
    });
  };
  EXPECT_EQ(signatures.size(), 32U);
  EXPECT_EQ(fitting("1g.5gb"), 21);
  EXPECT_EQ(fitting("2g.10gb"), 28);
  EXPECT_EQ(fitting("3g.20gb"), 32);
  EXPECT_EQ(fitting("4g.20gb"), 32);
  EXPECT_EQ(fitting("7g.40gb"), 32);
  std::map<std::string, Duration> starts;
  for (const PerfSignature& signature : signatures) {
    EXPECT_EQ(signature.gpu_key, "A100-40GB");
    EXPECT_EQ(signature.times.front().profile, "7g.40gb");
    EXPECT_FALSE(signature.synthetic.has_value());
    starts[signature.family] = signature.start;
  }
  const std::map<std::string, std::int64_t> seconds = {{"bert", 18},
                                                       {"cyclegan", 44},
                                                       {"deepspeech2", 14},
                                                       {"embedding", 4},
                                                       {"gnn", 5},
                                                       {"mobilenet", 7},
                                                       {"resnet", 9},
                                                       {"transformer", 5}};
  ASSERT_EQ(starts.size(), seconds.size());
  for (const auto& [family, value] : seconds) {
    EXPECT_EQ(starts.at(family), Duration::milliseconds(value * 1000)) << family;
  }
}

TEST(ParseSignatures_MeasuredAndSynthetic, AreRead) {
  // Both kinds in one table, in any order of columns; empty = not known.
  const auto parsed = parse_signatures(
      "\xEF\xBB\xBF# septule-signatures/1 with words behind\r\n# gpu: A30-24GB\r\n\r\n"
      "step_s:4g.24gb,name,first_step_s:4g.24gb,step_s:1g.6gb,memory_mib,saturation,bound,"
      "kernels\r\n"
      "0.5,a,2,,512,,,40\r\n,b,,,,0.25,memory,\r\n",
      "t.csv");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 2U);
  const PerfSignature& a = (*parsed)[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.gpu_key, "A30-24GB");
  ASSERT_EQ(a.times.size(), 1U);
  EXPECT_EQ(a.times[0].profile, "4g.24gb");
  EXPECT_EQ(a.times[0].step, Duration::milliseconds(500));
  EXPECT_EQ(a.times[0].first_step, Duration::milliseconds(2000));
  EXPECT_EQ(a.memory, Bytes::mebibytes(512));
  EXPECT_EQ(a.kernel_count, 40);
  const PerfSignature& b = (*parsed)[1];
  EXPECT_TRUE(b.times.empty());
  EXPECT_EQ(b.gpu_key, "");
  EXPECT_FALSE(b.memory.has_value());
  EXPECT_FALSE(b.power_watts.has_value());
  ASSERT_TRUE(b.synthetic.has_value());
  EXPECT_EQ(b.synthetic->saturation, 0.25);
  EXPECT_EQ(b.synthetic->bound, Bound::kMemory);
}

TEST(ParseSignatures_WrongTables, AreLocated) {
  // Each fault names file, line and column, the value and what would be valid.
  struct Fault {
    std::string text;
    std::string message;
  };
  const std::string head(kHead);
  const std::vector<Fault> faults = {
      {"", "t.csv: empty; expected \"# septule-signatures/1\" and a table"},
      {"\n#\n", "t.csv:1: begins with \"\"; expected \"# septule-signatures/1\""},
      {"name,step_s:7g\n", "t.csv:1: begins with"},
      {"# septule-signatures/12\n", "t.csv:1: begins with"},
      {head, "t.csv: no heading"},
      {head + "name,,a\n", "t.csv:3: column 2 has no name"},
      {head + "name,name\n", "t.csv:3: column name: given twice"},
      {head + "step_s:7g\n", "t.csv:3: no column name"},
      {head + "name,steps:7g\n", "t.csv:3: column steps:7g: unknown"},
      {head + "name,step_s:\n", "t.csv:3: column step_s:: unknown"},
      {head + "name,first_step_s:7g\n", "t.csv:3: column first_step_s:7g: unknown"},
      {head + "name,family\nx,y\n", "t.csv:3: neither step times nor saturation"},
      {"# septule-signatures/1\nname,step_s:7g\nx,1\n", "t.csv:2: step times of an unknown GPU"},
      {head + "name,step_s:7g\n", "t.csv:3: no signatures below"},
      {head + "name,step_s:7g\n\nx,1,2\n", "t.csv:5: 3 cells; expected 2"},
      {head + "name,step_s:7g\n\"x\",1\n", "t.csv:4: a quotation mark"},
      {head + "name,step_s:7g\n,1\n", "t.csv:4: column name: expected a name"},
      {head + "name,step_s:7g\nx,0\n", "t.csv:4: column step_s:7g: \"0\" is not a number from"},
      {head + "name,step_s:7g\nx,-1\n", "t.csv:4: column step_s:7g: \"-1\" is not a number"},
      {head + "name,step_s:7g\nx,nan\n", "t.csv:4: column step_s:7g: \"nan\" is not a number"},
      {head + "name,step_s:7g\nx,1e300\n", "t.csv:4: column step_s:7g: \"1e300\" is not"},
      {head + "name,step_s:7g\nx,\n", "t.csv:4: column name: \"x\" has neither step times"},
      {head + "name,step_s:7g\nx,1\nx,2\n", "t.csv:5: column name: \"x\" stands twice"},
      {head + "name,step_s:7g,step_s:1g\nx,,1\n", "t.csv:4: column step_s:7g: empty"},
      {head + "name,step_s:7g,first_step_s:7g\nx,,1\n", "t.csv:4: column step_s:7g: empty, but"},
      {head + "name,memory_mib,step_s:7g\nx,0,1\n", "t.csv:4: column memory_mib: \"0\" is not"},
      {head + "name,memory_mib,step_s:7g\nx,1e9,1\n", "t.csv:4: column memory_mib: \"1e9\""},
      {head + "name,kernels,step_s:7g\nx,1.5,1\n",
       "t.csv:4: column kernels: \"1.5\" is not a whole"},
      {head + "name,sm_percent,step_s:7g\nx,101,1\n", "t.csv:4: column sm_percent: \"101\""},
      {head + "name,saturation\nx,1.1\n", "t.csv:4: column saturation: \"1.1\""},
      {head + "name,saturation,bound\nx,1,disk\n", "t.csv:4: column bound: \"disk\" is neither"},
      {head + "name,saturation,bound\nx,,memory\n", "t.csv:4: column bound: given without"},
      {head + "name,saturation,step_s:7g\nx,1,1\n", "t.csv:4: column saturation: given beside"},
      {head + std::string("name,step_s:7g\nx\0,1\n", 19), "t.csv: not UTF-8"},
      {head + "name,step_s:7g\n\xff,1\n", "t.csv: not UTF-8"},
      {head + "name,step_s:7g\n" + std::string(201, 'n') + ",1\n",
       "t.csv:4: column name: expected"},
  };
  for (const Fault& fault : faults) {
    EXPECT_TRUE(message_of(fault.text).starts_with(fault.message)) << fault.message << "\n"
                                                                   << message_of(fault.text);
  }
}

TEST(ParseSignatures_TooMuch, IsRefused) {
  // Rows, columns and bytes have limits.
  std::string rows = std::string(kHead) + "name,step_s:7g\n";
  for (int i = 0; i <= kSignaturesMax; ++i) {
    rows += fmt::format("n{},1\n", i);
  }
  EXPECT_EQ(message_of(rows), "t.csv:10004: more than 10000 rows");
  std::string columns = std::string(kHead) + "name";
  for (int i = 0; i < 64; ++i) {
    columns += fmt::format(",step_s:{}g", i);
  }
  EXPECT_EQ(message_of(columns), "t.csv:3: 65 columns; at most 64");
  EXPECT_TRUE(message_of(std::string(1100000, '#')).starts_with("t.csv: 1100000 bytes"));
}

TEST(MemoryPresets_Names, AreThoseWithAClearSource) {
  // workloads.md section 3: the research preset is borderline and left out.
  EXPECT_EQ(memory_preset_names(),
            (std::vector<std::string>{"dl_training_a100_carma",
                                      "llm_dev_a100_80_seren",
                                      "llm_dev_a100_80_kalos",
                                      "hpc_kernels_gh200"}));
}

TEST(DrawSignature_OtherJobsAndKnownMemory, ChangeNothing) {
  // A job's draws depend on seed and name only; a stated memory replaces the drawn one.
  const DrawOptions options{
      .seed = 3, .memory_preset = "hpc_kernels_gh200", .compute_bound_share = 0.5};
  const PerfSignature a = draw_signature("a", std::nullopt, options);
  draw_signature("b", std::nullopt, options);
  const PerfSignature again = draw_signature("a", std::nullopt, options);
  EXPECT_EQ(a.memory, again.memory);
  EXPECT_EQ(a.synthetic->saturation, again.synthetic->saturation);
  const PerfSignature stated = draw_signature("a", Bytes::mebibytes(77), options);
  EXPECT_EQ(stated.memory, Bytes::mebibytes(77));
  EXPECT_EQ(stated.synthetic->saturation, a.synthetic->saturation);
  EXPECT_EQ(stated.synthetic->bound, a.synthetic->bound);
  DrawOptions other = options;
  other.seed = 4;
  EXPECT_NE(draw_signature("a", std::nullopt, other).synthetic->saturation,
            a.synthetic->saturation);
}

TEST(DrawSignature_ManyJobs, HaveTheSharesOfTheCurves) {
  // Median saturation 0.50 (Seren); bound as asked for; smallest slices as in the shared table.
  SEPTULE_REQUIRE_SHARED(path, "data/traces/distributions/min_slice_share_by_preset.csv");
  constexpr int kJobs = 20000;
  for (const std::string& preset : memory_preset_names()) {
    const DrawOptions options{.seed = 1, .memory_preset = preset, .compute_bound_share = 0.19};
    std::vector<double> memory;
    std::vector<double> saturation;
    int compute = 0;
    for (int i = 0; i < kJobs; ++i) {
      const PerfSignature drawn = draw_signature(fmt::format("{}", i), std::nullopt, options);
      memory.push_back(drawn.memory->to_gibibytes());
      saturation.push_back(drawn.synthetic->saturation);
      compute += drawn.synthetic->bound == Bound::kCompute ? 1 : 0;
    }
    EXPECT_NEAR(compute, 0.19 * kJobs, 0.02 * kJobs);
    std::nth_element(saturation.begin(), saturation.begin() + kJobs / 2, saturation.end());
    EXPECT_NEAR(saturation[kJobs / 2], 0.50, 0.01);
    double smaller_gib = 0;
    for (const auto& row : test::csv_rows(path)) {
      if (row.at("preset") != preset || row.at("card") != "A100-40GB" ||
          row.at("usable_gib").empty()) {
        continue;
      }
      const double usable = test::number_of(row, "usable_gib");
      const auto fits_here = std::count_if(memory.begin(), memory.end(), [&](double gib) {
        return gib <= usable && gib > smaller_gib;
      });
      EXPECT_NEAR(static_cast<double>(fits_here) / kJobs, test::number_of(row, "share"), 0.015)
          << preset << " " << row.at("smallest_slice");
      smaller_gib = usable;
    }
    EXPECT_GT(smaller_gib, 39);
  }
}

TEST(DrawSignatureDeathTest_UnknownPreset, StopsTheProgram) {
  // The caller has checked the name against memory_preset_names().
  EXPECT_DEATH(draw_signature("a", std::nullopt, {.memory_preset = "none"}), "none");
}

}  // namespace
}  // namespace septule::job
