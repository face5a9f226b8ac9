#include "interop/tenant_file.hpp"

#include <cstdint>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/interop_support.hpp"
#include "serve/warm_up.hpp"

namespace septule::interop {
namespace {

using test::refusal;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two models and two traces, as files.
Result<std::string> load(const std::string& name) {
  static const std::map<std::string, std::string> files = {
      {"p.csv",
       "gpu,model,slices,batch,throughput_rps,latency_ms\n"
       "A100-80GB,bert,1,1,40,25\nA100-80GB,bert,7,4,300,20\nA100-80GB,vgg,1,1,40,25\n"},
      {"t.csv", "t_s,requests\n0,1\n1,2\n2,3\n"},
      {"gaps.csv", "t_s,requests\n0,1\n2,3\n3,3\n"},
  };
  const auto found = files.find(name);
  if (found == files.end()) {
    return Error{ErrorCode::kNotFound, name + " does not exist"};
  }
  return found->second;
}

Result<TenantFile> read(std::string_view text, TenantFileOptions options = {}) {
  options.load = options.load ? options.load : load;
  return parse_tenant_file({text, "tenants"}, options);
}

/// The only tenant of a text that must be good.
serve::Tenant only(std::string_view text) {
  Result<TenantFile> file = read(text);
  EXPECT_TRUE(file) << file.error().message;
  return file && file->tenants.size() == 1 ? file->tenants.front() : serve::Tenant{};
}

/// A good tenant with more fields.
std::string bert(std::string_view more) {
  return "tenants:\n  - name: bert\n    profile: p.csv\n    rate: 20\n    slo_ms: 100\n" +
         std::string(more);
}

Duration seconds(double count) {
  return Duration::nanoseconds(static_cast<std::int64_t>(count * 1e9));
}

TEST(TenantFile, FewFields_HaveDefaults) {
  // Name, profile, rate and SLO are enough.
  const serve::Tenant tenant = only(bert(""));
  EXPECT_EQ(tenant.name, "bert");
  EXPECT_EQ(tenant.profile.model, "bert");
  EXPECT_EQ(tenant.profile.rows.size(), 2U);
  EXPECT_THAT(tenant.rate.values, ElementsAre(20));
  EXPECT_EQ(tenant.slo, Duration::milliseconds(100));
  EXPECT_EQ(tenant.weight, 1);
  EXPECT_EQ(tenant.accuracy, 1);
  EXPECT_EQ(tenant.warm_up.p90, serve::default_warm_up().p90);
  EXPECT_FALSE(tenant.retraining.has_value());
}

TEST(TenantFile, AllFields_AreRead) {
  // Every field with its unit; JSON says the same as YAML.
  constexpr std::string_view kYaml =
      "tenants:\n"
      "  - name: chat\n    model: bert\n    gpu: A100-80GB\n    profile: p.csv\n"
      "    rate: {file: t.csv, column: requests, from_s: 1, length_s: 2, scale: 2}\n"
      "    slo_ms: 418.5\n    weight: 2.5\n    accuracy: 0.8\n"
      "    warm_up: {p50_s: 1, p90_s: 2, p99_s: 3.5}\n    host_cores: 2\n    trust_group: ann\n"
      "    floor_share: 0.25\n"
      "    retraining:\n      work_s: 60\n      accuracy_after: 0.9\n      release_s: 10\n"
      "      deadline_s: 150\n      period_s: 200\n      memory_gib: 8\n"
      "      speeds: {2g: 0.5, 1g.10gb: 0.3}\n";
  constexpr std::string_view kJson =
      R"({"tenants":[{"name":"chat","model":"bert","gpu":"A100-80GB","profile":"p.csv",
"rate":{"file":"t.csv","column":"requests","from_s":1,"length_s":2,"scale":2},"slo_ms":418.5,
"weight":2.5,"accuracy":0.8,"warm_up":{"p50_s":1,"p90_s":2,"p99_s":3.5},"host_cores":2,
"trust_group":"ann","floor_share":0.25,"retraining":{"work_s":60,"accuracy_after":0.9,
"release_s":10,"deadline_s":150,"period_s":200,"memory_gib":8,"speeds":{"2g":0.5,"1":0.3}}}]})";
  for (const std::string_view text : {kYaml, kJson}) {
    const serve::Tenant tenant = only(text);
    EXPECT_EQ(tenant.profile.model, "bert");
    EXPECT_THAT(tenant.rate.values, ElementsAre(4, 6));
    EXPECT_EQ(tenant.slo, seconds(0.4185));
    EXPECT_EQ(tenant.weight, 2.5);
    EXPECT_EQ(tenant.accuracy, 0.8);
    EXPECT_EQ(tenant.warm_up.p50, seconds(1));
    EXPECT_EQ(tenant.warm_up.p99, seconds(3.5));
    EXPECT_EQ(tenant.host_cores, 2);
    EXPECT_EQ(tenant.trust_group, "ann");
    EXPECT_EQ(tenant.floor_share, 0.25);
    ASSERT_TRUE(tenant.retraining.has_value());
    const serve::RetrainingJob job = tenant.retraining.value_or(serve::RetrainingJob{});
    EXPECT_EQ(job.work_s, 60);
    EXPECT_EQ(job.accuracy_after, 0.9);
    EXPECT_EQ(job.release, seconds(10));
    EXPECT_EQ(job.deadline, seconds(150));
    EXPECT_EQ(job.period, seconds(200));
    EXPECT_EQ(job.memory, Bytes::mebibytes(8192));
    EXPECT_THAT(job.speeds,
                ElementsAre(std::pair(ComputeSlices(1), 0.3), std::pair(ComputeSlices(2), 0.5)));
  }
}

TEST(TenantFile, Defaults_FillWhatATenantLacks) {
  // What stands in defaults holds for all; a tenant's own field wins, null takes one back.
  const auto file = read(
      "defaults:\n  profile: p.csv\n  slo_ms: 50\n  warm_up: diffusion\n"
      "  retraining: {work_s: 5, accuracy_after: 0.9}\n"
      "tenants:\n  - {name: bert, rate: 1}\n  - {name: vgg, rate: 2, slo_ms: 70, retraining: "
      "null}\n");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tenants.size(), 2U);
  EXPECT_EQ(file->tenants[0].slo, Duration::milliseconds(50));
  EXPECT_TRUE(file->tenants[0].retraining.has_value());
  EXPECT_EQ(file->tenants[1].slo, Duration::milliseconds(70));
  EXPECT_FALSE(file->tenants[1].retraining.has_value());
  EXPECT_EQ(file->tenants[1].warm_up.p50, Duration::milliseconds(24200));
}

TEST(TenantFile, WarmUp_HasAKindANumberOrQuantiles) {
  // A number is every quantile; a missing quantile is the next one.
  EXPECT_EQ(only(bert("    warm_up: 2.5\n")).warm_up.p50, seconds(2.5));
  EXPECT_EQ(only(bert("    warm_up: 0\n")).warm_up.p99, Duration());
  const serve::WarmUp some = only(bert("    warm_up: {p90_s: 4}\n")).warm_up;
  EXPECT_EQ(some.p50, seconds(4));
  EXPECT_EQ(some.p99, seconds(4));
  EXPECT_EQ(only(bert("    warm_up: {p50_s: 1, p99_s: 9}\n")).warm_up.p90, seconds(9));
}

TEST(TenantFile, InlineRowsAndValues_NeedNoFiles) {
  // A tenant may carry its profile and its rates itself.
  const serve::Tenant tenant = only(
      "tenants:\n  - name: x\n    slo_ms: 9\n    rate: {values: [1, 0, 2.5], step_s: 60}\n"
      "    profile:\n      - {slices: 1g, batch: 2, throughput_rps: 10, latency_ms: 3}\n"
      "      - {slices: 2, batch: 2, throughput_rps: 15.5, latency_ms: 2, suspect: true}\n");
  ASSERT_EQ(tenant.profile.rows.size(), 2U);
  EXPECT_EQ(tenant.profile.rows[1].throughput_rps, 15.5);
  EXPECT_TRUE(tenant.profile.rows[1].is_suspect);
  EXPECT_EQ(tenant.profile.model, "x");
  EXPECT_THAT(tenant.rate.values, ElementsAre(1, 0, 2.5));
  EXPECT_EQ(tenant.rate.step, seconds(60));
}

TEST(TenantFile, Csv_SaysTheSame) {
  // The flat form: empty cells are not given; a trace and a rate exclude each other.
  const auto file = read(
      "name,model,profile,rate_rps,slo_ms,weight,accuracy,trace,trace_mean_rps,retraining_work_s,"
      "accuracy_after,warm_up,warm_up_p50_s\n"
      "a,bert,p.csv,5,100,2,0.5,,,,,process,\nb,vgg,p.csv,,90,,,t.csv,4,30,0.7,,2\n");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tenants.size(), 2U);
  EXPECT_EQ(file->tenants[0].weight, 2);
  EXPECT_EQ(file->tenants[0].warm_up.p99, seconds(3));
  EXPECT_THAT(file->tenants[1].rate.values, ElementsAre(2, 4, 6));
  EXPECT_EQ(file->tenants[1].retraining.value_or(serve::RetrainingJob{}).work_s, 30);
  EXPECT_EQ(file->tenants[1].warm_up.p90, seconds(2));
  EXPECT_THAT(refusal(read("model,profile,rate_rps,slo_ms,trace\nbert,p.csv,5,100,t.csv\n")),
              HasSubstr("tenants:2: column trace: is given beside rate_rps itself"));
}

TEST(TenantFile, SloSets_NeedAChoice) {
  // The published table: one set of several must be named; tenants are named after models.
  constexpr std::string_view kSets =
      "slo_set,model,request_rate_rps,slo_latency_ms\n1,bert,19,6434\n2,bert,30,100.5\n2,vgg,5,9\n";
  const auto profiles = parse_serving_profiles({*load("p.csv"), "p.csv"});
  ASSERT_TRUE(profiles);
  TenantFileOptions options{.load = {}, .profiles = &*profiles, .set = "2"};
  const auto file = read(kSets, options);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tenants.size(), 2U);
  EXPECT_EQ(file->tenants[0].name, "bert");
  EXPECT_EQ(file->tenants[0].slo, seconds(0.1005));
  EXPECT_THAT(file->tenants[0].rate.values, ElementsAre(30));
  options.set = std::nullopt;
  EXPECT_THAT(refusal(read(kSets, options)),
              HasSubstr("column slo_set: holds the sets 1 and 2; say which one is meant (--set)"));
  options.set = "7";
  EXPECT_THAT(refusal(read(kSets, options)), HasSubstr("holds no set \"7\"; there are 1 and 2"));
  EXPECT_THAT(refusal(read(bert(""), options)), HasSubstr("has no sets"));
  EXPECT_THAT(refusal(read("name,rate_rps,slo_ms\nbert,1,1\n", options)), HasSubstr("has no sets"));
}

TEST(TenantFile, Notes_SayWhatStandsForWhat) {
  // Notes of the profiles, and that another GPU's profiles are used.
  const auto file = read(bert(""), {.load = {}, .gpu = "H100-80GB-SXM"});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(
      file->notes,
      ElementsAre("profiles measured on A100-80GB are taken for H100-80GB-SXM as they are"));
}

TEST(TenantFile, MissingFile_KeepsTheLoadersCode) {
  // Not found is not invalid; the tenant is named all the same.
  const auto file = read("tenants:\n  - {name: x, profile: q.csv, rate: 1, slo_ms: 1}\n");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(file.error().message,
            "tenants:2: /tenants/0/profile: tenant \"x\": q.csv does not exist");
}

TEST(TenantFile, Faults_NameTenantPlaceAndWhatIsValid) {
  // Every refusal says where, whose, what and what would be valid.
  struct Case {
    std::string text;
    const char* place;
    const char* what;
  };
  const std::string head = "tenants:\n  - ";
  const std::vector<Case> cases = {
      {bert("    colour: red\n"), "tenants:6: /tenants/0", "unknown field \"colour\""},
      {bert("    wieght: 2\n"), "/tenants/0", "did you mean weight?"},
      {bert("    weight: 0\n"), "tenants:6: /tenants/0/weight", "expected 0.000001 to 1000000"},
      {bert("    accuracy: 83\n"), "/tenants/0/accuracy", "at most 1 (not percent)"},
      {bert("    floor_share: 1.5\n"), "/tenants/0/floor_share", "a share from 0 to 1"},
      {bert("    host_cores: many\n"), "/tenants/0/host_cores", "is the text \"many\""},
      {bert("    warm_up: slow\n"), "/tenants/0/warm_up", "unknown kind of warm-up \"slow\""},
      {bert("    warm_up: {p50_s: 3, p90_s: 2}\n"), "/tenants/0/warm_up", "quantiles that fall"},
      {bert("    warm_up: {}\n"), "/tenants/0/warm_up", "is empty"},
      {bert("    model: bart\n"), "tenants:6: /tenants/0/model", "tenant \"bert\": p.csv: unknown"},
      {bert("    gpu: A30-24GB\n"), "/tenants/0/gpu", "measured on A100-80GB, not on \"A30-24GB\""},
      {head + "{name: x, rate: 1, slo_ms: 1}",
       "tenants:2: /tenants/0/profile",
       "tenant \"x\": no profile is named; expected `profile: FILE`"},
      {head + "{name: bert, profile: p.csv, slo_ms: 1}",
       "/tenants/0/rate",
       "tenant \"bert\": is missing; expected requests per second"},
      {head + "{name: bert, profile: p.csv, rate: 1}", "/tenants/0/slo_ms", "is missing"},
      {head + "{profile: p.csv, rate: 1}", "/tenants/0", "the field \"name\" is missing"},
      {head + "{name: bert, profile: p.csv, rate: 1, slo_ms: 0}", "/slo_ms", "above 0"},
      {head + "{name: bert, profile: p.csv, rate: -1, slo_ms: 1}", "/rate", "0 to 1e9"},
      {head + "{name: bert, profile: p.csv, rate: {file: gaps.csv}, slo_ms: 1}",
       "tenants:2: /tenants/0/rate",
       "tenant \"bert\": gaps.csv:3: column requests: a gap: the rate 1 s after the begin"},
      {head + "{name: bert, profile: p.csv, rate: {values: [1, null]}, slo_ms: 1}",
       "/rate/values/1",
       "tenant \"bert\": a gap"},
      {head + "{name: bert, profile: p.csv, rate: {values: []}, slo_ms: 1}",
       "/rate/values",
       "is an empty list"},
      {head + "{name: bert, profile: p.csv, rate: {step_s: 1}, slo_ms: 1}",
       "/rate",
       "\"values\" is missing"},
      {head + "{name: bert, profile: p.csv, rate: {values: [1], step_s: 0}, slo_ms: 1}",
       "/rate",
       "a step of 0 s"},
      {head + "{name: bert, profile: p.csv, rate: {file: t.csv, gaps: zero}, slo_ms: 1}",
       "/rate/gaps",
       "expected refuse or hold"},
      {head + "{name: bert, profile: p.csv, rate: {file: t.csv, scale: 0}, slo_ms: 1}",
       "/rate/scale",
       "a number above 0"},
      {head + "{name: bert, profile: [], rate: 1, slo_ms: 1}", "/profile", "is an empty list"},
      {head + "{name: bert, profile: [{slices: 1, batch: 0, throughput_rps: 1, latency_ms: 1}], "
              "rate: 1, slo_ms: 1}",
       "/tenants/0/profile/0/batch",
       "\"0\" is not valid"},
      {head + "{name: bert, profile: [{slices: 1, tput: 0}], rate: 1, slo_ms: 1}",
       "/tenants/0/profile/0",
       "unknown field \"tput\""},
      {bert("    retraining: {accuracy_after: 1}\n"), "/retraining", "\"work_s\" is missing"},
      {bert("    retraining: {work_s: 9, accuracy_after: 90}\n"),
       "/retraining/accuracy_after",
       "not percent"},
      {bert("    retraining: {work_s: 9, accuracy_after: 1, release_s: 9, deadline_s: 9}\n"),
       "/retraining/deadline_s",
       "tenant \"bert\": its retraining cannot finish: it ends 9 s after the begin and is released "
       "9 s after it"},
      {bert("    retraining: {work_s: 9, accuracy_after: 1, period_s: 5, deadline_s: 9}\n"),
       "/retraining/deadline_s",
       "its deadline is after the period of 5 s"},
      {bert("    retraining: {work_s: 9, accuracy_after: 1, speeds: {x: 1}}\n"),
       "/retraining/speeds",
       "\"x\" is no size of an instance"},
      {bert("    retraining: {work_s: 9, accuracy_after: 1, speeds: {1g: 1, 1: 1}}\n"),
       "/retraining/speeds",
       "1g is there twice"},
      {bert("    retraining: {work_s: 9, accuracy_after: 1, speeds: [1]}\n"),
       "/retraining/speeds",
       "expected a map such as"},
      {bert("  - {name: bert, profile: p.csv, rate: 1, slo_ms: 1}\n"),
       "tenants:6: /tenants/1",
       "tenant \"bert\" is there twice (first in line 2)"},
      {"tenants: []\n", "tenants: ", "holds no tenants"},
      {"tenants: {}\n", "/tenants", "expected a list"},
      {"tenant: []\n", "/", "unknown field \"tenant\"; did you mean tenants?"},
      {"defaults: {name: x}\ntenants: []\n", "/defaults", "unknown field \"name\""},
      {"- 1\n", "/", "expected a map of fields"},
      {"name,rate,slo_ms\nbert,1,1\n", "tenants:1: ", "unknown column \"rate\""},
      {"name,slo_ms,slo_ms\nbert,1,1\n", "tenants:1: ", "the column slo_ms is there twice"},
      {"name,rate_rps,slo_ms\n", "tenants: ", "holds no tenants"},
      {"", "tenants: ", "empty"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(refusal(read(one.text)), AllOf(HasSubstr(one.place), HasSubstr(one.what)))
        << one.text;
  }
}

TEST(TenantFile, ZeroRate_IsReadAndLeftToAdmission) {
  // Reading says what stands there; admission rejects it with what is needed.
  EXPECT_THAT(only("tenants: [{name: bert, profile: p.csv, rate: 0, slo_ms: 1}]\n").rate.values,
              ElementsAre(0));
}

TEST(TenantFile, WithoutALoader_NamesNoFiles) {
  // A text from an untrusted place may not open files.
  const auto file = parse_tenant_file({bert(""), "tenants"}, {});
  EXPECT_THAT(refusal(file), HasSubstr("the file \"p.csv\" is named, and none may be here"));
}

}  // namespace
}  // namespace septule::interop
