#include "interop/inventory_json.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// clang-format off: needs the names of GoogleTest
#include <rapidcheck/gtest.h>
// clang-format on

#include "gpu/layout.hpp"
#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::builtin_catalogue;
using test::model;
using test::profile_of;
using test::refusal;
using ::testing::HasSubstr;

Result<gpu::Inventory> read(std::string_view text) {
  return parse_inventory_json({text, "state.json"}, builtin_catalogue());
}

/// A node of one A100 with this text in "instances".
Result<gpu::Inventory> read_instances(const std::string& instances) {
  return read(R"({"schema":"septule-inventory/1","gpus":[
{"index":0,"model":"A100-40GB","instances":[)" +
              instances + "]}]}");
}

TEST(InventoryJson, FullNode_IsRead) {
  // Every field of the format reaches its place.
  const auto node = read(R"({"schema": "septule-inventory/1", "node": "n1", "gpus": [
    {"index": 3, "model": "0x20B7", "mig_enabled": false},
    {"index": 0, "model": "NVIDIA A100-SXM4-40GB", "uuid": "GPU-1", "instances": [
      {"profile": "3g.20gb", "start": 4, "id": 2, "hold": "busy",
       "holder": "job 17", "movable": true,
       "compute_instances": [{"slices": 1, "start": 2, "id": 1},
                             {"slices": 1, "start": 0, "id": 0, "hold": "busy", "holder": "x"}]},
      {"profile": "1g.5gb", "start": 0, "hold": "foreign"}]}]})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->node, "n1");
  ASSERT_EQ(node->gpus.size(), 2U);
  const gpu::ObservedGpu& gpu = node->gpus[0];
  EXPECT_EQ(gpu.index, GpuIndex(0));
  EXPECT_EQ(gpu.geometry, &model("A100-40GB"));
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_TRUE(gpu.is_mig_enabled);
  ASSERT_EQ(gpu.instances.size(), 2U);
  EXPECT_EQ(gpu.instances[0].hold, gpu::Hold::kForeign);
  EXPECT_EQ(gpu.instances[0].compute_instances, std::nullopt);
  EXPECT_EQ(gpu.instances[0].id, std::nullopt);
  const gpu::ObservedInstance& busy = gpu.instances[1];
  EXPECT_EQ(busy.placed.profile, profile_of(model("A100-40GB"), "3g.20gb"));
  EXPECT_EQ(busy.placed.start, MemorySlices(4));
  EXPECT_EQ(busy.id, GpuInstanceId(2));
  EXPECT_EQ(busy.holder, "job 17");
  EXPECT_TRUE(busy.is_movable);
  ASSERT_TRUE(busy.compute_instances.has_value());
  ASSERT_EQ(busy.compute_instances->size(), 2U);
  EXPECT_EQ(busy.compute_instances->front().id, ComputeInstanceId(0));
  EXPECT_FALSE(node->gpus[1].is_mig_enabled);
  EXPECT_EQ(node->gpus[1].geometry, &model("A30-24GB"));
}

TEST(InventoryJson, Faults_NameLineAndPath) {
  // Every refusal says where and what would be valid.
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.21gb","start":4})")),
              HasSubstr("state.json:2: /gpus/0/instances/0/profile: unknown A100-40GB profile "
                        "\"3g.21gb\"; did you mean 3g.20gb?"));
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.20gb","start":4,"hodl":"busy"})")),
              HasSubstr("unknown field \"hodl\"; did you mean hold?"));
  EXPECT_THAT(
      refusal(read_instances("\n{\"profile\":\"3g.20gb\",\n\"start\":\n-1\n}")),
      HasSubstr("state.json:5: /gpus/0/instances/0/start: is the number -1; expected a whole "
                "number from 0"));
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.20gb"})")),
              HasSubstr("\"start\" is missing"));
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.20gb","start":4,"hold":"Busy"})")),
              HasSubstr("/hold: is the text \"Busy\"; expected \"idle\", \"busy\" or \"foreign\""));
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.20gb","start":4,"holder":"bob"})")),
              HasSubstr("names a holder, but \"hold\" is idle"));
  EXPECT_THAT(
      refusal(read_instances(R"({"profile":"3g.20gb","start":4},{"profile":"1g.5gb","start":5})")),
      HasSubstr("/gpus/0/instances: is not a state GPU 0 can be in: "));
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.20gb","start":2})")),
              HasSubstr("not a state"));
  EXPECT_THAT(refusal(read_instances(R"({"profile":"3g.20gb","start":4,"id":1},
{"profile":"1g.5gb","start":0,"id":1})")),
              HasSubstr("state.json:3: /gpus/0/instances/1/id: GPU instance id 1 appears twice"));
  EXPECT_THAT(
      refusal(read_instances(
          R"({"profile":"3g.20gb","start":4,"compute_instances":[{"slices":3,"start":1}]})")),
      HasSubstr("not a state"));
  EXPECT_THAT(refusal(read(R"({"schema":"septule-inventory/2","gpus":[]})")),
              HasSubstr("/schema: is the text \"septule-inventory/2\"; expected"));
  EXPECT_THAT(refusal(read(R"({"gpus":[]})")), HasSubstr("\"schema\" is missing"));
  EXPECT_THAT(
      refusal(read(R"({"schema":"septule-inventory/1","gpus":[{"index":0,"model":"A1000"}]})")),
      HasSubstr("/gpus/0/model: "));
  EXPECT_THAT(refusal(read(R"({"schema":"septule-inventory/1","gpus":[
{"index":0,"model":"A30"},{"index":0,"model":"A30"}]})")),
              HasSubstr("/gpus/1/index: GPU 0 is listed twice"));
  EXPECT_THAT(refusal(read(R"({"schema":"septule-inventory/1","gpus":[{"index":0,"model":"A30-24GB",
"mig_enabled":false,"instances":[{"profile":"1g.6gb","start":0}]}]})")),
              HasSubstr("although mig_enabled is false"));
}

TEST(InventoryJson, Syntax_IsRefusedWithLine) {
  // Duplicate fields, cut-off text, deep nesting, other JSON values and trailing text.
  EXPECT_THAT(refusal(read("{\"schema\":1,\n\"schema\":2}")),
              HasSubstr("state.json:2: the field \"schema\" appears twice"));
  EXPECT_THAT(refusal(read("{\"schema\":\n\n\"septule")),
              HasSubstr("state.json:3: the JSON text ends"));
  EXPECT_THAT(refusal(read("{\"schema\":")), HasSubstr("cut off"));
  EXPECT_THAT(refusal(read("{\n\"schema\" 1}")), HasSubstr("state.json:2: not valid JSON: syntax"));
  EXPECT_THAT(refusal(read(std::string(100000, '['))), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(refusal(read("[]")), HasSubstr("is a list of 0; expected a map"));
  EXPECT_THAT(refusal(read("{} {}")), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(read("{\"schema\": 1e999}")),
              HasSubstr("state.json:1: not valid JSON: number overflow parsing '1e999'"));
  EXPECT_THAT(refusal(read("{\"schema\": \"a\\u0000b\"}")),
              HasSubstr("/schema: is the text \"a\\x00b"));
  std::string many = "[";
  for (int i = 0; i < 100001; ++i) {
    many += "1,";
  }
  EXPECT_THAT(refusal(read(many + "1]")), HasSubstr("more than 100000 values"));
}

RC_GTEST_PROP(InventoryJsonProperty, RoundTrip_KeepsEverything, ()) {
  // Whatever legal layout with whatever holds is written, the same is read, and text is stable.
  gpu::Inventory inventory;
  inventory.node = "node-1";
  for (const gpu::Geometry& geometry : builtin_catalogue().geometries()) {
    gpu::ObservedGpu gpu;
    gpu.index = GpuIndex(static_cast<int>(inventory.gpus.size()));
    gpu.geometry = &geometry;
    gpu.is_mig_enabled = geometry.has_profile_table();
    const auto layouts = gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain);
    if (!layouts.empty()) {
      int id = 0;
      for (const gpu::PlacedProfile& placed : *rc::gen::elementOf(layouts)) {
        gpu::ObservedInstance instance;
        instance.placed = placed;
        instance.id = GpuInstanceId(id++);
        instance.hold = *rc::gen::element(gpu::Hold::kIdle, gpu::Hold::kBusy, gpu::Hold::kForeign);
        instance.holder = instance.hold == gpu::Hold::kIdle ? "" : "somebody \"else\"";
        instance.is_movable = *rc::gen::arbitrary<bool>();
        if (*rc::gen::arbitrary<bool>()) {
          instance.compute_instances.emplace();
          instance.compute_instances->push_back(
              {gpu::full_compute_instance(geometry, placed.profile), ComputeInstanceId(0), {}, {}});
        }
        gpu.instances.push_back(std::move(instance));
      }
    }
    inventory.gpus.push_back(std::move(gpu));
  }
  const std::string text = write_inventory_json(inventory);
  const auto again = read(text);
  RC_ASSERT(again.has_value());
  RC_ASSERT(write_inventory_json(*again) == text);
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    RC_ASSERT(again->gpus[i].geometry == inventory.gpus[i].geometry);
    RC_ASSERT(again->gpus[i].partition() == inventory.gpus[i].partition());
  }
}

}  // namespace
}  // namespace septule::interop
