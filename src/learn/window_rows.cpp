#include "learn/window_rows.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "predict/interference_model.hpp"
#include "predict/speed_book.hpp"

namespace septule::learn {
namespace {

/// Stands for what is not known of a job: medians over the kinds of jobs (performance-model.md 2).
struct TypicalJob {
  static constexpr float kUsable = 0.68F;
  static constexpr float kSerial = 0.12F;
  static constexpr float kMemory = 0.17F;
};

/// What a job adds to a good schedule's length, as a part of its solo time: least squares on exact
/// answers for sets of the training jobs' windows, times 1.15 [C]. Everything else is learned
/// without exact answers.
struct PriceWeights {
  static constexpr float kSolo = 0.313F;
  static constexpr float kArea = 0.250F;
  static constexpr float kUnknownKernel = 0.059F;  ///< no default MPS: fewer ways to share
  static constexpr float kMemory = -0.177F;
  static constexpr float kComputeUsed = 0.593F;  ///< of compute share x usable part
  static constexpr float kMemoryBusy = 0.439F;   ///< of memory share x busy part
  static constexpr float kBusy = 0.008F;
  static constexpr float kLength = 0.0138F;  ///< of solo time / mean of the window
};

constexpr std::array<float, kPlaces> kSlices = {7, 4, 3, 2, 1, 4, 3, 2, 1};

/// SMs and memory slices as parts of an A100's; other GPUs of its grid are near.
predict::Resources resources_of(Place place, std::optional<ActiveThreadPercentage> atp) {
  predict::Resources at;
  if (place != Place::kWhole) {
    const auto slices = static_cast<double>(kSlices[static_cast<std::size_t>(place)]);
    at.compute = slices * 14 / 108;
    at.bandwidth = is_compute_place(place) ? 1.0 : (slices > 2 ? 4.0 : slices) / 8;
  }
  at.compute *= atp.value_or(ActiveThreadPercentage(100)).value() / 100.0;
  return at;
}

/// The law that a job's traits say; notes the parts in the row.
predict::SoloLaw law_of(const predict::JobTraits& traits, Row& row) {
  row.usable = static_cast<float>(traits.usable.value_or(static_cast<double>(TypicalJob::kUsable)));
  row.serial =
      static_cast<float>(traits.serial_share.value_or(static_cast<double>(TypicalJob::kSerial)));
  row.memory_part = std::min(
      static_cast<float>(traits.memory_share.value_or(static_cast<double>(TypicalJob::kMemory))),
      1 - row.serial);
  row.knows_kernel = traits.kernel.has_value();
  return {.serial = static_cast<double>(row.serial),
          .compute = static_cast<double>(1 - row.serial - row.memory_part) *
                     std::min(1.0, static_cast<double>(row.usable)),
          .memory = static_cast<double>(row.memory_part),
          .usable = static_cast<double>(row.usable)};
}

float gibibytes(const std::optional<Bytes>& memory) {
  return memory.has_value() ? static_cast<float>(memory->to_gibibytes()) : 0;
}

}  // namespace

WindowRows::WindowRows(const PartitionSpace& space,
                       const optimize::WindowProblem& problem,
                       std::span<const std::size_t> jobs)
    : problem_(&problem) {
  SEPTULE_CHECK(jobs.size() <= kWindowRows, "a window of a network has at most twelve rows");
  std::array<std::size_t, kWindowRows> order{};
  std::ranges::copy(jobs, order.begin());
  const auto sorted = std::span(order).first(jobs.size());
  std::ranges::stable_sort(sorted, [&](std::size_t a, std::size_t b) {
    return problem.jobs[a].solo > problem.jobs[b].solo;
  });
  const gpu::Geometry& geometry = *space.catalogue().geometry;
  std::optional<Bytes> whole;
  for (std::size_t i = 0; i < geometry.profiles().size(); ++i) {
    whole = std::max(whole, predict::usable_memory(geometry, ProfileIndex(static_cast<int>(i))));
  }
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const PartitionSpace::ModelPlace& model = space.model_place(static_cast<Place>(place));
    memory_[place] =
        model.profile.has_value() ? predict::usable_memory(geometry, *model.profile) : whole;
    memory_gib_[place] = gibibytes(memory_[place]);
  }
  for (const std::size_t job : sorted) {
    Row& row = rows_[count_++];
    row.job = job;
    work_out(space, row);
    solo_sum_ += row.solo;
  }
  set_prices();
}

void WindowRows::work_out(const PartitionSpace& space, Row& row) {
  const plan::WindowJob& job = problem_->jobs[row.job];
  row.solo = static_cast<float>(job.solo.to_seconds());
  if (job.memory.has_value()) {
    row.memory_gib = gibibytes(job.memory);
  }
  const predict::SoloLaw law = law_of(problem_->traits[row.job], row);
  for (std::size_t kind = 0; kind < row.alone.size(); ++kind) {
    const SeatKind& seat = space.kinds()[kind];
    const PartitionSpace::ModelPlace& place = space.model_place(seat.place);
    double rate = 0;
    if (place.is_there) {
      const predict::CoRunClient client{
          .job = row.job, .compute = place.compute_index, .atp = seat.atp};
      problem_->model->rates(
          {.profile = place.profile, .compute = {place.compute.begin(), place.compute.end()}},
          {&client, 1},
          {&rate, 1});
    }
    if (!(rate > 0)) {
      // Not known, or not possible: a guess for what the network sees; no time comes of it.
      rate = law.step({}) / law.step(resources_of(seat.place, seat.atp));
    }
    row.alone[kind] = row.solo / static_cast<float>(rate);
  }
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const predict::Resources at = resources_of(static_cast<Place>(place), std::nullopt);
    const double busy = predict::interference_client(law.terms(at), predict::kKernelsUnknown).busy;
    row.busy[place] = static_cast<float>(busy) * row.alone[kind_of(static_cast<Place>(place), 0)];
  }
  float area = 1;
  for (const Place place : {Place::k4g, Place::k3g, Place::k2g, Place::k1g}) {
    if (row.memory_gib.value_or(0) <= memory_gib(place)) {
      area = std::min(
          area,
          kSlices[static_cast<std::size_t>(place)] / 7 * row.alone[kind_of(place, 0)] / row.solo);
    }
  }
  row.area = area * row.solo;
}

void WindowRows::set_prices() {
  for (std::size_t i = 0; i < count_; ++i) {
    Row& row = rows_[i];
    const float busy = row.busy[0] / row.solo;
    const float part =
        PriceWeights::kSolo + PriceWeights::kArea * row.area / row.solo +
        (row.knows_kernel ? 0 : PriceWeights::kUnknownKernel) +
        PriceWeights::kMemory * row.memory_part +
        PriceWeights::kComputeUsed * (1 - row.serial - row.memory_part) * row.usable +
        PriceWeights::kMemoryBusy * row.memory_part * busy + PriceWeights::kBusy * busy +
        PriceWeights::kLength * row.solo / solo_mean();
    row.price = part * row.solo;
  }
}

}  // namespace septule::learn
