#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.hpp"
#include "interop/data_builder.hpp"
#include "interop/tenant_file.hpp"
#include "serve/admission.hpp"
#include "serve/policies/hindsight.hpp"

namespace septule::bench {

/// One mix of bench/serve/mixes.yaml, its rates not scaled yet.
struct ServingMix {
  std::string name;
  double load = 1;
  bool is_in_regime = false;
  std::string why;
  std::vector<serve::Tenant> tenants;
};

/// The file: what all mixes share, and the mixes in its order.
struct ServingMixes {
  std::string gpu;
  int gpus = 1;
  int window_s = 200;
  int lead_windows = 1;
  int windows = 10;
  std::string forecaster;
  std::uint64_t seed = 1;
  std::string profiles;
  std::vector<ServingMix> mixes;

  int length_s() const { return window_s * (lead_windows + windows); }
};

inline nlohmann::ordered_json as_json(const interop::DataNode& node) {
  using Kind = interop::DataNode::Kind;
  switch (node.kind) {
    case Kind::kNull:
      return nullptr;
    case Kind::kBoolean:
      return node.boolean;
    case Kind::kInteger:
      return node.integer;
    case Kind::kNumber:
      return node.number;
    case Kind::kString:
      return node.text;
    case Kind::kList: {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const interop::DataNode& item : node.items) {
        list.push_back(as_json(item));
      }
      return list;
    }
    case Kind::kMap:
      break;
  }
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (const interop::DataMember& member : node.members) {
    map[member.name] = as_json(member.value);
  }
  return map;
}

/// Reads the definition. Tenants are read by the reader of tenants files; `load` gives the traces
/// and the profiles that the text names.
inline Result<ServingMixes> read_serving_mixes(const interop::InputText& input,
                                               const interop::TextLoader& load) {
  SEPTULE_TRY(const interop::DataNode root, interop::read_yaml(input));
  const interop::DataReader reader(input.source_name);
  ServingMixes out;
  const auto number = [&](std::string_view name, auto& place) -> Status {
    SEPTULE_TRY(const interop::DataNode* node, reader.required(root, "/", name));
    place = static_cast<std::remove_reference_t<decltype(place)>>(node->integer);
    return {};
  };
  const auto text = [&](std::string_view name, std::string& place) -> Status {
    SEPTULE_TRY(const interop::DataNode* node, reader.required(root, "/", name));
    place = node->text;
    return {};
  };
  SEPTULE_TRY_STATUS(text("gpu", out.gpu));
  SEPTULE_TRY_STATUS(number("gpus", out.gpus));
  SEPTULE_TRY_STATUS(number("window_s", out.window_s));
  SEPTULE_TRY_STATUS(number("lead_windows", out.lead_windows));
  SEPTULE_TRY_STATUS(number("windows", out.windows));
  SEPTULE_TRY_STATUS(number("seed", out.seed));
  SEPTULE_TRY_STATUS(text("forecaster", out.forecaster));
  SEPTULE_TRY_STATUS(text("profiles", out.profiles));
  SEPTULE_TRY(const std::string profiles_text, load(out.profiles));
  SEPTULE_TRY(const interop::ServingProfiles profiles,
              interop::parse_serving_profiles({profiles_text, out.profiles}));
  SEPTULE_TRY(const interop::DataNode* mixes, reader.required(root, "/", "mixes"));
  for (const interop::DataNode& node : mixes->items) {
    ServingMix mix;
    SEPTULE_TRY(const interop::DataNode* name, reader.required(node, "/mixes", "name"));
    SEPTULE_TRY(const interop::DataNode* factor, reader.required(node, "/mixes", "load"));
    SEPTULE_TRY(const interop::DataNode* regime, reader.required(node, "/mixes", "regime"));
    SEPTULE_TRY(const interop::DataNode* why, reader.required(node, "/mixes", "why"));
    SEPTULE_TRY(const interop::DataNode* tenants, reader.required(node, "/mixes", "tenants"));
    mix.name = name->text;
    mix.load = factor->number;
    mix.is_in_regime = regime->boolean;
    mix.why = why->text;
    const std::string json = nlohmann::ordered_json{{"tenants", as_json(*tenants)}}.dump(1);
    const std::string source = fmt::format("{}, mix {}", input.source_name, mix.name);
    SEPTULE_TRY(interop::TenantFile file,
                interop::parse_tenant_file({json, source},
                                           {.load = load, .profiles = &profiles, .gpu = out.gpu}));
    mix.tenants = std::move(file.tenants);
    out.mixes.push_back(std::move(mix));
  }
  return out;
}

/// The greatest factor at which the best static labelled layout of one GPU (inference only) serves
/// the mean rates of these tenants, were they constant.
inline double static_capacity(const serve::LayoutLattice& lattice,
                              std::span<const serve::AdmittedTenant> tenants) {
  std::vector<serve::SizeTable<int>> multisets;
  for (const serve::LayoutLattice::Multiset& multiset : lattice.multisets()) {
    multisets.push_back(multiset.counts);
  }
  double best = 0;
  for (const serve::LabelledCounts& counts :
       serve::labelled_counts(multisets,
                              static_cast<int>(lattice.sizes().size()),
                              static_cast<int>(tenants.size()) + 1,
                              0)) {
    double least = 1e300;
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      double capacity = 0;
      for (std::size_t size = 0; size < serve::kSizesMax; ++size) {
        capacity += counts[m][size] * tenants[m].throughput_rps(static_cast<int>(size));
      }
      least = std::min(least, capacity / tenants[m].tenant.rate.mean());
    }
    best = std::max(best, least);
  }
  return best;
}

/// The tenants of a mix with their rates at its load. `factor` gets what they were scaled by.
inline Result<std::vector<serve::AdmittedTenant>> scaled_tenants(
    const serve::LayoutLattice& lattice, const ServingMix& mix, double& factor) {
  SEPTULE_TRY(const std::vector<serve::AdmittedTenant> unscaled,
              serve::admit_all(mix.tenants, lattice, {}));
  factor = mix.load * static_capacity(lattice, unscaled);
  std::vector<serve::Tenant> tenants = mix.tenants;
  for (serve::Tenant& tenant : tenants) {
    for (double& value : tenant.rate.values) {
      value *= factor;
    }
  }
  return serve::admit_all(tenants, lattice, {});
}

}  // namespace septule::bench
