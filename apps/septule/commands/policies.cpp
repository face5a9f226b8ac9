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

std::string_view knowledge_text(predict::Knowledge knowledge) {
  switch (knowledge) {
    case predict::Knowledge::kEverything:
      return "all true speeds, from the start";
    case predict::Knowledge::kPerJob:
      return "nothing of a job until it was in a characterisation run, if the policy makes any";
    case predict::Knowledge::kPerSignature:
      return "what characterisation runs have shown of each kind of job, for later ones too";
  }
  return "";
}

Json policy_document(const sched::PolicyVariant& variant) {
  return {{"name", variant.name},
          {"summary", variant.summary},
          {"knowledge", knowledge_name(variant.knowledge)},
          {"has_error", variant.has_error},
          {"is_free", variant.is_free},
          {"begins_whole", variant.begins_whole},
          {"needs_layout", variant.needs_layout}};
}

std::string policy_text(const sched::PolicyVariant& variant) {
  return fmt::format(
      "{}: {}\n\n"
      "knows           {}\n"
      "error           {}\n"
      "changes         {}\n"
      "GPUs begin      {}\n"
      "layout          {}\n\n"
      "Rule, assumptions and source: docs/policies.md.\n",
      variant.name,
      variant.summary,
      knowledge_text(variant.knowledge),
      variant.has_error ? "--error-mean and --error-sd, on each speed that it predicts" : "none",
      variant.is_free ? "cost no time"
                      : "cost checkpoints, re-cuts and restarts, where it makes any",
      variant.begins_whole ? "whole, with MIG off" : "with MIG on",
      variant.needs_layout ? "one for the whole run, chosen or by --layout" : "none of its own");
}

Result<int> run_policies(const Invocation& invocation, Context& context) {
  Json document{{"schema", "septule-policies/1"}, {"policies", Json::array()}};
  if (const std::string name = invocation.text("NAME"); !name.empty()) {
    SEPTULE_TRY(const sched::PolicyVariant* variant, sched::find_policy(name));
    document["policies"].push_back(policy_document(*variant));
    SEPTULE_TRY_STATUS(context.output.emit(document, [&] { return policy_text(*variant); }));
    return 0;
  }
  report::Table table({{"POLICY"}, {"SUMMARY"}});
  for (const sched::PolicyVariant& variant : sched::policy_variants()) {
    table.add_row({std::string(variant.name), std::string(variant.summary)});
    document["policies"].push_back(policy_document(variant));
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
                     .arguments = {{.name = "NAME", .text = "One policy, in detail."}},
                     .options = {output_option(), verbose_option()},
                     .examples = {{"septule policies", "names and summaries"},
                                  {"septule policies miso", "what one of them knows"},
                                  {"septule policies -o json", "for a program"}},
                     .exit_codes = {0, 1, 2, 4}},
          .run = run_policies};
}

}  // namespace septule::app
