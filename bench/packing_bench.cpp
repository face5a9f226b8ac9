// How long packing and defragmentation take on the sizes that docs/benchmarks.md names.
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "optimize/defragmentation.hpp"
#include "optimize/fit_explanation.hpp"
#include "optimize/instance_packing.hpp"

namespace septule::optimize {
namespace {

const gpu::Geometry& a100() {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  static const gpu::Geometry* const model = *catalogue.find("A100-40GB");
  return *model;
}

gpu::Inventory fresh_node(int gpus) {
  gpu::Inventory node;
  for (int i = 0; i < gpus; ++i) {
    gpu::ObservedGpu gpu;
    gpu.index = GpuIndex(i);
    gpu.geometry = &a100();
    node.gpus.push_back(gpu);
  }
  return node;
}

// Random legal layouts; of five instances two are idle, two busy, one is missing.
gpu::Inventory mixed_node(int gpus, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<gpu::Layout> layouts;
  gpu::for_each_layout(a100(),
                       a100().profiles_in(gpu::ProfileSet::kPlain),
                       {},
                       [&](const gpu::Layout& layout, bool) { layouts.push_back(layout); });
  gpu::Inventory node = fresh_node(gpus);
  for (gpu::ObservedGpu& gpu : node.gpus) {
    for (const gpu::PlacedProfile& placed : layouts[random() % layouts.size()]) {
      const auto draw = random() % 5;
      gpu::ObservedInstance instance;
      instance.placed = placed;
      instance.hold = draw < 2 ? gpu::Hold::kIdle : gpu::Hold::kBusy;
      instance.is_movable = true;
      if (draw < 4) {
        gpu.instances.push_back(instance);
      }
    }
  }
  return node;
}

RequestList request_of(const gpu::Inventory& node, const std::string& text) {
  auto request = read_request(geometries_of(node), text);
  SEPTULE_CHECK(request.has_value(), "benchmarks ask for profiles that exist");
  return *request;
}

void pack(benchmark::State& state,
          const gpu::Inventory& node,
          const std::string& text,
          PackingPolicy policy) {
  const PackingProblem problem{request_of(node, text), policy};
  for (auto _ : state) {
    WorkBudget budget(kPackingUnitsMax);
    const auto packing = pack_instances(node, problem, budget);
    state.counters["units"] = static_cast<double>(budget.units_spent());
    state.counters["fits"] = packing ? 1.0 : 0.0;
    state.counters["proven"] = packing && packing->certificate.is_optimal ? 1.0 : 0.0;
  }
}

void bm_pack_mixed_8(benchmark::State& state) {
  const gpu::Inventory node = mixed_node(8, static_cast<unsigned>(state.range(0)));
  pack(state, node, "14x1g.5gb,2x2g.10gb,3x3g.20gb", PackingPolicy::kPack);
}
BENCHMARK(bm_pack_mixed_8)->DenseRange(1, 6)->Unit(benchmark::kMillisecond);

void bm_spread_mixed_8(benchmark::State& state) {
  const gpu::Inventory node = mixed_node(8, static_cast<unsigned>(state.range(0)));
  pack(state, node, "14x1g.5gb,2x2g.10gb", PackingPolicy::kSpread);
}
BENCHMARK(bm_spread_mixed_8)->DenseRange(1, 6)->Unit(benchmark::kMillisecond);

void bm_pack_30_requests_8(benchmark::State& state) {
  const gpu::Inventory node = mixed_node(8, static_cast<unsigned>(state.range(0)));
  pack(state, node, "24x1g.5gb,4x2g.10gb,1x3g.20gb,1x4g.20gb", PackingPolicy::kPack);
}
BENCHMARK(bm_pack_30_requests_8)->DenseRange(1, 6)->Unit(benchmark::kMillisecond);

void bm_pack_fresh_64(benchmark::State& state) {
  const std::vector<std::string> texts = {
      "448x1g.5gb",
      "10x7g.40gb,13x4g.20gb,17x3g.20gb,31x2g.10gb,77x1g.5gb",
      "9x4g.20gb,31x3g.20gb,57x2g.10gb,91x1g.5gb,23x1g.10gb,17x1g.5gb+me",
      "101x1g.10gb,64x1g.5gb+me,20x3g.20gb,30x2g.10gb",
  };
  pack(state,
       fresh_node(64),
       texts[static_cast<std::size_t>(state.range(0))],
       state.range(1) == 0 ? PackingPolicy::kPack : PackingPolicy::kSpread);
}
BENCHMARK(bm_pack_fresh_64)->ArgsProduct({{0, 1, 2, 3}, {0, 1}})->Unit(benchmark::kMillisecond);

void bm_pack_mixed_64(benchmark::State& state) {
  const gpu::Inventory node = mixed_node(64, static_cast<unsigned>(state.range(0)));
  pack(state, node, "60x1g.5gb,20x2g.10gb,16x3g.20gb,4x4g.20gb", PackingPolicy::kPack);
}
BENCHMARK(bm_pack_mixed_64)->DenseRange(1, 3)->Unit(benchmark::kMillisecond)->Iterations(1);

void defrag(benchmark::State& state, const gpu::Inventory& node, const std::string& text) {
  const RequestList request = request_of(node, text);
  for (auto _ : state) {
    WorkBudget budget(kDefragmentationUnitsMax);
    const auto answer = defragment(node, request, budget);
    state.counters["units"] = static_cast<double>(budget.units_spent());
    state.counters["moves"] = answer ? static_cast<double>(answer->moves.size()) : -1.0;
    state.counters["proven"] = (answer && answer->certificate.is_optimal) ||
                                       (!answer && answer.error().code == ErrorCode::kBlocked)
                                   ? 1.0
                                   : 0.0;
  }
}

// Every GPU full of 1g but for `free` places, scattered: the largest profile needs the most moves.
void bm_defrag_all_1g(benchmark::State& state) {
  gpu::Inventory node = fresh_node(8);
  const ProfileIndex smallest = *a100().find_profile("1g.5gb");
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    for (int start = 0; start < 7; ++start) {
      if (gpu < static_cast<std::size_t>(state.range(0)) && start == static_cast<int>(gpu) % 7) {
        continue;
      }
      gpu::ObservedInstance instance;
      instance.placed = {smallest, MemorySlices(start)};
      instance.hold = gpu::Hold::kBusy;
      instance.is_movable = true;
      node.gpus[gpu].instances.push_back(instance);
    }
  }
  defrag(state, node, "7g.40gb");
}
BENCHMARK(bm_defrag_all_1g)->DenseRange(6, 8)->Unit(benchmark::kMillisecond);

// Random full layouts, every instance movable; on half of the GPUs one instance is missing.
gpu::Inventory nearly_full_node(int gpus, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<gpu::Layout> layouts = gpu::maximal_layouts(a100(), gpu::ProfileSet::kPlain);
  gpu::Inventory node = fresh_node(gpus);
  for (gpu::ObservedGpu& gpu : node.gpus) {
    for (const gpu::PlacedProfile& placed : layouts[random() % layouts.size()]) {
      gpu::ObservedInstance instance;
      instance.placed = placed;
      instance.hold = gpu::Hold::kBusy;
      instance.is_movable = true;
      gpu.instances.push_back(instance);
    }
    if (random() % 2 == 0) {
      gpu.instances.pop_back();
    }
  }
  return node;
}

void bm_defrag_nearly_full(benchmark::State& state) {
  defrag(state,
         nearly_full_node(static_cast<int>(state.range(0)), static_cast<unsigned>(state.range(1))),
         state.range(1) % 2 == 0 ? "7g.40gb" : "4g.20gb");
}
BENCHMARK(bm_defrag_nearly_full)
    ->ArgsProduct({{4, 8, 64}, {1, 2, 3, 4}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

void bm_explain_fit(benchmark::State& state) {
  const gpu::Inventory node = mixed_node(8, static_cast<unsigned>(state.range(0)));
  const RequestList request = request_of(node, "8x3g.20gb,8x4g.20gb");
  for (auto _ : state) {
    WorkBudget budget(kPackingUnitsMax);
    benchmark::DoNotOptimize(explain_fit(node, request, budget));
  }
}
BENCHMARK(bm_explain_fit)->DenseRange(1, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule::optimize
