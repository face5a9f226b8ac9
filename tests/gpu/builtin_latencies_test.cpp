// The built-in latency table (src/gpu/builtin_latencies.cpp).
#include <gtest/gtest.h>

#include "gpu/builtin_catalogue.hpp"
#include "gpu/catalogue_support.hpp"

namespace septule::gpu {
namespace {

TEST(BuiltinLatencies, EveryGpuAndSize_HasFiguresInASaneRange) {
  // Creating and destroying takes between nothing and ten seconds; only published parts are more
  // than inferred.
  const LatencyTable table = load_builtin_latencies();
  for (const Geometry& geometry : test::builtin_catalogue().geometries()) {
    for (const GpuInstanceProfile& profile : geometry.profiles()) {
      for (const LatencyFigure& figure :
           {table.gpu_instance_create(geometry.key(), profile.slices),
            table.gpu_instance_destroy(geometry.key(), profile.slices),
            table.compute_instance_create(geometry.key()),
            table.compute_instance_destroy(geometry.key()),
            table.mig_mode_toggle(geometry.key())}) {
        EXPECT_GE(figure.duration, Duration()) << geometry.key() << " " << profile.name;
        EXPECT_LT(figure.duration, Duration::milliseconds(60'000)) << geometry.key();
      }
    }
  }
  const LatencyFigure known = table.gpu_instance_create("A100-40GB", ComputeSlices(3));
  EXPECT_GT(known.duration, Duration());
  EXPECT_EQ(table.gpu_instance_create("B300-269GB", ComputeSlices(3)).evidence,
            Evidence::kInferred);
}

}  // namespace
}  // namespace septule::gpu
