// What an emulated GPU can be cut into, against the enumeration and the independent checker.
#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "device/device_support.hpp"
#include "gpu/partition_checker.hpp"

namespace septule::device {
namespace {

using gpu::Layout;
using gpu::ProfileSet;
using port::DeviceCode;
using test::model;
using test::node_of;
using test::placed;
using test::state_of;

constexpr GpuIndex kGpu{0};

class EveryLayout : public testing::TestWithParam<const char*> {
 protected:
  static void create_all(EmulatedDevice& device, const Layout& layout) {
    for (const gpu::PlacedProfile& where : layout) {
      const auto created = device.create_gpu_instance(kGpu, where);
      ASSERT_EQ(created.code, DeviceCode::kOk);
      const auto& geometry = model(GetParam());
      ASSERT_EQ(device
                    .create_compute_instance(
                        kGpu, created.id, gpu::full_compute_instance(geometry, where.profile))
                    .code,
                DeviceCode::kOk);
    }
  }

  static void destroy_all(EmulatedDevice& device) {
    for (const port::DeviceInstance& instance : state_of(device, kGpu).instances) {
      for (const auto& compute : instance.compute_instances) {
        ASSERT_EQ(device.destroy_compute_instance(kGpu, instance.id, compute.id), DeviceCode::kOk);
      }
      ASSERT_EQ(device.destroy_gpu_instance(kGpu, instance.id), DeviceCode::kOk);
    }
    ASSERT_TRUE(state_of(device, kGpu).instances.empty());
  }

  /// By start, whatever the order of creation; legal; ids all different.
  static void expect_shows(const EmulatedDevice& device, Layout layout) {
    const port::DeviceState state = state_of(device, kGpu);
    const gpu::Partition partition = test::partition_of(state);
    EXPECT_TRUE(gpu::check_partition(*state.geometry, partition).empty());
    gpu::canonicalise(layout);
    ASSERT_EQ(state.instances.size(), layout.size());
    std::set<GpuInstanceId> ids;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      EXPECT_EQ(state.instances[i].placed, layout[i]);
      ids.insert(state.instances[i].id);
    }
    EXPECT_EQ(ids.size(), layout.size());
  }
};

TEST_P(EveryLayout, EveryLayout_CreatedInEveryOrder_IsAcceptedAndLegal) {
  // Aim: whatever enumeration calls legal can be built, in every order of up to four instances and
  // forwards and backwards beyond, and the checker accepts what is then shown.
  const gpu::Geometry& geometry = model(GetParam());
  const auto device = node_of(geometry);
  int layouts = 0;
  gpu::for_each_layout(
      geometry, geometry.profiles_in(ProfileSet::kAll), {}, [&](const Layout& legal, bool) {
        if (testing::Test::HasFailure()) {
          return;
        }
        ++layouts;
        std::vector<std::size_t> order(legal.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
          order[i] = i;
        }
        do {
          Layout in_order;
          for (const std::size_t i : order) {
            in_order.push_back(legal[i]);
          }
          create_all(*device, in_order);
          expect_shows(*device, in_order);
          destroy_all(*device);
          if (legal.size() > 4) {
            // Only the reverse of the canonical order is left to try.
            if (order.front() > order.back()) {
              break;
            }
            std::ranges::reverse(order);
            continue;
          }
          if (!std::ranges::next_permutation(order).found) {
            break;
          }
        } while (true);
      });
  EXPECT_EQ(layouts, gpu::count_layouts(geometry, ProfileSet::kAll)->legal);
}

TEST_P(EveryLayout, EveryLayout_FurtherInstance_IsRefusedExactlyWhereEnumerationHasNone) {
  // Aim: on top of each legal layout each possible placement is accepted or refused as the
  // enumeration has it, so that nothing fits on a maximal one; a refusal changes nothing.
  const gpu::Geometry& geometry = model(GetParam());
  const auto profiles = geometry.profiles_in(ProfileSet::kAll);
  std::set<Layout> legal;
  gpu::for_each_layout(
      geometry, profiles, {}, [&](const Layout& layout, bool) { legal.insert(layout); });
  const auto device = node_of(geometry);
  gpu::for_each_layout(geometry, profiles, {}, [&](const Layout& layout, bool is_maximal) {
    if (testing::Test::HasFailure()) {
      return;
    }
    create_all(*device, layout);
    const auto before = test::fingerprint(state_of(*device, kGpu));
    for (const gpu::PlacedProfile& further : gpu::possible_placements(geometry, profiles)) {
      Layout larger = layout;
      larger.push_back(further);
      gpu::canonicalise(larger);
      const auto created = device->create_gpu_instance(kGpu, further);
      EXPECT_EQ(created.code,
                legal.contains(larger) ? DeviceCode::kOk : DeviceCode::kInsufficientResources);
      if (created.code == DeviceCode::kOk) {
        EXPECT_FALSE(is_maximal);
        EXPECT_EQ(device->destroy_gpu_instance(kGpu, created.id), DeviceCode::kOk);
      }
      EXPECT_EQ(test::fingerprint(state_of(*device, kGpu)), before);
    }
    destroy_all(*device);
  });
}

TEST_P(EveryLayout, EveryComputeLayout_InsideEveryProfile_IsAcceptedExactlyIfLegal) {
  // Aim: compute instances obey the table of their GPU instance, judged against the enumeration.
  const gpu::Geometry& geometry = model(GetParam());
  const auto device = node_of(geometry);
  for (const ProfileIndex profile : geometry.profiles_in(ProfileSet::kAll)) {
    const gpu::PlacedProfile where{.profile = profile,
                                   .start = geometry.profile(profile).placements.front().start};
    gpu::for_each_compute_layout(
        geometry, profile, [&](std::span<const gpu::ComputeInstance> inside, bool) {
          const auto created = device->create_gpu_instance(kGpu, where);
          ASSERT_EQ(created.code, DeviceCode::kOk);
          gpu::GpuInstance instance{.placed = where, .compute_instances = {}};
          for (const gpu::ComputeInstance& compute : inside) {
            ASSERT_EQ(device->create_compute_instance(kGpu, created.id, compute).code,
                      DeviceCode::kOk);
            instance.compute_instances.push_back(compute);
          }
          for (const gpu::ComputeInstanceProfile& row : geometry.compute_profiles(profile)) {
            for (const gpu::ComputePlacement& place : row.placements) {
              const gpu::ComputeInstance further{place};
              const auto answer = device->create_compute_instance(kGpu, created.id, further);
              ASSERT_EQ(answer.code,
                        gpu::can_add_compute_instance(geometry, instance, further)
                            ? DeviceCode::kOk
                            : DeviceCode::kInsufficientResources);
              if (answer.code == DeviceCode::kOk) {
                ASSERT_EQ(device->destroy_compute_instance(kGpu, created.id, answer.id),
                          DeviceCode::kOk);
              }
            }
          }
          EXPECT_TRUE(
              gpu::check_partition(geometry, test::partition_of(state_of(*device, kGpu))).empty());
          destroy_all(*device);
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Models,
                         EveryLayout,
                         testing::Values("A30-24GB",
                                         "A100-40GB",
                                         "H100-80GB-SXM",
                                         "RTX-PRO-6000-Blackwell",
                                         "RTX-PRO-5000-Blackwell-48GB"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(EmulatedDevice, Ids_OfSevenSmallInstances_AreThoseOfRealBoards) {
  // Aim: ids are locations of the chip, equal to the transcripts of normal and mirrored boards, and
  // come back when the same placement is created again.
  const gpu::Geometry& geometry = model("H100-80GB-PCIe");
  const auto device = node_of(geometry, {}, 2);
  const std::vector<int> normal{7, 8, 9, 10, 11, 12, 13};
  const std::vector<int> mirrored{11, 12, 13, 14, 7, 8, 9};
  for (int round = 0; round < 2; ++round) {
    for (const int start : {6, 4, 5, 0, 1, 2, 3}) {
      for (int gpu = 0; gpu < 2; ++gpu) {
        const auto created =
            device->create_gpu_instance(GpuIndex(gpu), placed(geometry, "1g.10gb", start));
        ASSERT_EQ(created.code, DeviceCode::kOk);
        EXPECT_EQ(created.id.value(),
                  (gpu == 0 ? normal : mirrored)[static_cast<std::size_t>(start)]);
      }
    }
    for (int gpu = 0; gpu < 2; ++gpu) {
      for (const auto& instance : state_of(*device, GpuIndex(gpu)).instances) {
        EXPECT_EQ(device->destroy_gpu_instance(GpuIndex(gpu), instance.id), DeviceCode::kOk);
      }
    }
  }
}

TEST(EmulatedDevice, Ids_OfLargeInstances_FollowTheOrientation) {
  // Aim: halves are 1 and 2, quarters 3 to 6, the whole 0; turned around on a mirrored board, but
  // never on an A30, of which one orientation is known.
  const gpu::Geometry& a100 = model("A100-40GB");
  const auto id_of = [](const gpu::Geometry& geometry,
                        BoardOrientations orientations,
                        std::string_view profile,
                        int start) {
    const auto device = node_of(geometry, {.orientations = orientations});
    return device->create_gpu_instance(kGpu, placed(geometry, profile, start)).id.value();
  };
  using enum BoardOrientations;
  EXPECT_EQ(id_of(a100, kAllNormal, "7g.40gb", 0), 0);
  EXPECT_EQ(id_of(a100, kAllMirrored, "7g.40gb", 0), 0);
  EXPECT_EQ(id_of(a100, kAllNormal, "3g.20gb", 0), 1);
  EXPECT_EQ(id_of(a100, kAllNormal, "3g.20gb", 4), 2);
  EXPECT_EQ(id_of(a100, kAllMirrored, "3g.20gb", 0), 2);
  EXPECT_EQ(id_of(a100, kAllMirrored, "4g.20gb", 0), 2);
  EXPECT_EQ(id_of(a100, kAllNormal, "2g.10gb", 4), 5);
  EXPECT_EQ(id_of(a100, kAllMirrored, "2g.10gb", 4), 3);
  EXPECT_EQ(id_of(a100, kAllMirrored, "2g.10gb", 0), 5);
  EXPECT_EQ(id_of(model("A30-24GB"), kAllMirrored, "1g.6gb", 3), 6);
  EXPECT_EQ(id_of(model("A30-24GB"), kAllMirrored, "2g.12gb", 2), 2);
}

TEST(EmulatedDevice, EveryModel_WholeTable_CanBeEmulated) {
  // Aim: no model of the catalogue is beyond the limits, those without a table count as without
  // MIG.
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  for (const gpu::Geometry& geometry : catalogue.geometries()) {
    const auto device = node_of(geometry);
    EXPECT_EQ(state_of(*device, kGpu).mig_mode,
              geometry.has_profile_table() ? port::MigMode::kEnabled : port::MigMode::kDisabled);
    for (const auto& layout : gpu::maximal_layouts(geometry, ProfileSet::kPlain)) {
      for (const auto& where : layout) {
        EXPECT_EQ(device->create_gpu_instance(kGpu, where).code, DeviceCode::kOk) << geometry.key();
      }
      for (const auto& instance : state_of(*device, kGpu).instances) {
        EXPECT_EQ(device->destroy_gpu_instance(kGpu, instance.id), DeviceCode::kOk);
      }
    }
  }
}

}  // namespace
}  // namespace septule::device
