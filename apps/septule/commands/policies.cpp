// septule policies: the scheduling policies there are.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "sched/policy_registry.hpp"
#include "septule/app.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

std::string_view knowledge_name(predict::Knowledge knowledge) {
  switch (knowledge) {
    case predict::Knowledge::kEverything:
      return "everything";
    case predict::Knowledge::kPerJob:
      return "per-job";
    case predict::Knowledge::kPerSignature:
      return "per-signature";
  }
  return "";
}

Result<int> run_policies(const Invocation& /*invocation*/, Context& context) {
  Json document{{"schema", "septule-policies/1"}, {"policies", Json::array()}};
  report::Table table({{"POLICY"}, {"SUMMARY"}});
  for (const sched::PolicyVariant& variant : sched::policy_variants()) {
    table.add_row({std::string(variant.name), std::string(variant.summary)});
    document["policies"].push_back({{"name", variant.name},
                                    {"summary", variant.summary},
                                    {"knowledge", knowledge_name(variant.knowledge)},
                                    {"has_error", variant.has_error},
                                    {"is_free", variant.is_free},
                                    {"begins_whole", variant.begins_whole},
                                    {"needs_layout", variant.needs_layout}});
  }
  SEPTULE_TRY_STATUS(context.output.emit(document, [&] { return table.text(); }));
  return 0;
}

}  // namespace

Command policies_command() {
  return {.record = {.path = {"policies"},
                     .summary = "list the scheduling policies of simulate",
                     .description = {"What each assumes and where it comes from is in "
                                     "docs/policies.md."},
                     .options = {output_option(), verbose_option()},
                     .examples = {{"septule policies", "names and summaries"},
                                  {"septule policies -o json", "for a program"}},
                     .exit_codes = {0, 1, 2}},
          .run = run_policies};
}

}  // namespace septule::app
