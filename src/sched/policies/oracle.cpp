#include "sched/policies/oracle.hpp"

#include "sched/policies/repartitioning.hpp"

namespace septule::sched {

std::unique_ptr<Policy> make_oracle(const PolicySetup& setup) {
  return std::make_unique<RepartitioningPolicy>(
      RepartitioningPolicy::Options{.name = "oracle",
                                    .choice = PartitionChoice::kPaperTable,
                                    .unknown_jobs = RepartitioningPolicy::UnknownJobs::kAssume},
      setup);
}

std::unique_ptr<Policy> make_oracle_wide(const PolicySetup& setup) {
  return std::make_unique<RepartitioningPolicy>(
      RepartitioningPolicy::Options{.name = "oracle-wide",
                                    .choice = PartitionChoice::kEverything,
                                    .unknown_jobs = RepartitioningPolicy::UnknownJobs::kAssume},
      setup);
}

}  // namespace septule::sched
