#include "interop/slurm_gres.hpp"

#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "interop/interop_support.hpp"
#include "interop/inventory_json.hpp"
#include "support/shared_data.hpp"

namespace septule::interop {
namespace {

using test::builtin_catalogue;
using test::model;
using ::testing::HasSubstr;

gpu::Inventory inventory_of(const std::string& gpus) {
  const std::string text = R"({"schema":"septule-inventory/1","node":"n1","gpus":[)" + gpus + "]}";
  const auto inventory = parse_inventory_json({text, "state.json"}, builtin_catalogue());
  EXPECT_TRUE(inventory) << inventory.error().message;
  return inventory ? *inventory : gpu::Inventory{};
}

TEST(SlurmGres, CapabilityMinors_FollowTheDriversRule) {
  // The check values of the hardware reference, and no minor twice on a node of 32 GPUs.
  EXPECT_EQ(capability_minor(0, GpuInstanceId(0)), 3);
  EXPECT_EQ(capability_minor(0, GpuInstanceId(0), ComputeInstanceId(0)), 4);
  EXPECT_EQ(capability_minor(0, GpuInstanceId(1)), 12);
  EXPECT_EQ(capability_minor(0, GpuInstanceId(1), ComputeInstanceId(0)), 13);
  EXPECT_EQ(capability_minor(31, GpuInstanceId(14), ComputeInstanceId(7)), 4322);
  std::set<int> seen;
  for (int gpu = 0; gpu < 32; ++gpu) {
    for (int instance = 0; instance < 15; ++instance) {
      EXPECT_TRUE(seen.insert(capability_minor(gpu, GpuInstanceId(instance))).second);
      for (int compute = 0; compute < 8; ++compute) {
        EXPECT_TRUE(
            seen.insert(capability_minor(gpu, GpuInstanceId(instance), ComputeInstanceId(compute)))
                .second);
      }
    }
  }
}

TEST(SlurmGres, CapabilityMinors_AgreeWithSharedFacts) {
  // The same check values read from the reference's own file.
  SEPTULE_REQUIRE_SHARED(path, "hardware/facts.json");
  std::ifstream file(path);
  const auto facts = nlohmann::json::parse(file);
  const auto& check = facts.at("cap_minors").at("check");
  EXPECT_EQ(capability_minor(0, GpuInstanceId(0)), check.at("gpu0/gi0"));
  EXPECT_EQ(capability_minor(0, GpuInstanceId(1), ComputeInstanceId(0)), check.at("gpu0/gi1/ci0"));
  EXPECT_EQ(capability_minor(31, GpuInstanceId(14), ComputeInstanceId(7)),
            check.at("gpu31/gi14/ci7"));
}

TEST(SlurmGres, KnownIds_GiveExactLines) {
  // Devices per compute instance; a GPU with MIG off is a plain GPU.
  const auto gres = slurm_gres_of_inventory(inventory_of(
      R"({"index":0,"model":"A100-40GB","instances":[
           {"profile":"3g.20gb","start":0,"id":2,
            "compute_instances":[{"slices":3,"start":0,"id":0}]},
           {"profile":"3g.20gb","start":4,"id":1,
            "compute_instances":[
             {"slices":1,"start":0,"id":0},{"slices":1,"start":1,"id":1}]}]},
         {"index":1,"model":"A100-40GB","mig_enabled":false})"));
  ASSERT_TRUE(gres) << gres.error().message;
  EXPECT_EQ(gres->text,
            "# gres.conf, written by septule from a listing of the node\n"
            "NodeName=n1 Name=gpu Type=3g.20gb MultipleFiles=/dev/nvidia0,"
            "/dev/nvidia-caps/nvidia-cap21,/dev/nvidia-caps/nvidia-cap22\n"
            "NodeName=n1 Name=gpu Type=1c.3g.20gb MultipleFiles=/dev/nvidia0,"
            "/dev/nvidia-caps/nvidia-cap12,/dev/nvidia-caps/nvidia-cap13\n"
            "NodeName=n1 Name=gpu Type=1c.3g.20gb MultipleFiles=/dev/nvidia0,"
            "/dev/nvidia-caps/nvidia-cap12,/dev/nvidia-caps/nvidia-cap14\n"
            "NodeName=n1 Name=gpu Type=a100-40gb File=/dev/nvidia1\n"
            "# slurm.conf:\n"
            "#   GresTypes=gpu\n"
            "#   NodeName=n1 ... Gres=gpu:3g.20gb:1,gpu:1c.3g.20gb:2,gpu:a100-40gb:1\n");
  EXPECT_THAT(gres->notes.at(0), HasSubstr("mig-minors"));
}

TEST(SlurmGres, UnknownIds_AreRefusedNotGuessed) {
  // An id cannot be derived from a placement.
  const auto no_id = slurm_gres_of_inventory(inventory_of(
      R"({"index":0,"model":"A100-40GB","instances":[
           {"profile":"3g.20gb","start":0,
            "compute_instances":[{"slices":3,"start":0,"id":0}]}]})"));
  ASSERT_FALSE(no_id);
  EXPECT_THAT(no_id.error().message, HasSubstr("has no known id"));
  const auto not_listed = slurm_gres_of_inventory(inventory_of(
      R"({"index":0,"model":"A100-40GB","instances":[{"profile":"3g.20gb","start":0,"id":1}]})"));
  ASSERT_FALSE(not_listed);
  EXPECT_THAT(not_listed.error().message, HasSubstr("are not listed"));
  const auto too_high = slurm_gres_of_inventory(inventory_of(
      R"({"index":0,"model":"A100-40GB","instances":[
           {"profile":"3g.20gb","start":0,"id":15,
            "compute_instances":[{"slices":3,"start":0,"id":0}]}]})"));
  ASSERT_FALSE(too_high);
  EXPECT_THAT(too_high.error().message, HasSubstr("ids 15/0"));
}

TEST(SlurmGres, Goal_GivesAutoDetectAndCounts) {
  // Before the instances exist only counts can be told.
  const std::vector<NodeGpu> node = {{GpuIndex(0), &model("A100-40GB")},
                                     {GpuIndex(1), &model("A100-40GB")}};
  const auto request = gpu::parse_layout_request(model("A100-40GB"), "3g.20gb, 2 x 1g.5gb");
  ASSERT_TRUE(request);
  const auto partition = gpu::place_layout_request(model("A100-40GB"), *request);
  ASSERT_TRUE(partition);
  const std::vector<gpu::DesiredGpu> desired = {{GpuIndex(0), true, *partition},
                                                {GpuIndex(1), false, {}}};
  const auto gres = slurm_gres_of_goal("n1", desired, node);
  ASSERT_TRUE(gres) << gres.error().message;
  EXPECT_THAT(gres->text, HasSubstr("\nNodeName=n1 AutoDetect=nvml\n"));
  EXPECT_THAT(gres->text, HasSubstr("#NodeName=n1 Name=mig Type=1g.5gb Count=2 Flags=CountOnly\n"));
  EXPECT_THAT(gres->text, HasSubstr("GresTypes=gpu,mig\n"));
  EXPECT_THAT(gres->text, HasSubstr("mig:1g.5gb:2"));
  EXPECT_THAT(gres->text, HasSubstr("gpu:a100-40gb:1"));
}

TEST(SlurmGres, HostileNodeName_IsRefused) {
  // A name must not smuggle lines into gres.conf.
  const auto gres = slurm_gres_of_goal("n1\nName=gpu", {}, {});
  ASSERT_FALSE(gres);
  EXPECT_EQ(gres.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(gres.error().message, HasSubstr("\"n1\\x0aName=gpu\""));
}

}  // namespace
}  // namespace septule::interop
