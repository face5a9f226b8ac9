#include "gpu/latency.hpp"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gpu/transition_support.hpp"
#include "support/shared_data.hpp"

namespace septule::gpu {
namespace {

using test::catalogue;
using test::latencies;
using testing::HasSubstr;

Duration ms(int count) {
  return Duration::milliseconds(count);
}

TEST(Latency_Builtin, PublishedFigures_AreTheReferenceOnes) {
  // Aim: every published median of A30, A100 and H100 is reproduced by GPU plus compute instance.
  SEPTULE_REQUIRE_SHARED(path, "hardware/facts.json");
  std::ifstream file(path);
  const auto facts = nlohmann::json::parse(file).at("latency_ms");
  const std::vector<std::pair<std::string, std::string>> gpus = {
      {"A30", "A30-24GB"}, {"A100", "A100-80GB"}, {"H100", "H100-80GB-SXM"}};
  int compared = 0;
  for (const auto& [part, key] : gpus) {
    for (const auto& [slices, value] : facts.at("gi_ci_create_nvml").at(part).items()) {
      const LatencyFigure gpu =
          latencies().gpu_instance_create(key, ComputeSlices(std::stoi(slices)));
      EXPECT_EQ(gpu.duration + latencies().compute_instance_create(key).duration,
                ms(value.get<int>()));
      EXPECT_EQ(gpu.evidence, Evidence::kPartial);
      compared += 1;
    }
    for (const auto& [slices, value] : facts.at("gi_ci_destroy_nvml").at(part).items()) {
      const LatencyFigure gpu =
          latencies().gpu_instance_destroy(key, ComputeSlices(std::stoi(slices)));
      EXPECT_EQ(gpu.duration + latencies().compute_instance_destroy(key).duration,
                ms(value.get<int>()));
      compared += 1;
    }
  }
  EXPECT_EQ(compared, 26);
  const auto& toggle = facts.at("mig_toggle_a100");
  const Duration used = latencies().mig_mode_toggle("A100-40GB").duration;
  EXPECT_GE(used, ms(toggle.at(0).get<int>()));
  EXPECT_LE(used, ms(toggle.at(1).get<int>()));
}

TEST(Latency_Builtin, EveryCatalogueGpu_HasFiguresForItsProfiles) {
  // Aim: no GPU or size is left without an estimate; only measured parts are better than inferred.
  for (const Geometry& geometry : catalogue().geometries()) {
    for (const GpuInstanceProfile& profile : geometry.profiles()) {
      const LatencyFigure made = latencies().gpu_instance_create(geometry.key(), profile.slices);
      EXPECT_GT(made.duration, ms(0));
      const bool is_measured = geometry.key().starts_with("A30") ||
                               geometry.key().starts_with("A100") ||
                               geometry.key().starts_with("H100-80GB");
      EXPECT_EQ(made.evidence, is_measured ? Evidence::kPartial : Evidence::kInferred)
          << geometry.key();
    }
  }
}

TEST(Latency_Builtin, SizesAndGpusWithoutFigures_BorrowAndSaySo) {
  // Aim: next larger size, largest size, unknown GPU; the toggle counts as measured on A100 only.
  const auto& table = latencies();
  EXPECT_EQ(table.gpu_instance_create("A30-24GB", ComputeSlices(3)).duration, ms(80));
  EXPECT_EQ(table.gpu_instance_create("A30-24GB", ComputeSlices(3)).evidence, Evidence::kInferred);
  EXPECT_EQ(table.gpu_instance_create("A30-24GB", ComputeSlices(7)).duration, ms(80));
  EXPECT_EQ(table.gpu_instance_create("Z999", ComputeSlices(7)).duration, ms(370));
  EXPECT_EQ(table.gpu_instance_create("Z999", ComputeSlices(7)).evidence, Evidence::kInferred);
  EXPECT_EQ(table.compute_instance_create("A100-40GB").evidence, Evidence::kInferred);
  EXPECT_EQ(table.mig_mode_toggle("A100-40GB").evidence, Evidence::kVerified);
  EXPECT_EQ(table.mig_mode_toggle("A30-24GB").evidence, Evidence::kInferred);
  EXPECT_EQ(table.mig_mode_toggle("H100-80GB-SXM").evidence, Evidence::kInferred);
}

nlohmann::json small_table() {
  return nlohmann::json::parse(R"({
    "format": "septule-latencies/1",
    "parts": {"P": {"evidence": "verified", "create_with_compute_ms": {"1": 40},
                    "destroy_with_compute_ms": {"1": 60}}},
    "default_part": "P",
    "gpus": [{"key": "G", "part": "P", "evidence": "verified"}],
    "compute_instance_create_ms": {"value": 50, "evidence": "verified"},
    "compute_instance_destroy_ms": {"value": 50, "evidence": "partial"},
    "mig_mode_toggle_ms": {"value": 9, "part": "P", "evidence": "partial"}})");
}

TEST(Latency_Parse, ComputeShareLargerThanTheWhole_GivesZeroNotLess) {
  // Aim: an estimate is never negative, and evidence is the weaker of the parts.
  const auto table = LatencyTable::parse(small_table().dump(), "t.json");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->gpu_instance_create("G", ComputeSlices(1)).duration, ms(0));
  EXPECT_EQ(table->gpu_instance_destroy("G", ComputeSlices(1)).duration, ms(10));
  EXPECT_EQ(table->compute_instance_create("G").evidence, Evidence::kVerified);
  EXPECT_EQ(table->compute_instance_destroy("G").evidence, Evidence::kPartial);
  EXPECT_EQ(table->mig_mode_toggle("G").evidence, Evidence::kPartial);
}

TEST(Latency_Parse, EveryBrokenField_IsNamed) {
  // Aim: one clear message with source and field for each way a file can be wrong.
  const std::vector<std::pair<std::string, std::string>> changes = {
      {R"([{"op":"replace","path":"/format","value":7}])", "field format"},
      {R"([{"op":"remove","path":"/format"}])", "field format"},
      {R"([{"op":"replace","path":"/parts","value":{}}])", "field parts"},
      {R"([{"op":"replace","path":"/parts/P","value":1}])", "field parts.\"P\""},
      {R"([{"op":"replace","path":"/parts/P/evidence","value":"sure"}])", "evidence must be"},
      {R"([{"op":"remove","path":"/parts/P/create_with_compute_ms"}])", "create_with_compute_ms"},
      {R"([{"op":"replace","path":"/parts/P/create_with_compute_ms","value":{"x":1}}])", "\"x\""},
      {R"([{"op":"replace","path":"/parts/P/create_with_compute_ms","value":{"65":1}}])", "\"65\""},
      {R"([{"op":"replace","path":"/parts/P/create_with_compute_ms/1","value":-1}])",
       "whole number"},
      {R"([{"op":"replace","path":"/parts/P/create_with_compute_ms/1","value":1.5}])",
       "whole number"},
      {R"([{"op":"replace","path":"/parts/P/destroy_with_compute_ms/1","value":3600001}])",
       "3600000"},
      {R"([{"op":"replace","path":"/default_part","value":"Q"}])", "field default_part"},
      {R"([{"op":"replace","path":"/gpus","value":{}}])", "field gpus"},
      {R"([{"op":"replace","path":"/gpus/0","value":3}])", "field gpus[0].key"},
      {R"([{"op":"replace","path":"/gpus/0/part","value":null}])", "field gpus[0].part"},
      {R"([{"op":"add","path":"/gpus/-","value":{"key":"G","part":"P","evidence":"partial"}}])",
       "field gpus[1].key repeats"},
      {R"([{"op":"remove","path":"/compute_instance_create_ms"}])", "compute_instance_create_ms"},
      {R"([{"op":"replace","path":"/compute_instance_destroy_ms","value":50}])",
       "compute_instance_destroy_ms"},
      {R"([{"op":"remove","path":"/mig_mode_toggle_ms/part"}])", "mig_mode_toggle_ms.part"}};
  for (const auto& [patch, expected] : changes) {
    const std::string text = small_table().patch(nlohmann::json::parse(patch)).dump();
    const auto table = LatencyTable::parse(text, "t.json");
    ASSERT_FALSE(table.has_value()) << patch;
    EXPECT_EQ(table.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(table.error().message, HasSubstr("t.json: "));
    EXPECT_THAT(table.error().message, HasSubstr(expected));
  }
  for (const std::string_view text : {"", "[", "[]", "null", "\xff"}) {
    EXPECT_FALSE(LatencyTable::parse(text, "t.json").has_value()) << text;
  }
}

}  // namespace
}  // namespace septule::gpu
