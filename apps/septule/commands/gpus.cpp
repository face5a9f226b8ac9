// septule gpus: the GPU models of the catalogue.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "septule/app.hpp"
#include "septule/gpu_document.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

std::string count_text(const gpu::Geometry& geometry,
                       const std::optional<gpu::LayoutCounts>& counts,
                       bool is_maximal) {
  if (!counts) {
    return "N/A";
  }
  const bool is_verified =
      gpu::layouts_evidence(geometry, gpu::ProfileSet::kPlain) == gpu::Evidence::kVerified;
  return fmt::format("{}{}", is_maximal ? counts->maximal : counts->legal, is_verified ? "" : "~");
}

Result<int> run_gpus(const Invocation& /*invocation*/, Context& context) {
  Json document{{"schema", "septule-gpus/1"}, {"gpus", Json::array()}};
  report::Table table({{"KEY"},
                       {"ARCH"},
                       {"COMPUTE", report::Align::kRight},
                       {"MEMORY", report::Align::kRight},
                       {"PROFILES", report::Align::kRight},
                       {"MAXIMAL", report::Align::kRight},
                       {"LEGAL", report::Align::kRight},
                       {"EVIDENCE"}});
  report::Table wide({{"KEY"},
                      {"ARCH"},
                      {"CC"},
                      {"COMPUTE", report::Align::kRight},
                      {"MEMORY", report::Align::kRight},
                      {"PROFILES", report::Align::kRight},
                      {"MAXIMAL", report::Align::kRight},
                      {"LEGAL", report::Align::kRight},
                      {"EVIDENCE"},
                      {"MIN DRIVER"},
                      {"PCI IDS"},
                      {"BOARDS"}});
  for (const gpu::Geometry& geometry : context.catalogue.geometries()) {
    const gpu::GpuFacts& facts = geometry.facts();
    const auto counts = gpu::count_layouts(geometry, gpu::ProfileSet::kPlain);
    document["gpus"].push_back(gpu_summary(geometry));
    const std::string compute =
        facts.compute_slices ? std::to_string(facts.compute_slices->value()) : "N/A";
    const std::string memory =
        facts.memory_slices ? std::to_string(facts.memory_slices->value()) : "N/A";
    const std::string profiles =
        geometry.has_profile_table() ? std::to_string(geometry.profiles().size()) : "N/A";
    const std::string evidence(gpu::evidence_name(facts.evidence));
    table.add_row({geometry.key(),
                   facts.architecture,
                   compute,
                   memory,
                   profiles,
                   count_text(geometry, counts, true),
                   count_text(geometry, counts, false),
                   evidence});
    wide.add_row({geometry.key(),
                  facts.architecture,
                  facts.compute_capability,
                  compute,
                  memory,
                  profiles,
                  count_text(geometry, counts, true),
                  count_text(geometry, counts, false),
                  evidence,
                  facts.min_driver.empty() ? "N/A" : facts.min_driver,
                  facts.pci_ids.empty() ? "N/A" : fmt::format("{}", fmt::join(facts.pci_ids, " ")),
                  facts.board_names.empty()
                      ? "N/A"
                      : fmt::format("{}", fmt::join(facts.board_names, "; "))});
  }
  SEPTULE_TRY_STATUS(context.output.emit(
      document, [&] { return context.output.is_wide() ? wide.text() : table.text(); }));
  return 0;
}

}  // namespace

Command gpus_command() {
  return {
      .record =
          {.path = {"gpus"},
           .summary = "list the GPU models that can be planned for",
           .description =
               {"One line per model: compute and memory slices, number of profiles, "
                "maximal and legal layouts of the plain profiles, and how well the "
                "figures are founded. N/A: nobody has published it; ~: from inferred placements."},
           .options = {output_option(), verbose_option()},
           .examples = {{"septule gpus", "every model in one table"},
                        {"septule gpus -o wide", "with board names, PCI ids and drivers"}},
           .exit_codes = {0, 1, 2}},
      .run = run_gpus};
}

}  // namespace septule::app
