#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/partition.hpp"
#include "report/number_text.hpp"
#include "report/table.hpp"
#include "septule/serve_fleet_view.hpp"
#include "septule/serve_window.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;
using report::Align;

/// A stretch of steps in which one GPU keeps its layout.
struct Stretch {
  int from = 0;
  int to = 0;
  const serve::LabelledLayout* layout = nullptr;
};

std::vector<Stretch> stretches_of(const serve::GoodputPlan& plan) {
  std::vector<Stretch> stretches;
  for (std::size_t step = 0; step < plan.layouts.size(); ++step) {
    const int at = static_cast<int>(step);
    if (!stretches.empty() && *stretches.back().layout == plan.layouts[step]) {
      stretches.back().to = at + 1;
    } else {
      stretches.push_back({at, at + 1, &plan.layouts[step]});
    }
  }
  return stretches;
}

double seconds_of(const serve::GoodputProblem& problem, int step) {
  return problem.step.to_seconds() * step;
}

Json instance_document(const serve::GoodputProblem& problem,
                       const serve::LabelledInstance& instance) {
  const auto& placement =
      problem.lattice->placements()[static_cast<std::size_t>(instance.placement)];
  const serve::Label& label = problem.labels[static_cast<std::size_t>(instance.label)];
  Json tenants = Json::array();
  for (const serve::Label::Output& output : label.serves) {
    tenants.push_back(problem.tenants[static_cast<std::size_t>(output.tenant)].name);
  }
  if (label.retrains) {
    tenants.push_back(problem.tenants[static_cast<std::size_t>(*label.retrains)].name);
  }
  return {{"instance", gpu::placed_text(problem.lattice->geometry(), placement.placed)},
          {"tenants", std::move(tenants)},
          {"role", label.retrains ? "retrain" : "serve"},
          {"warm_up_s", seconds_of(problem, label.warm_up_steps)}};
}

Json gpu_document(const WindowPlan& gpu) {
  Json layouts = Json::array();
  for (const Stretch& stretch : stretches_of(gpu.plan)) {
    Json instances = Json::array();
    for (const serve::LabelledInstance& instance : *stretch.layout) {
      instances.push_back(instance_document(gpu.problem, instance));
    }
    layouts.push_back({{"begin_s", seconds_of(gpu.problem, stretch.from)},
                       {"end_s", seconds_of(gpu.problem, stretch.to)},
                       {"instances", std::move(instances)}});
  }
  return {{"gpu", gpu.index.value()},
          {"method", gpu.plan.method},
          {"goodput", gpu.plan.goodput},
          {"objective", gpu.plan.objective},
          {"bound", gpu.plan.bound},
          {"gap", goodput_gap(gpu.plan.objective, gpu.plan.bound)},
          {"optimal", gpu.plan.proof == serve::GoodputProof::kOptimal},
          {"work_units", gpu.plan.units_spent},
          {"created", gpu.judgement.creations},
          {"layouts", std::move(layouts)}};
}

/// When the retrained model of a tenant answers, seconds; nothing = it does not in this window.
std::optional<double> retrained_s(const ServePlan& plan, int tenant) {
  for (const WindowPlan& gpu : plan.gpus) {
    for (std::size_t i = 0; i < gpu.tenants.size(); ++i) {
      const std::optional<int> from = gpu.judgement.retrained_from[i];
      if (gpu.tenants[i] == tenant && from) {
        return seconds_of(gpu.problem, *from);
      }
    }
  }
  return std::nullopt;
}

double solve_s(const ServePlan& plan) {
  double sum = 0;
  for (const WindowPlan& gpu : plan.gpus) {
    sum += gpu.solve_time.to_seconds();
  }
  return sum;
}

std::string retrained_text(const ServePlan& plan, int tenant) {
  if (!plan.input->tenants[static_cast<std::size_t>(tenant)].tenant.retraining) {
    return "-";
  }
  const std::optional<double> at = retrained_s(plan, tenant);
  return at ? fmt::format("{:g} s", *at) : "no";
}

std::string tenants_text(const ServePlan& plan, const job::ServingRecord& record) {
  report::Table table({{"TENANT"},
                       {"REQUESTS", Align::kRight},
                       {"WITHIN SLO", Align::kRight},
                       {"ACCURACY", Align::kRight},
                       {"GOODPUT", Align::kRight},
                       {"RETRAINED AT", Align::kRight}});
  for (std::size_t i = 0; i < record.tenants.size(); ++i) {
    const job::ServingTenantRecord& tenant = record.tenants[i];
    const auto share = [](double part, double whole) {
      return whole > 0 ? report::fixed_text(100 * part / whole, 2) + " %" : std::string("N/A");
    };
    table.add_row({quoted_for_message(tenant.name),
                   report::grouped_text(tenant.arrived, 0),
                   share(tenant.in_slo, tenant.arrived),
                   share(tenant.goodput, tenant.in_slo),
                   report::grouped_text(tenant.goodput, 1),
                   retrained_text(plan, static_cast<int>(i))});
  }
  return table.text();
}

/// Lines of a GPU's layouts at most; the JSON form has all.
constexpr std::size_t kStretchesMax = 24;

std::string layouts_text(const WindowPlan& gpu) {
  report::Table table({{"FROM s", Align::kRight},
                       {"TO s", Align::kRight},
                       {fmt::format("GPU {}", gpu.index.value())}});
  const std::vector<Stretch> stretches = stretches_of(gpu.plan);
  for (std::size_t i = 0; i < std::min(stretches.size(), kStretchesMax); ++i) {
    table.add_row({fmt::format("{:g}", seconds_of(gpu.problem, stretches[i].from)),
                   fmt::format("{:g}", seconds_of(gpu.problem, stretches[i].to)),
                   labelled_text(gpu.problem, *stretches[i].layout)});
  }
  std::string text = table.text();
  if (stretches.size() > kStretchesMax) {
    text += fmt::format("... and {} more layouts (-o json lists all)\n",
                        stretches.size() - kStretchesMax);
  }
  return text;
}

std::string methods_text(const ServePlan& plan) {
  std::vector<std::string> methods;
  for (const WindowPlan& gpu : plan.gpus) {
    if (std::ranges::find(methods, gpu.plan.method) == methods.end()) {
      methods.emplace_back(gpu.plan.method);
    }
  }
  return joined_with_and(methods);
}

std::string quality_text(const ServePlan& plan) {
  const double terminal = plan.objective() - plan.goodput();
  std::string text = fmt::format(
      "goodput {} by {}{}\n",
      report::grouped_text(plan.goodput(), 1),
      methods_text(plan),
      terminal > 0 ? fmt::format(", and {} beyond the window", report::grouped_text(terminal, 1))
                   : "");
  const char* split = plan.gpus.size() > 1 ? " with the tenants on these GPUs" : "";
  text += plan.is_optimal()
              ? fmt::format("proven best{}: no plan has more than {} (gap 0 %)\n",
                            split,
                            report::grouped_text(plan.bound(), 1))
              : fmt::format("no plan{} has more than {}: gap {:.3f} %, not proven best\n",
                            split,
                            report::grouped_text(plan.bound(), 1),
                            100 * goodput_gap(plan.objective(), plan.bound()));
  if (plan.fleet_bound) {
    text += fmt::format("however they are dealt out, none has more than {}: gap {:.3f} %\n",
                        report::grouped_text(*plan.fleet_bound, 1),
                        100 * goodput_gap(plan.objective(), *plan.fleet_bound));
  }
  return text;
}

std::string escaped_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string metric(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

}  // namespace

Json serve_plan_document(const ServePlan& plan) {
  const job::ServingRecord record = record_of(plan);
  const serve::GoodputProblem& first = plan.gpus.front().problem;
  Json document{{"schema", "septule-serve-plan/1"},
                {"gpu", plan.input->geometry->key()},
                {"gpu_count", plan.gpu_count},
                {"mode", plan.mode},
                {"step_s", first.step.to_seconds()},
                {"steps", first.step_count},
                {"goodput", plan.goodput()},
                {"objective", plan.objective()},
                {"bound", plan.bound()},
                {"gap", goodput_gap(plan.objective(), plan.bound())},
                {"optimal", plan.is_optimal()},
                {"fleet_bound", plan.fleet_bound ? Json(*plan.fleet_bound) : Json(nullptr)},
                {"moves", record.moves},
                {"timing", {{"solve_s", solve_s(plan)}}}};
  Json tenants = Json::array();
  for (std::size_t i = 0; i < record.tenants.size(); ++i) {
    const job::ServingTenantRecord& tenant = record.tenants[i];
    const std::optional<double> retrained = retrained_s(plan, static_cast<int>(i));
    tenants.push_back({{"name", tenant.name},
                       {"arrived", tenant.arrived},
                       {"in_slo", tenant.in_slo},
                       {"goodput", tenant.goodput},
                       {"retrained_s", retrained ? Json(*retrained) : Json(nullptr)}});
  }
  document["tenants"] = std::move(tenants);
  Json gpus = Json::array();
  for (const WindowPlan& gpu : plan.gpus) {
    gpus.push_back(gpu_document(gpu));
  }
  document["gpus"] = std::move(gpus);
  return document;
}

std::string serve_plan_text(const ServePlan& plan) {
  const job::ServingRecord record = record_of(plan);
  std::string text = tenants_text(plan, record);
  for (const WindowPlan& gpu : plan.gpus) {
    text += "\n" + layouts_text(gpu);
  }
  text += "\n" + quality_text(plan);
  const auto idle = static_cast<std::size_t>(plan.gpu_count) - plan.gpus.size();
  if (idle > 0) {
    text += fmt::format("{} GPU{} not needed\n", idle, idle == 1 ? " is" : "s are");
  }
  return text + fmt::format("{} instance{} created\n", record.moves, record.moves == 1 ? "" : "s");
}

std::string serve_plan_metrics(const ServePlan& plan) {
  const job::ServingRecord record = record_of(plan);
  std::string text =
      metric("septule_serve_plan_goodput", "Requests within SLO x accuracy x weight, planned.");
  text += fmt::format("septule_serve_plan_goodput {}\n", plan.goodput());
  text += metric("septule_serve_plan_bound", "No plan has a greater objective.");
  text += fmt::format("septule_serve_plan_bound {}\n", plan.bound());
  text += metric("septule_serve_plan_gap", "(bound - objective) / objective.");
  text += fmt::format("septule_serve_plan_gap {}\n", goodput_gap(plan.objective(), plan.bound()));
  text += metric("septule_serve_plan_requests", "Requests expected in the window.");
  for (const job::ServingTenantRecord& tenant : record.tenants) {
    text += fmt::format("septule_serve_plan_requests{{tenant=\"{}\"}} {}\n",
                        escaped_label(tenant.name),
                        tenant.arrived);
  }
  text += metric("septule_serve_plan_served", "Requests planned to be answered within the SLO.");
  for (const job::ServingTenantRecord& tenant : record.tenants) {
    text += fmt::format("septule_serve_plan_served{{tenant=\"{}\"}} {}\n",
                        escaped_label(tenant.name),
                        tenant.in_slo);
  }
  text += metric("septule_serve_plan_instance", "1 = the instance is there in the first step.");
  for (const WindowPlan& gpu : plan.gpus) {
    for (const serve::LabelledInstance& instance : gpu.plan.layouts.front()) {
      const Json one = instance_document(gpu.problem, instance);
      text += fmt::format(
          "septule_serve_plan_instance{{gpu=\"{}\",instance=\"{}\",tenant=\"{}\",role=\"{}\"}} 1\n",
          gpu.index.value(),
          one["instance"].get<std::string>(),
          escaped_label(one["tenants"].front().get<std::string>()),
          one["role"].get<std::string>());
    }
  }
  return text;
}

}  // namespace septule::app
