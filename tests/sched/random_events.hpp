#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include "sched/repartitioning_loop.hpp"
#include "support/policy_loop.hpp"

// What happens to the GPUs and jobs of a PhaseLoop at random, and how it ends.
namespace septule::test {

/// One in so many placed jobs, at each draw.
struct JobOdds {
  int ends = 5;
  int changes_speed = 10;  ///< of those that do not end
};

/// Ends, changes of speed, trouble, phases and time, drawn.
inline void happen_at_random(PhaseLoop& loop, Draws& draws, const JobOdds& odds) {
  for (const job::JobId job : loop.jobs_in(sched::JobView::State::kPlaced)) {
    if (draws.number(odds.ends) == 0) {
      loop.end(job);
    } else if (draws.number(odds.changes_speed) == 0 && loop.view().job(job).spec->gpus == 1) {
      loop.happened(sched::JobSpeedChanged{
          .job = job, .gpu = loop.gpu_of(job), .factor = 0.5 + 0.1 * draws.number(10)});
    }
  }
  for (int gpu = 0; gpu < loop.view().gpu_count(); ++gpu) {
    if (draws.number(40) == 0) {
      loop.happened(sched::GpuTroubled{GpuId(gpu)});
    } else if (draws.number(3) != 0) {
      loop.proceed(GpuId(gpu));
    }
  }
  if (draws.number(4) == 0) {
    loop.happened(sched::WokeUp{});
  }
  loop.advance(Duration::milliseconds(1000LL * (1 + draws.number(60))));
}

/// Without further arrivals all jobs get their turn and end.
inline void expect_all_end(PhaseLoop& loop) {
  for (std::size_t round = 0; round < loop.job_count() + 100; ++round) {
    loop.advance(Duration::milliseconds(100000));
    loop.happened(sched::WokeUp{});
    loop.settle();
    for (const job::JobId job : loop.jobs_in(sched::JobView::State::kPlaced)) {
      loop.end(job);
    }
  }
  ASSERT_EQ(loop.jobs_in(sched::JobView::State::kEnded).size(), loop.job_count());
}

/// Goal by goal, order included.
inline void expect_equal_goals(const sched::Decisions& left, const sched::Decisions& right) {
  ASSERT_EQ(left.goals.size(), right.goals.size());
  for (std::size_t i = 0; i < left.goals.size(); ++i) {
    ASSERT_EQ(left.goals[i].gpu, right.goals[i].gpu);
    ASSERT_EQ(left.goals[i].goal, right.goals[i].goal);
  }
}

}  // namespace septule::test
