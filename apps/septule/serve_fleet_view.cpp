#include "septule/serve_fleet_view.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/number_text.hpp"
#include "report/table.hpp"
#include "serve/fleet_pricing.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;
using report::Align;

std::string size_name(const serve::LayoutLattice& lattice, std::size_t size) {
  return lattice.geometry().profile(lattice.sizes()[size].profile).name;
}

/// What the layouts hold beyond what tenants get.
serve::SizeTable<int> spare_instances(const FleetAnswer& answer) {
  serve::SizeTable<int> spare{};
  for (const serve::LayoutCount& count : answer.plan.layouts) {
    const auto& multiset =
        answer.input->lattice->multisets()[static_cast<std::size_t>(count.multiset)];
    for (std::size_t size = 0; size < spare.size(); ++size) {
      spare[size] += count.gpus * multiset.counts[size];
    }
  }
  for (const serve::SizeTable<int>& counts : answer.plan.instances) {
    for (std::size_t size = 0; size < spare.size(); ++size) {
      spare[size] -= counts[size];
    }
  }
  return spare;
}

/// Instances by size with the operating point that the admission chose.
Json instances_document(const serve::LayoutLattice& lattice,
                        const serve::AdmittedTenant& tenant,
                        const serve::SizeTable<int>& counts) {
  Json list = Json::array();
  for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
    if (counts[size] == 0) {
      continue;
    }
    const serve::OperatingPoint point =
        checked_value(tenant.serving[size], "instances that are given serve");
    list.push_back({{"profile", size_name(lattice, size)},
                    {"count", counts[size]},
                    {"batch", point.batch},
                    {"processes", point.processes},
                    {"active_thread_percentage", point.share.value()},
                    {"throughput_rps", point.throughput_rps},
                    {"latency_ms", point.latency.to_seconds() * 1000}});
  }
  return list;
}

/// The same for people: "2 x 1g.10gb (batch 4, 2 processes, 65 ms)".
std::string operating_points_text(const serve::LayoutLattice& lattice,
                                  const serve::AdmittedTenant& tenant,
                                  const serve::SizeTable<int>& counts) {
  std::string text;
  for (std::size_t size = lattice.sizes().size(); size-- > 0;) {
    if (counts[size] == 0) {
      continue;
    }
    const serve::OperatingPoint point =
        checked_value(tenant.serving[size], "instances that are given serve");
    const int percent = point.share.value();
    text += fmt::format("{}{}{} (batch {}, {} process{}{}, {} ms)",
                        text.empty() ? "" : ", ",
                        counts[size] > 1 ? fmt::format("{} x ", counts[size]) : "",
                        size_name(lattice, size),
                        point.batch,
                        point.processes,
                        point.processes == 1 ? "" : "es",
                        percent == 100 ? "" : fmt::format(", {} % of the threads", percent),
                        report::grouped_text(point.latency.to_seconds() * 1000, 0));
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string instances_text(const serve::LayoutLattice& lattice,
                           const serve::SizeTable<int>& counts) {
  std::string text;
  for (std::size_t size = lattice.sizes().size(); size-- > 0;) {
    if (counts[size] > 0) {
      text += text.empty() ? "" : ", ";
      text += counts[size] > 1 ? fmt::format("{} x {}", counts[size], size_name(lattice, size))
                               : size_name(lattice, size);
    }
  }
  return text.empty() ? "none" : text;
}

void add_fleet_fields(const FleetAnswer& answer, Json& document) {
  const serve::LayoutLattice& lattice = *answer.input->lattice;
  document["method"] = answer.plan.method;
  document["work_units"] = answer.plan.units_spent;
  document["timing"] = {{"solve_s", answer.solve_time.to_seconds()}};
  Json layouts = Json::array();
  for (const serve::LayoutCount& count : answer.plan.layouts) {
    const auto& multiset = lattice.multisets()[static_cast<std::size_t>(count.multiset)];
    layouts.push_back({{"layout", instances_text(lattice, multiset.counts)},
                       {"gpus", count.gpus},
                       {"gpcs", multiset.gpcs}});
  }
  document["layouts"] = std::move(layouts);
  Json tenants = Json::array();
  for (std::size_t i = 0; i < answer.problem.tenants.size(); ++i) {
    const serve::FleetTenant& tenant = answer.problem.tenants[i];
    const serve::SizeTable<int>& counts = answer.plan.instances[i];
    tenants.push_back(
        {{"name", tenant.name},
         {"rate_rps", tenant.rate_rps},
         {"served_rps", answer.plan.served_rps[i]},
         {"capacity_rps", serve::capacity_of(tenant, counts)},
         {"instances", instances_document(lattice, answer.input->tenants[i], counts)}});
  }
  document["tenants"] = std::move(tenants);
}

FleetDetail fleet_detail(const Context& context) {
  return context.output.is_wide() ? FleetDetail::kOperatingPoints : FleetDetail::kInstances;
}

std::string fleet_tables_text(const FleetAnswer& answer, FleetDetail detail) {
  const serve::LayoutLattice& lattice = *answer.input->lattice;
  report::Table tenants({{"TENANT"},
                         {"RATE/S", Align::kRight},
                         {"SERVED/S", Align::kRight},
                         {"CAPACITY/S", Align::kRight},
                         {"INSTANCES"}});
  for (std::size_t i = 0; i < answer.problem.tenants.size(); ++i) {
    const serve::FleetTenant& tenant = answer.problem.tenants[i];
    const serve::SizeTable<int>& counts = answer.plan.instances[i];
    tenants.add_row({quoted_for_message(tenant.name),
                     report::grouped_text(tenant.rate_rps, 1),
                     report::grouped_text(answer.plan.served_rps[i], 1),
                     report::grouped_text(serve::capacity_of(tenant, counts), 1),
                     detail == FleetDetail::kInstances
                         ? instances_text(lattice, counts)
                         : operating_points_text(lattice, answer.input->tenants[i], counts)});
  }
  report::Table layouts({{"LAYOUT"}, {"GPUS", Align::kRight}});
  for (const serve::LayoutCount& count : answer.plan.layouts) {
    const auto& multiset = lattice.multisets()[static_cast<std::size_t>(count.multiset)];
    layouts.add_row({instances_text(lattice, multiset.counts), std::to_string(count.gpus)});
  }
  std::string text = tenants.text() + "\n" + layouts.text();
  const serve::SizeTable<int> spare = spare_instances(answer);
  if (std::ranges::any_of(spare, [](int count) { return count > 0; })) {
    text += fmt::format("spare: {}\n", instances_text(lattice, spare));
  }
  return text;
}

double goodput_gap(double value, double bound) {
  return value > 0 ? std::max(0.0, (bound - value) / value) : 0.0;
}

}  // namespace septule::app
