#include "sched/policies/miso.hpp"

#include "sched/policies/repartitioning.hpp"

namespace septule::sched {

std::unique_ptr<Policy> make_miso(const PolicySetup& setup) {
  return std::make_unique<RepartitioningPolicy>(
      RepartitioningPolicy::Options{
          .name = "miso",
          .choice = PartitionChoice::kPaperTable,
          .unknown_jobs = RepartitioningPolicy::UnknownJobs::kCharacterise},
      setup);
}

std::unique_ptr<Policy> make_miso_wide(const PolicySetup& setup) {
  return std::make_unique<RepartitioningPolicy>(
      RepartitioningPolicy::Options{
          .name = "miso-wide",
          .choice = PartitionChoice::kEverything,
          .unknown_jobs = RepartitioningPolicy::UnknownJobs::kCharacterise},
      setup);
}

}  // namespace septule::sched
