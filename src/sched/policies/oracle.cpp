#include "sched/policies/oracle.hpp"

#include "sched/policies/repartitioning.hpp"

namespace septule::sched {

namespace {

std::unique_ptr<Policy> make(std::string_view name,
                             PartitionChoice choice,
                             const PolicySetup& setup) {
  return std::make_unique<RepartitioningPolicy>(
      RepartitioningPolicy::Options{.name = name,
                                    .choice = choice,
                                    .unknown_jobs = RepartitioningPolicy::UnknownJobs::kAssume},
      setup);
}

}  // namespace

std::unique_ptr<Policy> make_oracle(const PolicySetup& setup) {
  return make("oracle", PartitionChoice::kPaperTable, setup);
}

std::unique_ptr<Policy> make_oracle_free(const PolicySetup& setup) {
  return make("oracle-free", PartitionChoice::kPaperTable, setup);
}

std::unique_ptr<Policy> make_oracle_wide(const PolicySetup& setup) {
  return make("oracle-wide", PartitionChoice::kEverything, setup);
}

std::unique_ptr<Policy> make_oracle_wide_free(const PolicySetup& setup) {
  return make("oracle-wide-free", PartitionChoice::kEverything, setup);
}

}  // namespace septule::sched
