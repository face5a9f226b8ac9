#include "learn_train/window_source.hpp"

#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/rng.hpp"

namespace septule::learn_train {

Result<std::unique_ptr<WindowSource>> WindowSource::make(const gpu::SharingCatalogue& catalogue,
                                                         std::uint64_t seed) {
  SEPTULE_TRY(learn::PartitionSpace space, learn::PartitionSpace::make(catalogue));
  const predict::JobGenerator generator(*catalogue.geometry, seed);
  SEPTULE_TRY(std::vector<predict::GeneratedJob> pool, generator.pool(kPoolJobs, std::nullopt));
  return std::unique_ptr<WindowSource>(new WindowSource(std::move(space), std::move(pool), seed));
}

std::string WindowSource::digest() const {
  Digest digest;
  for (const predict::GeneratedJob& job : pool_) {
    digest.add(job.name);
    digest.add(job.memory.value());
    digest.add(static_cast<std::uint64_t>(job.traits.solo.to_nanoseconds()));
    for (const double figure : {job.law.law.serial, job.law.law.compute, job.law.law.memory}) {
      digest.add(std::bit_cast<std::uint64_t>(figure));
    }
  }
  return digest.text();
}

std::unique_ptr<TrainingWindow> WindowSource::window(predict::PoolPart part,
                                                     std::uint64_t number) const {
  Rng rng = Rng(seed_).stream(predict::pool_part_name(part), number);
  const auto drawn =
      predict::draw_window(pool_, {.part = part, .size = learn::kWindowRows, .of_class = {}}, rng);
  SEPTULE_CHECK(drawn.has_value(), "a fifth of the pool has more jobs than a window");
  std::unique_ptr<TrainingWindow> window(new TrainingWindow);
  std::vector<predict::LawJob> laws;
  for (const std::size_t index : *drawn) {
    const predict::GeneratedJob& job = pool_[index];
    laws.push_back(job.law);
    window->traits_.push_back(job.traits);
    window->jobs_.push_back(
        {.name = job.name, .user = {}, .trust = {}, .memory = job.memory, .solo = job.traits.solo});
  }
  const gpu::SharingCatalogue& catalogue = space_.catalogue();
  auto model = predict::LawCoRunModel::make(*catalogue.geometry, laws, catalogue.domains);
  SEPTULE_CHECK(model.has_value(), "generated jobs have valid laws");
  window->model_ = std::move(model).value();
  window->problem_ = {.jobs = window->jobs_,
                      .model = window->model_.get(),
                      .catalogue = &catalogue,
                      .traits = window->traits_};
  window->problem_.rules.mps_users = plan::SharingRules::Users::kAnyUsers;
  std::vector<std::size_t> all(window->jobs_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  window->rows_ = std::make_unique<learn::WindowRows>(space_, window->problem_, all);
  window->times_ = std::make_unique<learn::SeatingTimes>(space_, *window->rows_, 1024);
  return window;
}

}  // namespace septule::learn_train
