#include "septule/app.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::app {

Invocation::Invocation(const CommandRecord& command,
                       std::map<std::string, std::vector<std::string>> values)
    : command_(&command), values_(values.begin(), values.end()) {}

const OptionRecord* Invocation::record(std::string_view name) const {
  for (const auto* list : {&command_->options, &command_->arguments}) {
    const auto found = std::ranges::find(*list, name, &OptionRecord::name);
    if (found != list->end()) {
      return &*found;
    }
  }
  return nullptr;
}

bool Invocation::is_given(std::string_view name) const {
  SEPTULE_CHECK(record(name) != nullptr, "a command asks only for options it has a record of");
  return values_.find(name) != values_.end();
}

std::string Invocation::text(std::string_view name) const {
  const OptionRecord* option = record(name);
  SEPTULE_CHECK(option != nullptr, "a command asks only for options it has a record of");
  const auto found = values_.find(name);
  return found == values_.end() ? option->default_text : found->second.front();
}

double Invocation::number(std::string_view name) const {
  const std::optional<double> value = parse_number(text(name));
  SEPTULE_CHECK(value.has_value(), "a numeric option has a checked value or a numeric default");
  return *value;
}

OptionRecord output_option() {
  return {.name = "output",
          .short_name = 'o',
          .value = "FORMAT",
          .text = "How to print the result.",
          .default_text = "table",
          .choices = {"table", "wide", "json", "yaml"}};
}

OptionRecord verbose_option() {
  return {.name = "verbose", .short_name = 'v', .text = "Say more on standard error."};
}

OptionRecord gpu_option(std::string_view text) {
  return {.name = "gpu",
          .short_name = 'g',
          .value = "MODEL",
          .text = std::string(text),
          .completion = CompletionKind::kGpuModel};
}

OptionRecord state_option() {
  return {.name = "state",
          .short_name = 's',
          .value = "FILE",
          .text =
              "What exists on the node: a JSON inventory, or the pasted text of `nvidia-smi mig "
              "-lgi` and `-lci` (then with --gpu); - reads standard input.",
          .completion = CompletionKind::kFile};
}

OptionRecord config_option() {
  return {.name = "config",
          .short_name = 'c',
          .value = "NAME",
          .text = "Which named configuration of a mig-parted file to use."};
}

OptionRecord index_option() {
  return {.name = "index",
          .short_name = 'i',
          .value = "N",
          .text = "Only the GPU of this index.",
          .min = 0,
          .max = 63,
          .is_integer = true};
}

std::vector<OptionRecord> transition_arguments() {
  return {
      {.name = "FROM",
       .text = "What exists: a JSON inventory, pasted `nvidia-smi mig -lgi`/`-lci` output, or a "
               "layout (taken as idle); - for standard input.",
       .is_required = true,
       .completion = CompletionKind::kFile},
      {.name = "TO",
       .text = "What should be: a layout, a mig-parted file, a JSON inventory, or the JSON output "
               "of plan or defrag.",
       .is_required = true,
       .completion = CompletionKind::kFile}};
}

gpu::ProfileSet profile_set_option(const Invocation& invocation) {
  return checked_value(gpu::parse_profile_set(invocation.text("profiles")),
                       "the choices of --profiles are the profile sets");
}

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kFailed:
      return 1;
    case ErrorCode::kUsage:
      return 2;
    case ErrorCode::kInvalidInput:
      return 3;
    case ErrorCode::kNotFound:
      return 4;
    case ErrorCode::kBlocked:
      return 5;
    case ErrorCode::kRefused:
      return 6;
    case ErrorCode::kTimedOut:
      return 7;
    case ErrorCode::kPartlyDone:
      return 8;
  }
  check_failed("code", "an ErrorCode is one of the enumerators", __FILE__, __LINE__);
}

std::string_view version() {
  return SEPTULE_VERSION;
}

}  // namespace septule::app
