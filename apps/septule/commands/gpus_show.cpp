// septule gpus show MODEL: profiles, placements and layouts of one model.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/layout_drawing.hpp"
#include "report/table.hpp"
#include "septule/app.hpp"
#include "septule/gpu_document.hpp"

namespace septule::app {

namespace {

std::string_view mark_of(const gpu::GpuInstanceProfile& profile, std::string_view field) {
  return profile.is_verified(field) ? "" : "~";
}

std::string figure_text(const std::optional<int>& figure, std::string_view mark) {
  return figure ? fmt::format("{}{}", *figure, mark) : "N/A";
}

std::string placements_text(const gpu::GpuInstanceProfile& profile) {
  std::vector<int> starts;
  for (const gpu::Placement& place : profile.placements) {
    starts.push_back(place.start.value());
  }
  return fmt::format("{{{}}}:{}{}",
                     fmt::join(starts, ","),
                     profile.size().value(),
                     mark_of(profile, "placements"));
}

std::string facts_text(const gpu::Geometry& geometry) {
  const gpu::GpuFacts& facts = geometry.facts();
  const auto is_inferred = [&](std::string_view field) {
    return std::ranges::find(facts.unverified, field) != facts.unverified.end() ? "~" : "";
  };
  std::string text = fmt::format("{}  ({}, {}, compute capability {})\n",
                                 facts.key,
                                 facts.architecture,
                                 facts.chip,
                                 facts.compute_capability);
  text += fmt::format(
      "boards      {}\n",
      facts.board_names.empty() ? "N/A" : fmt::format("{}", fmt::join(facts.board_names, "; ")));
  text +=
      fmt::format("PCI ids     {}{}{}\n",
                  facts.pci_ids.empty() ? "N/A" : fmt::format("{}", fmt::join(facts.pci_ids, " ")),
                  is_inferred("pci_ids"),
                  facts.pci_note.empty() ? "" : fmt::format(" ({})", facts.pci_note));
  text += fmt::format("slices      {}{} compute, {}{} memory; at most {} instances\n",
                      facts.compute_slices ? std::to_string(facts.compute_slices->value()) : "N/A",
                      is_inferred("compute_slices"),
                      facts.memory_slices ? std::to_string(facts.memory_slices->value()) : "N/A",
                      is_inferred("memory_slices"),
                      figure_text(facts.instances_max, is_inferred("instances_max")));
  text += fmt::format("memory      {} GB; SMs {} of {} with MIG on\n",
                      figure_text(facts.memory_gb, ""),
                      figure_text(facts.sm_with_mig, is_inferred("sm_with_mig")),
                      figure_text(facts.sm_total, is_inferred("sm_total")));
  const gpu::EngineCounts& budget = geometry.engine_budget();
  text += fmt::format("engines     {} DEC, {} ENC, {} JPEG, {} OFA\n",
                      figure_text(budget[0], ""),
                      figure_text(budget[1], ""),
                      figure_text(budget[2], ""),
                      figure_text(budget[3], ""));
  text += fmt::format("driver      {}; MIG mode change needs {} GPU reset, {} a reboot\n",
                      facts.min_driver.empty() ? "N/A" : facts.min_driver + " or later",
                      facts.toggle_needs_reset ? "a" : "no",
                      facts.mode_survives_reboot ? "survives" : "does not survive");
  text += fmt::format("evidence    {}\n", gpu::evidence_name(facts.evidence));
  return text;
}

std::string profiles_text(const gpu::Geometry& geometry) {
  constexpr auto kRight = report::Align::kRight;
  report::Table table({{"NAME"},
                       {"ID", kRight},
                       {"MAX", kRight},
                       {"GiB", kRight},
                       {"SM", kRight},
                       {"CE", kRight},
                       {"DEC", kRight},
                       {"ENC", kRight},
                       {"JPEG", kRight},
                       {"OFA", kRight},
                       {"P2P"},
                       {"PLACEMENTS"},
                       {"EVIDENCE"}});
  for (const gpu::GpuInstanceProfile& profile : geometry.profiles()) {
    const auto engine = [&](gpu::Engine which) {
      const std::string name(gpu::engine_name(which));
      const bool is_inferred = !profile.is_verified(name) || !profile.is_verified("engines");
      return figure_text(profile.engines[static_cast<std::size_t>(which)], is_inferred ? "~" : "");
    };
    table.add_row({profile.name,
                   figure_text(profile.smi_id.value(), mark_of(profile, "smi_id")),
                   std::to_string(profile.instances_max),
                   gibibytes_text(profile.memory, mark_of(profile, "memory_mib")),
                   figure_text(profile.sm_count, mark_of(profile, "sm")),
                   figure_text(profile.copy_engine_count, mark_of(profile, "copy_engines")),
                   engine(gpu::Engine::kDecoder),
                   engine(gpu::Engine::kEncoder),
                   engine(gpu::Engine::kJpeg),
                   engine(gpu::Engine::kOpticalFlow),
                   profile.has_peer_to_peer ? "Yes" : "No",
                   placements_text(profile),
                   std::string(gpu::evidence_name(profile.evidence))});
  }
  return "\nGPU-instance profiles (ID as in nvidia-smi; placements {starts}:size in memory slices; "
         "~ inferred)\n" +
         table.text();
}

std::string layouts_text(const gpu::Geometry& geometry, gpu::ProfileSet set) {
  const auto layouts = gpu::maximal_layouts(geometry, set);
  std::string text =
      fmt::format("\nMaximal layouts, profile set {} ({}; {} legal layouts in all)\n",
                  gpu::profile_set_name(set),
                  layouts.size(),
                  gpu::count_layouts(geometry, set).value_or(gpu::LayoutCounts()).legal);
  text += fmt::format("     {}\n", report::slice_ruler(geometry));
  const auto width = static_cast<std::size_t>(geometry.memory_slices().value()) * 5;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    std::vector<std::string> places;
    for (const gpu::PlacedProfile& placed : layouts[i]) {
      places.push_back(gpu::placed_text(geometry, placed));
    }
    text += fmt::format("{:>3}  {:<{}}  {}\n",
                        i + 1,
                        report::draw_layout(geometry, layouts[i]),
                        width,
                        fmt::join(places, ","));
  }
  return text;
}

std::string wide_text(const gpu::Geometry& geometry) {
  report::Table names({{"NAME"},
                       {"ALSO CALLED"},
                       {"NVML PROFILE"},
                       {"OTHER GiB SEEN"},
                       {"INFERRED"},
                       {"SOURCES"},
                       {"NOTE"}});
  for (const gpu::GpuInstanceProfile& profile : geometry.profiles()) {
    std::vector<std::string> other;
    for (const Bytes memory : profile.memory_other_drivers) {
      other.push_back(gibibytes_text(memory, ""));
    }
    names.add_row({profile.name,
                   fmt::format("{}", fmt::join(profile.aliases, " ")),
                   profile.nvml_name,
                   fmt::format("{}", fmt::join(other, " ")),
                   fmt::format("{}", fmt::join(profile.unverified, " ")),
                   fmt::format("{}", fmt::join(profile.sources, " ")),
                   profile.note});
  }
  std::string text = "\nNames and sources\n" + names.text();
  report::Table compute({{"IN"},
                         {"NAME"},
                         {"ID", report::Align::kRight},
                         {"MAX", report::Align::kRight},
                         {"SM", report::Align::kRight},
                         {"PLACEMENTS"}});
  for (const auto& [slices, rows] : geometry.compute_profile_table().by_gpu_instance_slices) {
    for (const gpu::ComputeInstanceProfile& row : rows) {
      std::vector<int> starts;
      for (const gpu::ComputePlacement& place : row.placements) {
        starts.push_back(place.start.value());
      }
      compute.add_row({fmt::format("{}g", slices.value()),
                       row.slices == slices
                           ? fmt::format("{}g (full)", slices.value())
                           : fmt::format("{}c.{}g", row.slices.value(), slices.value()),
                       std::to_string(row.smi_id.value()),
                       std::to_string(row.instances_max),
                       figure_text(row.sm_count, ""),
                       fmt::format("{{{}}}:{}", fmt::join(starts, ","), row.slices.value())});
    }
  }
  text +=
      fmt::format("\nCompute-instance profiles (placements in compute slices; evidence: {})\n{}",
                  gpu::evidence_name(geometry.compute_profile_table().evidence),
                  compute.text());
  for (const std::string& note : geometry.facts().notes) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

std::string people_text(const gpu::Geometry& geometry, gpu::ProfileSet set, bool is_wide) {
  std::string text = facts_text(geometry);
  if (!geometry.has_profile_table()) {
    return text + "profiles    N/A (no table has been published)\nlayouts     N/A\n";
  }
  text += profiles_text(geometry);
  if (is_wide) {
    text += wide_text(geometry);
  }
  return text + layouts_text(geometry, set);
}

Result<int> run_gpus_show(const Invocation& invocation, Context& context) {
  SEPTULE_TRY(const gpu::Geometry* geometry, context.catalogue.find(invocation.text("MODEL")));
  const gpu::ProfileSet set = profile_set_option(invocation);
  SEPTULE_TRY_STATUS(context.output.emit(gpu_document(*geometry, set), [&] {
    return people_text(*geometry, set, context.output.is_wide());
  }));
  if (!geometry->has_profile_table()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no profile table of {} has been published: its layouts are N/A",
                             geometry->key())};
  }
  return 0;
}

}  // namespace

Command gpus_show_command() {
  return {.record = {.path = {"gpus", "show"},
                     .summary = "show what one GPU model can be cut into",
                     .description =
                         {"Prints the profiles like `nvidia-smi mig -lgip`, their placements, and "
                          "every maximal layout with a drawing of its memory slices. A figure "
                          "marked ~ is inferred, N/A is not published; -o wide adds sources, other "
                          "names and the compute-instance profiles."},
                     .arguments = {{.name = "MODEL",
                                    .text = "Key, board name or PCI id of the GPU.",
                                    .is_required = true,
                                    .completion = CompletionKind::kGpuModel}},
                     .options = {output_option(),
                                 {.name = "profiles",
                                  .value = "SET",
                                  .text = "Which profiles the layouts are made of: plain (one per "
                                          "size), double (and double-memory), all.",
                                  .default_text = "plain",
                                  .choices = {"plain", "double", "all"}},
                                 verbose_option()},
                     .examples = {{"septule gpus show A100-40GB",
                                   "profiles and the 19 maximal layouts"},
                                  {"septule gpus show 0x20B010DE -o json",
                                   "the same by PCI id, for a program"}},
                     .exit_codes = {0, 1, 2, 4}},
          .run = run_gpus_show};
}

}  // namespace septule::app
