#include "interop/mig_parted.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/layout.hpp"
#include "gpu/partition_checker.hpp"
#include "interop/interop_support.hpp"

namespace septule::interop {
namespace {

using test::builtin_catalogue;
using test::model;
using test::refusal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<MigPartedFile> read(const std::string& text) {
  return parse_mig_parted({text, "c.yaml"});
}

std::vector<NodeGpu> node_of(std::initializer_list<std::string_view> keys) {
  std::vector<NodeGpu> node;
  for (const std::string_view key : keys) {
    node.push_back({GpuIndex(static_cast<int>(node.size())), &model(key)});
  }
  return node;
}

/// Resolves the configuration "x" whose entries are given (each line indented by four).
ResolvedMigParted resolve(const std::string& entries,
                          std::initializer_list<std::string_view> keys = {"A100-40GB"}) {
  const auto file = read("version: v1\nmig-configs:\n  x:\n" + entries);
  EXPECT_TRUE(file) << file.error().message;
  return file ? resolve_mig_parted(file->configs.front(), node_of(keys)) : ResolvedMigParted{};
}

std::vector<std::string> problems(const ResolvedMigParted& resolved) {
  std::vector<std::string> list;
  for (const MigPartedProblem& problem : resolved.problems) {
    list.push_back(problem_text("c.yaml", problem));
  }
  return list;
}

std::string layout(const MigPartedGpu& gpu) {
  return gpu::partition_text(*gpu.geometry, gpu.desired.partition);
}

TEST(MigParted, PublishedForms_Resolve) {
  // All forms of the format on a mixed node: filters, lists, flow and block maps, MIG off.
  const auto file = read(R"(version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  balanced:
    - device-filter: ["0x20B010DE", "0x20B110DE"]
      devices: all
      mig-enabled: true
      mig-devices:
        "1g.5gb": 2
        "2g.10gb": 1
        "3g.20gb": 1
    - device-filter: 0x20B710DE
      devices: [1]
      mig-enabled: true
      mig-devices: {1g.6gb: 2, 2g.12gb: 1}
  empty:
    - {devices: all, mig-enabled: true}
)");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->names(), ElementsAre("all-disabled", "balanced", "empty"));
  const std::vector<NodeGpu> node = node_of({"A100-40GB", "A30-24GB"});
  const auto off = resolve_mig_parted(file->configs[0], node);
  EXPECT_TRUE(off.is_valid());
  ASSERT_EQ(off.gpus.size(), 2U);
  EXPECT_FALSE(off.gpus[1].desired.is_mig_enabled);
  const auto balanced = resolve_mig_parted(file->configs[1], node);
  EXPECT_THAT(problems(balanced), IsEmpty());
  ASSERT_EQ(balanced.gpus.size(), 2U);
  EXPECT_EQ(balanced.gpus[0].desired.partition.instances.size(), 4U);
  EXPECT_EQ(balanced.gpus[1].desired.partition.instances.size(), 3U);
  EXPECT_EQ(balanced.gpus[0].line, 7);
  const auto empty = resolve_mig_parted(file->configs[2], node);
  ASSERT_EQ(empty.gpus.size(), 2U);
  EXPECT_EQ(layout(empty.gpus[0]), "empty");
}

TEST(MigParted, ComputeInstances_ShareGpuInstances) {
  // "1c.3g.20gb": 4 needs two 3g.20gb, the first of which is full.
  const auto resolved =
      resolve("    - devices: all\n      mig-enabled: true\n      mig-devices: {1c.3g.20gb: 4}\n");
  ASSERT_THAT(problems(resolved), IsEmpty());
  EXPECT_EQ(resolved.gpus[0].desired.partition.instances.size(), 2U);
}

TEST(MigParted, EveryProblem_IsListedWithLineAndField) {
  // validate shows all that is wrong, not only the first.
  const auto resolved = resolve(R"(    - devices: [0, 5]
      mig-enabled: true
      mig-devices:
        "3g.21gb": 1
        "1g.5gb": 0
    - devices: all
      mig-enabled: true
      mig-devices:
        "3g.20gb": 3
    - devices: some
      mig-enabled: yes
      device-filter: 0x20B0
      mig-device: {}
    - device-filter: "0x20B01002"
      mig-enabled: false
      mig-devices: {1g.5gb: 1}
)");
  const std::vector<std::string> found = problems(resolved);
  ASSERT_EQ(found.size(), 8U) << ::testing::PrintToString(found);
  EXPECT_THAT(found[0],
              HasSubstr("c.yaml:8: mig-devices/1g.5gb: is the number 0; expected a count"));
  EXPECT_THAT(found[1], HasSubstr("c.yaml:12: mig-devices: "));
  EXPECT_THAT(found[1], HasSubstr("3g.20gb"));
  EXPECT_THAT(found[2],
              HasSubstr("c.yaml:13: devices: is the text \"some\"; expected all or a list"));
  EXPECT_THAT(found[3], HasSubstr("c.yaml:14: mig-enabled: is the text \"yes\""));
  EXPECT_THAT(found[4],
              HasSubstr("c.yaml:16: unknown field \"mig-device\"; did you mean mig-devices?"));
  EXPECT_THAT(found[5],
              HasSubstr("c.yaml:17: device-filter: the text \"0x20B01002\" is not a PCI id"));
  EXPECT_THAT(found[6], HasSubstr("c.yaml:17: devices: is missing"));
  EXPECT_THAT(found[7],
              HasSubstr("c.yaml:19: mig-devices: are asked for although mig-enabled is false"));
}

TEST(MigParted, ProblemsOfTheNode_AreFound) {
  // What only shows against a node: index, profile of the model, two entries for one GPU.
  EXPECT_THAT(problems(resolve("    - devices: [0, 5]\n      mig-enabled: true\n")),
              ElementsAre("c.yaml:4: devices: GPU 5 is not on the node; the node's GPUs are 0"));
  EXPECT_THAT(problems(resolve("    - devices: all\n      mig-enabled: true\n"
                               "      mig-devices: {1g.5gb: 1, 3g.39gb: 1}\n",
                               {"A30-24GB", "A30-24GB"})),
              ElementsAre(HasSubstr("c.yaml:6: mig-devices/1g.5gb: unknown A30-24GB profile"),
                          HasSubstr("c.yaml:6: mig-devices/3g.39gb")));
  EXPECT_THAT(problems(resolve("    - devices: all\n      mig-enabled: true\n"
                               "    - devices: [0]\n      mig-enabled: false\n")),
              ElementsAre("c.yaml:6: devices: GPU 0 is named by the entry in line 4 already"));
  EXPECT_THAT(
      problems(resolve("    - devices: [0, 0, -1]\n      mig-enabled: true\n")),
      ElementsAre(HasSubstr("GPU 0 is named twice"), HasSubstr("number -1 is not a GPU index")));
  EXPECT_THAT(problems(resolve("    - devices: all\n      mig-enabled: true\n"
                               "      mig-devices: {smallest: 7, 3g: 1}\n")),
              ElementsAre(HasSubstr("unknown A100-40GB profile \"smallest\""),
                          HasSubstr("unknown A100-40GB profile \"3g\"")));
  const auto filtered =
      resolve("    - {devices: all, device-filter: \"0x233010DE\", mig-enabled: true}\n");
  EXPECT_TRUE(filtered.is_valid());
  EXPECT_THAT(filtered.gpus, IsEmpty());
  EXPECT_THAT(filtered.notes, ElementsAre(HasSubstr("holds for no GPU")));
}

TEST(MigParted, FileFaults_AreOneMessage) {
  // Not YAML, not v1, hostile YAML.
  EXPECT_THAT(refusal(read("version: v2\nmig-configs: {a: []}\n")),
              HasSubstr("c.yaml:1: version: is the text \"v2\"; expected v1"));
  EXPECT_THAT(refusal(read("version: v1\n")), HasSubstr("\"mig-configs\" is missing"));
  EXPECT_THAT(refusal(read("version: v1\nmig-config: {}\n")),
              HasSubstr("c.yaml:2: unknown field \"mig-config\"; did you mean mig-configs?"));
  EXPECT_THAT(refusal(read("version: v1\nmig-configs: {}\n")),
              HasSubstr("expected a map of named"));
  EXPECT_THAT(refusal(read("apiVersion: v1\nkind: ConfigMap\ndata: {}\n")),
              HasSubstr("Kubernetes"));
  EXPECT_THAT(refusal(read("version: v1\nmig-configs:\n  a: [\n")),
              HasSubstr("c.yaml:4: not valid YAML"));
  EXPECT_THAT(refusal(read("version: v1\nversion: v1\n")),
              HasSubstr("c.yaml:2: the field \"version\" appears twice"));
  EXPECT_THAT(refusal(read("version: v1\nmig-configs:\n  a: &x [*x]\n")),
              HasSubstr("c.yaml:3: an alias"));
  EXPECT_THAT(refusal(read("version: v1\nmig-configs:\n  a: *nowhere\n")), HasSubstr("c.yaml:3: "));
  EXPECT_THAT(refusal(read("version: v1\nmig-configs: !!python/object:os.system []\n")),
              HasSubstr("c.yaml:2: the YAML tag"));
  EXPECT_THAT(refusal(read("version: v1\n---\nversion: v1\n")),
              HasSubstr("more than one YAML document"));
  EXPECT_THAT(refusal(read("? [a]\n: b\n")), HasSubstr("list or map as the name of a field"));
  EXPECT_THAT(refusal(read("# nothing\n")), HasSubstr("no YAML value"));
  EXPECT_THAT(refusal(read(std::string(100000, '['))), HasSubstr("c.yaml"));
  EXPECT_THAT(refusal(read(std::string(100000, '-'))), HasSubstr("c.yaml"));
  EXPECT_THAT(refusal(read(std::string(300000, 'a'))), HasSubstr("at most 262144"));
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 8; ++j) {
      bomb += "," + before;
    }
    bomb += "]\n";
  }
  EXPECT_THAT(refusal(read(bomb)), HasSubstr("more than 100000 values, aliases repeated"));
}

TEST(MigParted, AliasesAndQuotes_MeanWhatYamlSays) {
  // An anchor may be shared; a quoted number is a text and no count.
  const auto resolved = resolve(
      "    - devices: all\n      mig-enabled: true\n      mig-devices: {\"1g.5gb\": \"7\"}\n");
  EXPECT_THAT(problems(resolved), ElementsAre(HasSubstr("is the text \"7\"; expected a count")));
  const auto file = read(
      "version: v1\nmig-configs:\n  a: &a\n    - {devices: all, mig-enabled: false}\n"
      "  b: *a\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->configs[1].entries.size(), 1U);
}

TEST(MigParted, UnknownConfiguration_ListsWhatExists) {
  // Exit code 4 needs kNotFound.
  const auto file = read("version: v1\nmig-configs: {all-1g: [], all-2g: []}\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(find_config(*file, "all-2g"));
  const auto missing = find_config(*file, "all-3g");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message,
            "c.yaml: no configuration is named \"all-3g\"; there are: all-1g and all-2g");
}

TEST(MigPartedWrite, EqualGpus_ShareAnEntry) {
  // Grouped, quoted, and honest about what the format cannot say.
  const std::vector<NodeGpu> node = node_of({"A100-40GB", "A100-40GB", "A30-24GB"});
  std::vector<gpu::DesiredGpu> desired;
  for (const int index : {0, 1}) {
    const auto request =
        gpu::parse_layout_request(model("A100-40GB"), "3g.20gb@4[1c,1c],1g.5gb@0,2g.10gb@2[]");
    ASSERT_TRUE(request) << request.error().message;
    const auto partition = gpu::place_layout_request(model("A100-40GB"), *request);
    ASSERT_TRUE(partition) << partition.error().message;
    desired.push_back({GpuIndex(index), true, *partition});
  }
  desired.push_back({GpuIndex(2), false, {}});
  const MigPartedText written = write_mig_parted("now: \"x\"", desired, node);
  EXPECT_EQ(written.text, R"(version: v1
mig-configs:
  "now: \"x\"":
    - devices: [0, 1]
      mig-enabled: true
      mig-devices:
        "1c.3g.20gb": 2
        "1g.5gb": 1
    - devices: [2]
      mig-enabled: false
)");
  ASSERT_EQ(written.notes.size(), 3U);
  EXPECT_THAT(written.notes[0], HasSubstr("2g.10gb@2 has no compute instances"));
  EXPECT_THAT(written.notes[2], HasSubstr("no placements"));
  const auto again = read(written.text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->configs[0].name, "now: \"x\"");
}

TEST(MigPartedWrite, EveryMaximalLayoutOfEveryModel_IsReadBackAsTheSameMultiset) {
  // Placements are lost, profiles and counts are not; what comes back is legal.
  for (const gpu::Geometry& geometry : builtin_catalogue().geometries()) {
    const std::vector<NodeGpu> node = {{GpuIndex(0), &geometry}};
    for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kDouble)) {
      const std::vector<gpu::DesiredGpu> desired = {
          {GpuIndex(0), true, gpu::partition_with_full_instances(geometry, layout)}};
      const MigPartedText written = write_mig_parted("now", desired, node);
      const auto file = read(written.text);
      ASSERT_TRUE(file) << file.error().message;
      const ResolvedMigParted resolved = resolve_mig_parted(file->configs[0], node);
      ASSERT_THAT(problems(resolved), IsEmpty()) << geometry.key() << "\n" << written.text;
      ASSERT_EQ(resolved.gpus.size(), 1U);
      EXPECT_THAT(gpu::check_partition(geometry, resolved.gpus[0].desired.partition), IsEmpty());
      EXPECT_EQ(write_mig_parted("now", resolved.desired(), node).text, written.text);
    }
  }
}

}  // namespace
}  // namespace septule::interop
