#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/sharing_template.hpp"
#include "interop/window_table.hpp"
#include "plan/window.hpp"
#include "predict/job_traits.hpp"
#include "predict/law_co_run.hpp"
#include "predict/signature_model.hpp"

namespace septule::app {

/// A window's jobs as optimizers take them. What `model` and `traits` were made of lives here too.
struct WindowJobs {
  std::vector<plan::WindowJob> jobs;
  std::vector<predict::JobTraits> traits;
  std::unique_ptr<predict::LawCoRunModel> model;
  std::vector<std::string> notes;  ///< what a person should know of how speeds were come by
  std::vector<std::unique_ptr<predict::SignatureModel>> signatures;
};

/// From rows to a co-run model.
/// - Speeds stated: a signature model fitted to them; where the job is alone on a profile the
/// stated
///   speed holds, and where none is stated it does not fit.
/// - No speeds, but `w` or a share: the job obeys that law.
/// - Neither: the belief from its one time, by the priors of its kind.
/// Without stated memory a job without speeds has the whole GPU only.
/// Fails with kInvalidInput, naming the line and the job.
Result<WindowJobs> make_window_jobs(const interop::WindowTable& table,
                                    const gpu::SharingCatalogue& catalogue,
                                    const std::string& source_name);

}  // namespace septule::app
