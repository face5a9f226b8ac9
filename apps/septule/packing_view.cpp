#include "septule/packing_view.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "interop/inventory_json.hpp"
#include "report/layout_drawing.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {
using Json = nlohmann::ordered_json;
}  // namespace

std::string_view action_name(const optimize::PackedInstance& packed) {
  if (packed.is_recut) {
    return "re-cut";
  }
  return packed.is_reused ? "reuse" : "create";
}

Json packed_document(const gpu::Inventory& inventory,
                     const optimize::RequestList& request,
                     std::span<const optimize::PackedInstance> packed) {
  Json list = Json::array();
  for (const optimize::PackedInstance& one : packed) {
    const gpu::ObservedGpu* gpu = find_gpu(inventory, one.gpu);
    SEPTULE_CHECK(gpu != nullptr, "a packed instance is on a GPU of the node");
    list.push_back({{"request", request.items[one.item].name()},
                    {"gpu", one.gpu.value()},
                    {"instance", gpu::instance_text(*gpu->geometry, one.instance)},
                    {"profile", gpu->geometry->profile(one.instance.placed.profile).name},
                    {"start", one.instance.placed.start.value()},
                    {"action", action_name(one)}});
  }
  return list;
}

Json certificate_document(const optimize::PackingCertificate& certificate) {
  Json keys = Json::array();
  for (const optimize::PackingKey& key : certificate.keys) {
    keys.push_back({{"name", key.name}, {"value", key.value}, {"lower_bound", key.lower_bound}});
  }
  return {{"optimal", certificate.is_optimal},
          {"keys", std::move(keys)},
          {"work_units", certificate.work_units}};
}

Json destroyed_document(std::span<const optimize::DestroyedInstance> destroyed) {
  Json list = Json::array();
  for (const optimize::DestroyedInstance& one : destroyed) {
    list.push_back({{"gpu", one.gpu.value()}, {"instance", one.text}});
  }
  return list;
}

std::string certificate_text(const optimize::PackingCertificate& certificate) {
  std::string text;
  for (const optimize::PackingKey& key : certificate.keys) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key.name, key.value);
    if (key.lower_bound != key.value) {
      text += fmt::format(" (at least {})", key.lower_bound);
    }
  }
  return fmt::format(
      "{}: {}\n", certificate.is_optimal ? "proven optimal" : "not proven optimal", text);
}

std::string drawing_text(const gpu::Inventory& inventory, std::span<const GpuIndex> indices) {
  std::string text;
  const gpu::Geometry* ruled = nullptr;
  for (const GpuIndex index : indices) {
    const gpu::ObservedGpu* gpu = find_gpu(inventory, index);
    SEPTULE_CHECK(gpu != nullptr, "a drawn GPU is on the node");
    if (gpu->geometry != ruled) {
      text += fmt::format("        {}\n", report::slice_ruler(*gpu->geometry));
      ruled = gpu->geometry;
    }
    text += fmt::format("GPU {:<2}  {}\n", index.value(), report::draw_observed(*gpu));
  }
  return text;
}

Json inventory_document(const gpu::Inventory& inventory) {
  return Json::parse(interop::write_inventory_json(inventory));
}

}  // namespace septule::app
