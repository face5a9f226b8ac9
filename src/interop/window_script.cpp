#include "interop/window_script.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/transition.hpp"
#include "interop/input_text.hpp"
#include "interop/nvidia_smi_commands.hpp"
#include "interop/nvidia_smi_script.hpp"
#include "interop/window_script_head.hpp"

namespace septule::interop {

namespace {

using plan::ScheduledInstance;
using plan::ScheduledRun;

/// What happens at one time, in this order.
enum class EventKind { kBarrier, kStopMps, kUnmake, kMake, kStartMps, kStart };

struct Event {
  SimTime at;
  EventKind kind = EventKind::kBarrier;
  std::size_t index = 0;  ///< of the group, MPS session, instance or run
};

/// An MPS daemon's life: it serves one compute instance.
struct Session {
  std::size_t instance = 0;
  int compute = 0;
  SimTime begin;
  SimTime end;
  std::vector<std::size_t> runs;
};

/// An MPS session by number as the script names it; "-" for none.
std::string session_text(const std::optional<std::size_t>& session) {
  return session.has_value() ? fmt::format("mps-{}", *session + 1) : "-";
}

/// A word for the shell, whatever is in it.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

bool overlap(const ScheduledRun& a, const ScheduledRun& b) {
  return a.begin() < b.end() && b.begin() < a.end();
}

/// Writes the script of one schedule.
class WindowScriptWriter {
 public:
  explicit WindowScriptWriter(const WindowScriptInput& input)
      : schedule_(input.schedule),
        jobs_(input.jobs),
        latencies_(input.latencies),
        now_(input.before),
        is_alive_(schedule_.instances.size(), false) {}

  Result<std::string> write() {
    for (const plan::WindowJob& job : jobs_) {
      if (job.name.find('/') != std::string::npos || job.name == "." || job.name == "..") {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("job {} cannot have a script: its program is the file of its "
                                 "name, which must not hold a \"/\"",
                                 quoted_for_message(job.name))};
      }
      // The script's word for "no user": such a job would run as whoever runs the script.
      if (job.user == "-") {
        return Error{
            ErrorCode::kInvalidInput,
            fmt::format("job {} cannot have a script: it would run as user \"-\", which is "
                        "no name of a user",
                        quoted_for_message(job.name))};
      }
    }
    find_sessions();
    const std::vector<Event> events = ordered_events();
    for (std::size_t i = 0; i < events.size();) {
      std::size_t end = i + 1;
      while (end < events.size() && events[end].at == events[i].at &&
             events[end].kind == events[i].kind) {
        ++end;
      }
      SEPTULE_TRY_STATUS(write_events(std::span(events).subspan(i, end - i)));
      i = end;
    }
    for (const ScheduledRun& run : schedule_.runs) {
      finish(run);
    }
    return whole_script();
  }

 private:
  std::string whole_script() const {
    std::string script(kScriptHead);
    script += kWindowScriptHead;
    script += fmt::format(
        "\n# Above are functions; here begins what is done: {} job{} on GPU {} ({}). By the plan "
        "it "
        "takes\n# {:.3f} s. Steps wait for each other and not for the clock.\nsteps={}\n\n",
        jobs_.size(),
        jobs_.size() == 1 ? "" : "s",
        now_.index.value(),
        now_.geometry->key(),
        schedule_.makespan.to_seconds(),
        steps_);
    for (const plan::WindowJob& job : jobs_) {
      script += fmt::format(
          "need_job {} {}\n", shell_word(job.name), job.user.empty() ? "-" : shell_word(job.user));
    }
    return script + "ready\n" + body_ + "\ndone_with_all\n";
  }

  void find_sessions() {
    std::vector<bool> is_taken(schedule_.runs.size(), false);
    session_of_.assign(schedule_.runs.size(), std::nullopt);
    for (std::size_t i = 0; i < schedule_.runs.size(); ++i) {
      if (is_taken[i]) {
        continue;
      }
      Session session = session_from(i, is_taken);
      if (!shares(session)) {
        continue;
      }
      sessions_.push_back(std::move(session));
    }
    std::ranges::sort(sessions_, [](const Session& a, const Session& b) {
      return std::tuple(a.begin, a.runs) < std::tuple(b.begin, b.runs);
    });
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      for (const std::size_t run : sessions_[i].runs) {
        session_of_[run] = i;
      }
    }
  }

  /// All runs in one compute instance, of one group where there are groups.
  Session session_from(std::size_t first, std::vector<bool>& is_taken) const {
    const ScheduledRun& one = schedule_.runs[first];
    Session session{.instance = one.instance,
                    .compute = one.compute,
                    .begin = one.begin(),
                    .end = one.end(),
                    .runs = {}};
    for (std::size_t i = first; i < schedule_.runs.size(); ++i) {
      const ScheduledRun& run = schedule_.runs[i];
      if (run.instance == one.instance && run.compute == one.compute &&
          group_of(run.job) == group_of(one.job)) {
        is_taken[i] = true;
        session.begin = std::min(session.begin, run.begin());
        session.end = std::max(session.end, run.end());
        session.runs.push_back(i);
      }
    }
    return session;
  }

  std::size_t group_of(std::size_t job) const {
    std::size_t group = 0;
    while (group < schedule_.groups.size() &&
           std::ranges::find(schedule_.groups[group].jobs, job) ==
               schedule_.groups[group].jobs.end()) {
      ++group;
    }
    return group;
  }

  bool shares(const Session& session) const {
    return std::ranges::any_of(session.runs, [&](std::size_t a) {
      return std::ranges::any_of(session.runs, [&](std::size_t b) {
        return a != b && overlap(schedule_.runs[a], schedule_.runs[b]);
      });
    });
  }

  bool has_several_users(const Session& session) const {
    return std::ranges::any_of(session.runs, [&](std::size_t a) {
      return std::ranges::any_of(session.runs, [&](std::size_t b) {
        return overlap(schedule_.runs[a], schedule_.runs[b]) &&
               jobs_[schedule_.runs[a].job].user != jobs_[schedule_.runs[b].job].user;
      });
    });
  }

  std::vector<Event> ordered_events() const {
    std::vector<Event> events;
    for (std::size_t i = 0; i < schedule_.groups.size(); ++i) {
      events.push_back({schedule_.groups[i].end, EventKind::kBarrier, i});
    }
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      events.push_back({sessions_[i].begin, EventKind::kStartMps, i});
      events.push_back({sessions_[i].end, EventKind::kStopMps, i});
    }
    const SimTime end = SimTime() + schedule_.makespan;
    for (std::size_t i = 0; i < schedule_.instances.size(); ++i) {
      const ScheduledInstance& instance = schedule_.instances[i];
      events.push_back({instance.create_begin, EventKind::kMake, i});
      if (instance.gone_at < end) {
        events.push_back({instance.usable_until, EventKind::kUnmake, i});
      }
    }
    for (std::size_t i = 0; i < schedule_.runs.size(); ++i) {
      events.push_back({schedule_.runs[i].begin(), EventKind::kStart, i});
    }
    std::ranges::sort(events, [this](const Event& a, const Event& b) {
      return std::tuple(a.at, a.kind, place_of(a), a.index) <
             std::tuple(b.at, b.kind, place_of(b), b.index);
    });
    return events;
  }

  /// Starts go by compute instance, so that its device is looked up once.
  std::pair<std::size_t, int> place_of(const Event& event) const {
    if (event.kind != EventKind::kStart) {
      return {};
    }
    const ScheduledRun& run = schedule_.runs[event.index];
    return {run.instance, run.compute};
  }

  /// Of one time and kind.
  Status write_events(std::span<const Event> events) {
    switch (events.front().kind) {
      case EventKind::kBarrier:
        for (const Event& event : events) {
          for (const std::size_t job : schedule_.groups[event.index].jobs) {
            finish_job(job);
          }
        }
        return {};
      case EventKind::kStopMps:
        for (const Event& event : events) {
          stop_mps(event.index);
        }
        return {};
      case EventKind::kUnmake:
      case EventKind::kMake:
        return recut(events);
      case EventKind::kStartMps:
        for (const Event& event : events) {
          start_mps(event.index);
        }
        return {};
      case EventKind::kStart:
        for (const Event& event : events) {
          start(event.index);
        }
        return {};
    }
    return {};
  }

  void line(const std::string& text) {
    is_cutting_ = false;
    body_ += text + "\n";
  }
  void step(const std::string& text) {
    ++steps_;
    line(text);
  }

  void finish(const ScheduledRun& run) { finish_job(run.job); }
  void finish_job(std::size_t job) {
    if (std::ranges::find(finished_, job) == finished_.end()) {
      finished_.push_back(job);
      line(fmt::format("finish {} {}", job + 1, shell_word(jobs_[job].name)));
    }
  }

  /// Sets the script's `device`, where it is another than before.
  void find_device(std::size_t instance, int compute) {
    if (place_ == std::pair(instance, compute)) {
      return;
    }
    place_ = {instance, compute};
    const ScheduledInstance& of = schedule_.instances[instance];
    const int gpu = now_.index.value();
    std::string call = fmt::format("whole {}", gpu);
    if (of.placed.has_value()) {
      const gpu::Geometry& geometry = *schedule_.geometry;
      const gpu::Placement place = gpu::placement_of(geometry, *of.placed);
      call = fmt::format("mig {} {} {}:{} {} {}",
                         gpu,
                         geometry.profile(of.placed->profile).smi_id.value(),
                         place.start.value(),
                         place.size.value(),
                         shell_word(gpu::placed_text(geometry, *of.placed)),
                         of.compute[static_cast<std::size_t>(compute)].placement.start.value());
    }
    line(call);
  }

  void start_mps(std::size_t index) {
    const Session& session = sessions_[index];
    say_group(schedule_.runs[session.runs.front()]);
    find_device(session.instance, session.compute);
    step(fmt::format(
        "start_mps mps-{}{}", index + 1, has_several_users(session) ? " -multiuser-server" : ""));
  }

  void stop_mps(std::size_t index) {
    for (const std::size_t run : sessions_[index].runs) {
      finish(schedule_.runs[run]);
    }
    step(fmt::format("stop_mps mps-{}", index + 1));
  }

  void start(std::size_t index) {
    const ScheduledRun& run = schedule_.runs[index];
    for (const ScheduledRun& other : schedule_.runs) {
      if (other.instance == run.instance && other.end() <= run.begin()) {
        finish(other);
      }
    }
    say_group(run);
    find_device(run.instance, run.compute);
    const plan::WindowJob& job = jobs_[run.job];
    step(fmt::format("start_job {} {} {} {} {}",
                     run.job + 1,
                     shell_word(job.name),
                     job.user.empty() ? "-" : shell_word(job.user),
                     session_text(session_of_[index]),
                     run.atp.has_value() ? fmt::format("{}", run.atp->value()) : "-"));
  }

  void say_group(const ScheduledRun& run) {
    if (schedule_.groups.empty() && groups_said_ == 0) {
      groups_said_ = 1;
      line("\n# runs in the order in which they begin");
      return;
    }
    const std::size_t group = group_of(run.job);
    if (group < schedule_.groups.size() && group + 1 > groups_said_) {
      groups_said_ = group + 1;
      line("");
      line(fmt::format(
          "# group {}: {}", groups_said_, one_line(schedule_.groups[group].template_name)));
    }
  }

  /// All instances made or unmade at one time.
  Status recut(std::span<const Event> events) {
    for (const Event& event : events) {
      if (event.kind == EventKind::kUnmake) {
        finish_instance(event.index);
        is_alive_[event.index] = false;
      } else {
        replace_alive(event.index);
      }
    }
    if (events.front().kind == EventKind::kUnmake && is_made_at(events.front().at)) {
      return {};  // What is made now decides what can stay of it.
    }
    return bring_about();
  }

  bool is_made_at(SimTime at) const {
    return std::ranges::any_of(schedule_.instances, [at](const ScheduledInstance& instance) {
      return instance.create_begin == at;
    });
  }

  void finish_instance(std::size_t instance) {
    for (const ScheduledRun& run : schedule_.runs) {
      if (run.instance == instance) {
        finish(run);
      }
    }
  }

  /// An instance that takes another's place at once follows it.
  void replace_alive(std::size_t made) {
    for (std::size_t i = 0; i < is_alive_.size(); ++i) {
      if (is_alive_[i] &&
          schedule_.instances[i].gone_at <= schedule_.instances[made].create_begin) {
        finish_instance(i);
        is_alive_[i] = false;
      }
    }
    is_alive_[made] = true;
  }

  gpu::DesiredGpu desired() const {
    gpu::DesiredGpu goal{.index = now_.index, .is_mig_enabled = true, .partition = {}};
    for (std::size_t i = 0; i < is_alive_.size(); ++i) {
      if (!is_alive_[i]) {
        continue;
      }
      const ScheduledInstance& instance = schedule_.instances[i];
      if (!instance.placed.has_value()) {
        goal.is_mig_enabled = false;
        continue;
      }
      goal.partition.instances.push_back(
          {.placed = *instance.placed, .compute_instances = instance.compute});
    }
    if (goal.partition.instances.empty() && !now_.is_mig_enabled) {
      goal.is_mig_enabled = false;
    }
    gpu::canonicalise(goal.partition);
    return goal;
  }

  Status bring_about() {
    const std::vector<gpu::DesiredGpu> goals = {desired()};
    SEPTULE_TRY(const gpu::Transition transition,
                gpu::plan_transition({.node = {}, .gpus = {now_}}, goals, latencies_));
    const gpu::GpuTransition& gpu = transition.gpus.front();
    if (!gpu.undone.empty()) {
      return Error{ErrorCode::kBlocked,
                   fmt::format("GPU {} cannot be cut as the schedule has it: {}: {}",
                               now_.index.value(),
                               gpu.undone.front().wanted,
                               gpu.undone.front().reason)};
    }
    if (!gpu.kept_unwanted.empty()) {
      return Error{ErrorCode::kBlocked,
                   fmt::format("a window takes the whole of GPU {}, and {} stays",
                               now_.index.value(),
                               joined_with_and(gpu.kept_unwanted))};
    }
    const std::vector<std::string> calls = smi_script_calls(gpu);
    const bool was_cutting = is_cutting_;
    if (!calls.empty() && !was_cutting) {
      line("\n# how the GPU is cut");
    }
    for (const std::string& call : calls) {
      step(call);
    }
    is_cutting_ = was_cutting || !calls.empty();
    move_to(goals.front());
    return {};
  }

  /// What is kept keeps its ids; those of new instances only the driver knows.
  void move_to(const gpu::DesiredGpu& goal) {
    std::vector<gpu::ObservedInstance> after;
    for (const gpu::GpuInstance& instance : goal.partition.instances) {
      gpu::ObservedInstance seen{.placed = instance.placed};
      const auto before =
          std::ranges::find(now_.instances, instance.placed, &gpu::ObservedInstance::placed);
      if (before != now_.instances.end()) {
        seen.id = before->id;
      }
      seen.compute_instances.emplace();
      for (const gpu::ComputeInstance& compute : instance.compute_instances) {
        seen.compute_instances->push_back({.instance = compute});
      }
      after.push_back(std::move(seen));
    }
    now_.instances = std::move(after);
    now_.is_mig_enabled = goal.is_mig_enabled;
  }

  const plan::Schedule& schedule_;
  std::span<const plan::WindowJob> jobs_;
  const gpu::LatencyTable& latencies_;
  gpu::ObservedGpu now_;
  std::vector<bool> is_alive_;  ///< by instance of the schedule
  std::vector<Session> sessions_;
  std::vector<std::optional<std::size_t>> session_of_;  ///< by run
  std::vector<std::size_t> finished_;                   ///< jobs
  std::optional<std::pair<std::size_t, int>> place_;    ///< that `device` names
  std::size_t groups_said_ = 0;
  bool is_cutting_ = false;  ///< the last line does
  int steps_ = 0;
  std::string body_;
};

}  // namespace

Result<std::string> window_script(const WindowScriptInput& input) {
  return WindowScriptWriter(input).write();
}

}  // namespace septule::interop
