#include "interop/serving_profile.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

using serve::LatencyMeaning;
using serve::ProfileRow;
using test::refusal;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHeading = "model,slices,batch,throughput_rps,latency_ms\n";

Result<ServingProfiles> read(std::string_view text) {
  return parse_serving_profiles({text, "p.csv"});
}

ServingProfiles read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  Result<ServingProfiles> profiles = parse_serving_profiles({content, path.filename().string()});
  EXPECT_TRUE(profiles) << profiles.error().message;
  return profiles ? *profiles : ServingProfiles{};
}

std::size_t row_count(const ServingProfiles& profiles) {
  std::size_t count = 0;
  for (const serve::ModelProfile& profile : profiles.models) {
    count += profile.rows.size();
  }
  return count;
}

const ProfileRow* find_row(
    const serve::ModelProfile& profile, int slices, int batch, int processes = 1, int share = 100) {
  for (const ProfileRow& row : profile.rows) {
    if (row.slices == ComputeSlices(slices) && row.batch == batch && row.processes == processes &&
        row.share == ActiveThreadPercentage(share)) {
      return &row;
    }
  }
  return nullptr;
}

TEST(ServingProfile, OwnForm_ReadsEveryColumn) {
  // All columns with their units; rows come out sorted.
  const auto profiles = read(
      "gpu,model,slices,batch,processes,share_percent,throughput_rps,latency_ms,latency_meaning,"
      "memory_gib,suspect,source\n"
      "A100-80GB,bert,2g.20gb,8,2,60,120.5,12.5,p95,3.5,1,mine\n"
      "A100-80GB,bert,1g,1,,,40,25,,,,\n"
      "A30-24GB,vgg,1,1,1,100,40,25,mean,,0,\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  EXPECT_EQ(profiles->format, ServingProfileFormat::kSeptule);
  ASSERT_EQ(profiles->models.size(), 2U);
  const serve::ModelProfile& bert = profiles->models[0];
  EXPECT_EQ(bert.model, "bert");
  EXPECT_EQ(bert.gpu, "A100-80GB");
  ASSERT_EQ(bert.rows.size(), 2U);
  EXPECT_EQ(bert.rows[0].slices, ComputeSlices(1));
  EXPECT_EQ(bert.rows[0].meaning, LatencyMeaning::kUnstated);
  EXPECT_EQ(bert.rows[0].memory, std::nullopt);
  EXPECT_EQ(bert.rows[0].processes, 1);
  const ProfileRow& row = bert.rows[1];
  EXPECT_EQ(row.batch, 8);
  EXPECT_EQ(row.processes, 2);
  EXPECT_EQ(row.share, ActiveThreadPercentage(60));
  EXPECT_EQ(row.throughput_rps, 120.5);
  EXPECT_EQ(row.latency, Duration::nanoseconds(12500000));
  EXPECT_EQ(row.meaning, LatencyMeaning::kP95);
  EXPECT_EQ(row.memory, Bytes::mebibytes(3584));
  EXPECT_TRUE(row.is_suspect);
  EXPECT_EQ(profiles->models[1].gpu, "A30-24GB");
  EXPECT_EQ(profiles->models[1].source, "p.csv");
}

TEST(ServingProfile, Faults_NameLineColumnAndWhatIsValid) {
  // Every refusal says where, what and what would be valid.
  struct Case {
    std::string rows;
    const char* place;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"bert,5x,1,1,1", "p.csv:2: column slices:", "\"5x\" is no number of compute slices"},
      {"bert,17,1,1,1", "column slices", "expected 1 to 16"},
      {"bert,1,0,1,1", "column batch", "expected a whole number from 1 to 100000"},
      {"bert,1,,1,1", "column batch", "is empty"},
      {"bert,1,1,0,1", "column throughput_rps", "expected a number above 0"},
      {"bert,1,1,nan,1", "column throughput_rps", "\"nan\" is not valid"},
      {"bert,1,1,1,-3", "column latency_ms", "\"-3\" is not valid"},
      {"bert,1,1,1,1e-9", "column latency_ms", "below a nanosecond"},
      {",1,1,1,1", "column model", "is empty"},
      {"bert,1,1,1", "p.csv:2: ", "has 4 cells; the heading has 5"},
      {"bert,1,1,1,1\nvgg,1,1,1,1\nbert,1g,1,2,2",
       "p.csv:4: ",
       "model \"bert\" has 1g, batch 1, 1 processes and 100 % already in line 2"},
      {"", "p.csv: ", "holds no row of a profile"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(refusal(read(std::string(kHeading) + one.rows)),
                AllOf(HasSubstr(one.place), HasSubstr(one.what)))
        << one.rows;
  }
}

TEST(ServingProfile, StrangeHeadings_AreNamed) {
  // A misspelt column, a missing one, and tables that only look like profiles.
  EXPECT_THAT(refusal(read("model,slices,batch,throughput_rps,latency_ms,memory_gb\n")),
              HasSubstr("unknown column \"memory_gb\"; did you mean memory_gib?"));
  EXPECT_THAT(refusal(read("model,slices,batch,latency_ms\n")),
              HasSubstr("the column throughput_rps is missing"));
  EXPECT_THAT(refusal(read("model,slices,batch,throughput_rps,latency_ms,batch\n")),
              HasSubstr("column batch twice"));
  EXPECT_THAT(refusal(read("a,b\n1,2\n")), HasSubstr("that of no known table"));
  EXPECT_THAT(refusal(read("slo_set,model,request_rate_rps,slo_latency_ms\n")),
              HasSubstr("give it as the tenants file"));
  EXPECT_THAT(refusal(read("mig_profile,model_1,batch_1,latency_1_ms,model_2\n")),
              HasSubstr("pairs of models"));
  EXPECT_THAT(refusal(read("")), HasSubstr("empty"));
}

TEST(ServingProfile, ParvaGpu_TakesTheThroughputOfAllProcesses) {
  // Throughput per process is passed over, suspect rows keep their mark.
  const auto profiles = read(
      "model,mig_gpc,batch,mps_procs,tput_per_proc_rps,tput_total_rps,latency_ms,suspect\n"
      "bert,1,4,3,30,90,44,0\nbert,2,4,1,80,80,20,1\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  EXPECT_EQ(profiles->format, ServingProfileFormat::kParvaGpu);
  const serve::ModelProfile& bert = profiles->models.front();
  EXPECT_EQ(bert.gpu, "A100-80GB");
  const ProfileRow* row = find_row(bert, 1, 4, 3);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->throughput_rps, 90);
  EXPECT_EQ(row->latency, Duration::milliseconds(44));
  EXPECT_EQ(row->meaning, LatencyMeaning::kMean);
  EXPECT_TRUE(bert.rows[1].is_suspect);
}

TEST(ServingProfile, Miger_PrefersTheRunWithoutMps) {
  // Of two rows at 100 % the single run counts; rows without MIG are left out, and both is said.
  const auto profiles = read(
      "model,mig_profile,mps_pct,batch,latency_ms,throughput_rps_derived,set\n"
      "vgg,1g.10gb,100,32,11,2900,sweep\nvgg,1g.10gb,50,32,20,1600,sweep\n"
      "vgg,1g.10gb,100,32,10,3200,single\nvgg,none,100,32,1,32000,single\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  const serve::ModelProfile& vgg = profiles->models.front();
  ASSERT_EQ(vgg.rows.size(), 2U);
  EXPECT_EQ(find_row(vgg, 1, 32)->throughput_rps, 3200);
  EXPECT_EQ(find_row(vgg, 1, 32, 1, 50)->throughput_rps, 1600);
  EXPECT_EQ(vgg.rows[0].meaning, LatencyMeaning::kP95);
  EXPECT_THAT(profiles->notes,
              ElementsAre(HasSubstr("95th percentile"),
                          HasSubstr("1 row left out: measured on a whole GPU with MIG off"),
                          HasSubstr("1 row left out: another row for the same point")));
}

TEST(ServingProfile, MigSchedule_TakesTheMean) {
  // The tail's percentile is not known, so it is not used.
  const auto profiles = read(
      "model,mig_profile,batch,avg_latency_ms,tail_latency_ms,throughput_rps_derived\n"
      "vgg,3g.40gb,8,2.5,9.9,3200\nvgg,none,8,1,1,1\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  ASSERT_EQ(row_count(*profiles), 1U);
  EXPECT_EQ(profiles->models.front().rows.front().latency, Duration::nanoseconds(2500000));
  EXPECT_EQ(profiles->models.front().rows.front().meaning, LatencyMeaning::kMean);
}

TEST(ServingProfile, MigPerf_ReadsMemoryLabelsAsSlices) {
  // 5g to 40g are 1g to 7g of a 40 GB A100; training, lengths and out-of-memory rows are left out.
  const auto profiles = read(
      "kind,model,mem_label_as_published,x_axis,x,throughput_per_s,latency,gract,fb_used_mb\n"
      "infer,vgg,5g,batch,8,51,158,0.9,3934\ninfer,vgg,20g,batch,8,90,80,0.9,4000\n"
      "infer,vgg,5g,batch,16,0,0,0,0\ninfer,vgg,5g,seq_len,64,10,10,0,0\n"
      "finetune,vgg,5g,batch,8,51,158,0.9,3934\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  const serve::ModelProfile& vgg = profiles->models.front();
  EXPECT_EQ(vgg.gpu, "A100-40GB");
  ASSERT_EQ(vgg.rows.size(), 2U);
  EXPECT_EQ(find_row(vgg, 1, 8)->memory, Bytes::mebibytes(3934));
  EXPECT_NE(find_row(vgg, 3, 8), nullptr);
  EXPECT_EQ(profiles->notes.size(), 4U);
  EXPECT_THAT(refusal(read("kind,model,mem_label_as_published,x_axis,x,throughput_per_s,latency,"
                           "gract,fb_used_mb\ninfer,vgg,6g,batch,8,51,158,0.9,3934\n")),
              HasSubstr("column mem_label_as_published"));
}

TEST(ServingProfile, MlPerf_TakesSingleStreamOfOneInstance) {
  // Batch 1 at 1 / mean; the later round wins; everything else is left out.
  const auto profiles = read(
      "mlperf,submitter,system,benchmark,scenario,samples_per_s,mean_ms,p50_ms,p90_ms,p99_ms\n"
      "v1.0,X,A30-MIG_1x1g.6gb_TRT,bert-99,SingleStream,,8,8,8,8\n"
      "v1.1,X,A30-MIG_1x1g.6gb_TRT,bert-99,SingleStream,,5,5,5,5\n"
      "v1.1,X,A30-MIG_1x1g.6gb_TRT,bert-99,Offline,300,,,,\n"
      "v1.1,X,A30-MIG_1x1g.6gb_TRT_HeteroMultiUse,bert-99,Server,300,1,1,1,1\n"
      "v1.1,X,A30x1_TRT,bert-99,SingleStream,,5,5,5,5\n"
      "v1.1,X,DGX-A100_A100-SXM-80GB-MIG_1x1g.10gb_TRT,bert-99,SingleStream,,4,4,4,4\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  ASSERT_EQ(profiles->models.size(), 2U);
  EXPECT_EQ(profiles->models[0].gpu, "A30-24GB");
  ASSERT_EQ(profiles->models[0].rows.size(), 1U);
  EXPECT_EQ(profiles->models[0].rows[0].throughput_rps, 200);
  EXPECT_EQ(profiles->models[1].gpu, "A100-80GB");
  EXPECT_THAT(refusal(find_profile(*profiles, "bert-99", "H100")),
              HasSubstr("has profiles of A30-24GB and A100-80GB; say which GPU"));
  EXPECT_TRUE(find_profile(*profiles, "bert-99", "A30-24GB"));
}

TEST(ServingProfile, Gpulet_StandsForTheWholeGpu) {
  // MPS percentages of a GPU without MIG become shares of 7g, and that is said.
  const auto profiles = read(
      "model,batch,mps_pct,throughput_rps,batch_latency_ms_derived,dram_util_pct,l2_util_pct\n"
      "vgg16,4,40,394.8,10.1,13.5,13.1\n");
  ASSERT_TRUE(profiles) << profiles.error().message;
  EXPECT_NE(find_row(profiles->models.front(), 7, 4, 1, 40), nullptr);
  EXPECT_THAT(profiles->notes, Contains(HasSubstr("taken for 7g")));
}

TEST(FindProfile, UnknownModel_NamesNearOnes) {
  // What a user misspells is named beside what is there.
  const auto profiles = read(std::string(kHeading) + "bert,1,1,1,1\nvgg16,1,1,1,1\n");
  ASSERT_TRUE(profiles);
  EXPECT_THAT(refusal(find_profile(*profiles, "bret", "")),
              AllOf(HasSubstr("p.csv: unknown model of a profile \"bret\""), HasSubstr("bert")));
  ASSERT_TRUE(find_profile(*profiles, "vgg16", "anything"));
}

TEST(ServingProfile, PublishedTables_AreReadWhole) {
  // Every published table that is a profile, with the number of rows its index states.
  SEPTULE_REQUIRE_SHARED(parvagpu, "data/serving/parvagpu_a100_80g_mig_mps.csv");
  SEPTULE_REQUIRE_SHARED(miger, "data/serving/miger_a100_80g_mig_mps_pct.csv");
  SEPTULE_REQUIRE_SHARED(schedule, "data/serving/migschedule_a100_80g_latency.csv");
  SEPTULE_REQUIRE_SHARED(migperf, "data/serving/migperf_a100_figures.csv");
  SEPTULE_REQUIRE_SHARED(mlperf, "data/serving/mlperf_inference_mig.csv");
  SEPTULE_REQUIRE_SHARED(gpulet, "data/serving/gpulet_reimpl_mps_pct.csv");
  const ServingProfiles parva = read_file(parvagpu);
  EXPECT_EQ(row_count(parva), 1747U);
  EXPECT_EQ(parva.models.size(), 11U);
  std::size_t suspect = 0;
  for (const serve::ModelProfile& profile : parva.models) {
    suspect +=
        static_cast<std::size_t>(std::ranges::count_if(profile.rows, &ProfileRow::is_suspect));
  }
  EXPECT_EQ(suspect, 11U);
  // 420 rows, less 11 without MIG and 45 of the sweep at 100 % beside a single run.
  EXPECT_EQ(row_count(read_file(miger)), 364U);
  EXPECT_EQ(row_count(read_file(schedule)), 220U);
  EXPECT_GT(row_count(read_file(migperf)), 100U);
  const ServingProfiles ml = read_file(mlperf);
  EXPECT_EQ(ml.format, ServingProfileFormat::kMlPerf);
  EXPECT_GE(ml.models.size(), 10U);
  EXPECT_EQ(row_count(read_file(gpulet)), 420U);
}

}  // namespace
}  // namespace septule::interop
