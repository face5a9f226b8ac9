// Reading one catalogue file (src/gpu/geometry_parse.cpp): each field broken in turn.
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
// clang-format off
#include <rapidcheck/gtest.h>  // needs gtest.h before it
// clang-format on

#include "gpu/catalogue_support.hpp"

namespace septule::gpu {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

Json valid() {
  return Json::parse(R"({
    "schema": "septule-gpu/1", "key": "Toy-8GB", "boards": ["NVIDIA Toy"], "pci_ids": ["1234"],
    "pci_note": "", "architecture": "Toy", "chip": "T1", "compute_capability": "1.0",
    "memory_gb": 8, "sm_total": 4, "sm_with_mig": 4, "compute_slices": 2, "memory_slices": 2,
    "instances_max": 2, "min_driver": "1", "toggle_needs_reset": true,
    "mode_survives_reboot": false, "engine_budget": {"decoder": 1, "jpeg": null},
    "evidence": "verified", "unverified": [], "sources": ["guide"], "notes": ["n"],
    "profiles": [
      {"name": "1g.4gb", "aliases": ["1g.3gb"], "nvml_name": "N", "nvml_id": 0, "smi_id": 14,
       "slices": 1, "variant": "plain", "memory_mib": 4000, "memory_mib_other_drivers": [3900],
       "sm": 2, "copy_engines": 1, "engines": {"decoder": 0}, "instances_max": 2,
       "peer_to_peer": false, "placements": [[1, 1], [0, 1]], "evidence": "partial",
       "unverified": ["sm"], "sources": ["guide"], "note": "x"},
      {"name": "2g.8gb", "nvml_id": 1, "smi_id": 0, "slices": 2, "variant": "plain",
       "instances_max": 1, "placements": [[0, 2]], "evidence": "inferred"}],
    "compute_profiles": {"evidence": "inferred", "note": "c", "by_gpu_instance_slices": {
      "2": [{"slices": 1, "nvml_id": 0, "smi_id": 0, "sm": null, "instances_max": 2,
             "placements": [[0, 1], [1, 1]]}]}}})");
}

/// The refusal of a document; checked for what every refusal must be.
std::string refusal(const Json& document) {
  const auto geometry = Geometry::parse(document.dump(), "toy.json");
  if (geometry) {
    return "accepted";
  }
  EXPECT_EQ(geometry.error().code, ErrorCode::kInvalidInput);
  test::expect_one_line(geometry.error());
  EXPECT_THAT(geometry.error().message, StartsWith("toy.json: "));
  return geometry.error().message;
}

TEST(GeometryParse, ValidFile_IsReadFieldByField) {
  // Placements are sorted; what is absent or null is nothing.
  const auto geometry = Geometry::parse(valid().dump(), "toy.json");
  ASSERT_TRUE(geometry.has_value()) << geometry.error().message;
  const GpuInstanceProfile& first = geometry->profile(ProfileIndex(0));
  EXPECT_EQ(first.placements.front().start, MemorySlices(0));
  EXPECT_EQ(first.memory_other_drivers.front(), Bytes::mebibytes(3900));
  EXPECT_EQ(first.engines[0], 0);
  EXPECT_FALSE(first.engines[1].has_value());
  EXPECT_FALSE(geometry->profile(ProfileIndex(1)).memory.has_value());
  EXPECT_EQ(geometry->engine_budget()[0], 1);
  EXPECT_FALSE(geometry->engine_budget()[2].has_value());
  EXPECT_TRUE(geometry->facts().toggle_needs_reset);
}

TEST(GeometryParse, EachFieldOfAWrongType_IsNamed) {
  // Every field of the file, of a profile and of a compute profile, each given an object in turn.
  const Json wrong = {{"not", "this"}};
  const std::vector<std::string> parents{
      "", "/profiles/0", "/compute_profiles", "/compute_profiles/by_gpu_instance_slices/2/0"};
  int count = 0;
  for (const std::string& parent : parents) {
    const Json document = valid();
    for (const auto& [field, value] : document.at(Json::json_pointer(parent)).items()) {
      if (value.is_object()) {
        continue;
      }
      Json broken = document;
      broken[Json::json_pointer(fmt::format("{}/{}", parent, field))] = wrong;
      const std::string named = field == "memory_mib_other_drivers" ? "memory_mib_other" : field;
      EXPECT_THAT(refusal(broken), HasSubstr(named)) << parent << "/" << field;
      ++count;
    }
  }
  EXPECT_GT(count, 45);
}

TEST(GeometryParse, EachObjectOfAWrongType_IsNamed) {
  // A number where an object belongs is not the same as nothing.
  for (const std::string_view field :
       {"/engine_budget", "/compute_profiles", "/compute_profiles/by_gpu_instance_slices"}) {
    Json broken = valid();
    broken[Json::json_pointer(std::string(field))] = 5;
    EXPECT_THAT(refusal(broken), HasSubstr(field.substr(field.rfind('/') + 1)));
  }
  Json broken = valid();
  broken["profiles"][0]["engines"] = 5;
  EXPECT_THAT(refusal(broken), HasSubstr("engines"));
  broken["profiles"][0] = 5;
  EXPECT_THAT(refusal(broken), HasSubstr("profile"));
}

TEST(GeometryParse, EachMissingRequiredField_IsNamed) {
  // What a profile cannot do without.
  for (const std::string_view field : {"schema", "key", "evidence"}) {
    Json broken = valid();
    broken.erase(std::string(field));
    EXPECT_THAT(refusal(broken), HasSubstr(field));
  }
  for (const std::string_view field : {"name",
                                       "nvml_id",
                                       "smi_id",
                                       "slices",
                                       "variant",
                                       "instances_max",
                                       "placements",
                                       "evidence"}) {
    Json broken = valid();
    broken["profiles"][0].erase(std::string(field));
    EXPECT_THAT(refusal(broken), HasSubstr(field));
  }
  for (const std::string_view field : {"compute_slices", "memory_slices"}) {
    Json broken = valid();
    broken.erase(std::string(field));
    EXPECT_NE(refusal(broken), "accepted") << field;
  }
}

TEST(GeometryParse, EachFigureOutOfRange_IsNamed) {
  // Negative, fractional and huge numbers.
  for (const std::string_view field : {"memory_gb", "sm_total", "memory_slices", "instances_max"}) {
    for (const Json& value : {Json(-1),
                              Json(1.5),
                              Json(10'000'001),
                              Json(1e300),
                              Json(std::numeric_limits<std::uint64_t>::max())}) {
      Json broken = valid();
      broken[std::string(field)] = value;
      EXPECT_THAT(refusal(broken), HasSubstr(field));
    }
  }
}

TEST(GeometryParse, Contradictions_AreNamed) {
  // One by one: what each change says, and the words its message must hold.
  struct Case {
    std::function<void(Json&)> change;
    std::vector<std::string> words;
  };
  const auto first = [](Json& j) -> Json& { return j["profiles"][0]; };
  const std::vector<Case> cases{
      {[](Json& j) { j["schema"] = "septule-gpu/2"; }, {"schema", "septule-gpu/1"}},
      {[](Json& j) { j["key"] = ""; }, {"key", "missing"}},
      {[](Json& j) { j["pci_ids"] = {"0x1234"}; }, {"pci_ids", "0x1234"}},
      {[](Json& j) { j["pci_ids"] = {"12AB"}; }, {"pci_ids", "12AB"}},
      {[](Json& j) { j["boards"] = {1}; }, {"boards", "not a text"}},
      {[](Json& j) { j["evidence"] = "sure"; }, {"evidence", "verified"}},
      {[](Json& j) { j["memory_slices"] = 33; }, {"memory_slices", "32"}},
      {[](Json& j) { j["notes"] = Json(std::vector<std::string>(65, "x")); }, {"notes", "64"}},
      {[&](Json& j) { first(j)["name"] = "1G.4gb"; }, {"1G.4gb", "form"}},
      {[&](Json& j) { first(j)["name"] = "1c.1g.4gb"; }, {"1c.1g.4gb", "form"}},
      {[&](Json& j) { first(j)["name"] = "2g.8gb", first(j)["slices"] = 2; }, {"2g.8gb", "two"}},
      {[&](Json& j) { first(j)["aliases"] = {"2g.8gb"}; }, {"2g.8gb", "two"}},
      {[&](Json& j) { first(j)["aliases"] = {"one"}; }, {"alias", "one"}},
      {[&](Json& j) { first(j)["slices"] = 2; }, {"1g.4gb", "slices differ"}},
      {[&](Json& j) { first(j)["variant"] = "big"; }, {"1g.4gb", "variant"}},
      {[&](Json& j) { first(j)["placements"] = Json::array(); }, {"placements", "missing"}},
      {[&](Json& j) { first(j)["placements"] = {{0, 0}}; }, {"placements", "[start, size]"}},
      {[&](Json& j) { first(j)["placements"] = {{-1, 1}}; }, {"placements", "[start, size]"}},
      {[&](Json& j) { first(j)["placements"] = {{0, 1, 2}}; }, {"placements", "[start, size]"}},
      {[&](Json& j) { first(j)["placements"] = {{2, 1}}; }, {"1g.4gb", "slice 3", "has 2"}},
      {[&](Json& j) { first(j)["placements"] = {{0, 1}, {0, 2}}; }, {"1g.4gb", "differ in size"}},
      {[](Json& j) { j["compute_profiles"]["by_gpu_instance_slices"] = {{"x", Json::array()}}; },
       {"compute_profiles", "\"x\""}},
      {[](Json& j) { j["compute_profiles"]["by_gpu_instance_slices"]["2"][0]["slices"] = 2; },
       {"compute_profiles", "size"}},
      {[](Json& j) {
         j["compute_profiles"]["by_gpu_instance_slices"]["2"][0]["placements"] = {{2, 1}};
       },
       {"compute_profiles", "leaves the GPU instance"}},
  };
  for (const Case& one : cases) {
    Json broken = valid();
    one.change(broken);
    for (const std::string& word : one.words) {
      EXPECT_THAT(refusal(broken), HasSubstr(word));
    }
  }
}

TEST(GeometryParse, TooManyProfiles_AreRefused) {
  // The layout builder has room for 32.
  Json many = valid();
  many["profiles"] = Json::array();
  for (int i = 0; i < 33; ++i) {
    many["profiles"].push_back(valid()["profiles"][0]);
    many["profiles"].back()["name"] = "1g." + std::to_string(i + 10) + "gb";
    many["profiles"].back().erase("aliases");
  }
  EXPECT_THAT(refusal(many), HasSubstr("32"));
  many["profiles"].erase(0);
  EXPECT_EQ(refusal(many), "accepted");
}

TEST(GeometryParse, NoJsonObject_IsRefused) {
  // Truncated, empty, other kinds, bad UTF-8, very deep.
  for (const std::string& text : {std::string(),
                                  std::string("{"),
                                  std::string("[]"),
                                  std::string("5"),
                                  std::string("{\"key\": \"\xff\"}"),
                                  valid().dump().substr(0, 500),
                                  std::string(100'000, '['),
                                  valid().dump() + "x"}) {
    const auto geometry = Geometry::parse(text, "toy.json");
    ASSERT_FALSE(geometry.has_value());
    EXPECT_EQ(geometry.error().message, "toy.json: is not a JSON object");
  }
}

RC_GTEST_PROP(GeometryParse, OneValueReplaced_IsReadOrRefusedInOneLine, ()) {
  // Any value of the document becomes any other: nothing crashes, nothing is half read.
  const Json flat = valid().flatten();
  const auto at = *rc::gen::inRange<std::size_t>(0, flat.size());
  auto field = flat.begin();
  std::advance(field, static_cast<std::ptrdiff_t>(at));
  Json broken = valid();
  broken[Json::json_pointer(field.key())] = *rc::gen::element<Json>(nullptr,
                                                                    -1,
                                                                    0,
                                                                    3,
                                                                    64,
                                                                    65,
                                                                    1e18,
                                                                    true,
                                                                    "",
                                                                    "x\ny",
                                                                    Json::array(),
                                                                    Json::object(),
                                                                    Json{{0, 1}});
  const auto geometry = Geometry::parse(broken.dump(), "toy.json");
  const std::string message = geometry ? "" : geometry.error().message;
  RC_ASSERT(message.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace septule::gpu
