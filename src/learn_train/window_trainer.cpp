#include "learn_train/window_trainer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "learn/partition_env.hpp"
#include "learn_train/torch_support.hpp"
#include "learn_train/window_module.hpp"

namespace septule::learn_train {
namespace {

using learn::EnvState;
using learn::kActions;
using learn::kWindowRows;
using learn::Observation;
using learn::PartitionEnv;

constexpr double kScale = kWindowNetScale;
constexpr std::string_view kStateKind = "window-training";

RowTable table_of(const learn::WindowRows& rows) {
  RowTable table{};
  for (std::size_t row = 0; row < rows.count(); ++row) {
    table[row] = learn::row_features(rows, row);
  }
  return table;
}

/// Allowed actions by index, ascending.
InlineVector<std::uint8_t, kActions> allowed(const Observation& seen) {
  InlineVector<std::uint8_t, kActions> actions;
  for (unsigned left = seen.may_take; left != 0; left &= left - 1) {
    actions.push_back(static_cast<std::uint8_t>(std::countr_zero(left)));
  }
  for (std::size_t i = 0; i < seen.choices.size(); ++i) {
    actions.push_back(static_cast<std::uint8_t>(kWindowRows + i));
  }
  return actions;
}

/// An episode under way.
struct Episode {
  std::uint32_t number = 0;
  std::unique_ptr<TrainingWindow> window;
  std::unique_ptr<PartitionEnv> env;
  std::shared_ptr<const RowTable> rows;
  double reward = 0;
};

/// A step that was taken.
struct Kept {
  Observation seen;
  std::shared_ptr<const RowTable> rows;
  EnvState state;
  std::uint32_t episode = 0;
  std::uint8_t action = 0;
  bool is_last = false;   ///< of its episode
  bool is_drawn = false;  ///< another action than the best by the network was taken
  float reward = 0;       ///< in units of Q
};

class Trainer final : public WindowTrainer {
 public:
  Trainer(const WindowSource& source, const WindowTrainingOptions& options)
      : source_(source),
        options_(options),
        rng_(options.seed),
        online_(rng_.stream("weights"), kScale),
        target_(rng_.stream("weights"), kScale),
        mean_(rng_.stream("weights"), kScale),
        adam_(online_.tensors(), {.epsilon = options.adam_epsilon}) {
    kept_.resize(static_cast<std::size_t>(options.rounds_kept) * environments());
    episodes_.resize(environments());
    for (Episode& episode : episodes_) {
      begin(episode, episodes_begun_++);
    }
  }

  int updates_done() const override { return updates_; }
  bool is_done() const override { return updates_ >= options_.updates; }

  Result<WindowRound> run_round() override {
    return without_exceptions("training the network for windows", [&]() -> Result<WindowRound> {
      WindowRound record;
      record.exploration = exploration();
      play_round(record);
      double loss = 0;
      int updates = 0;
      if (rounds_ > options_.rounds_before) {
        for (; updates < options_.updates_per_round && !is_done(); ++updates) {
          loss += update();
        }
      }
      if (updates > 0) {
        record.loss = loss / updates;
        if (!std::isfinite(loss)) {
          return Error{ErrorCode::kFailed, "the loss of the training is no longer finite"};
        }
      }
      record.updates = updates_;
      return record;
    });
  }

  learn::NetworkWeights weights() const override {
    learn::NetworkWeights weights;
    weights.kind = learn::kWindowNetKind;
    weights.settings["scale"] = kScale;
    for (const NamedTensor& one : mean_.tensors()) {
      weights.tensors.push_back(exported(one.name, one.value));
    }
    return weights;
  }

  learn::NetworkWeights state() const override;
  Status restore(const learn::NetworkWeights& state) override;

 private:
  std::size_t environments() const { return static_cast<std::size_t>(options_.environments); }
  std::size_t rounds_kept() const { return static_cast<std::size_t>(options_.rounds_kept); }
  Kept& kept(std::int64_t round, std::size_t environment) {
    return kept_[static_cast<std::size_t>(round) % rounds_kept() * environments() + environment];
  }
  const Kept& kept(std::int64_t round, std::size_t environment) const {
    return kept_[static_cast<std::size_t>(round) % rounds_kept() * environments() + environment];
  }
  double done_part() const {
    return static_cast<double>(updates_) / static_cast<double>(options_.updates);
  }
  double exploration() const {
    const double part = std::min(1.0, done_part() / options_.exploration_part);
    return options_.exploration + (options_.exploration_last - options_.exploration) * part;
  }
  double learning_rate() const {
    const double wave = (1 + std::cos(std::numbers::pi * done_part())) / 2;
    return options_.learning_rate_last +
           (options_.learning_rate - options_.learning_rate_last) * wave;
  }

  void begin(Episode& episode, std::uint32_t number) const {
    episode.number = number;
    episode.env.reset();
    episode.window = source_.window(predict::PoolPart::kTrain, number);
    episode.env = std::make_unique<PartitionEnv>(episode.window->times());
    episode.rows = std::make_shared<const RowTable>(table_of(episode.env->rows()));
    episode.reward = 0;
  }

  /// One action in each episode.
  void play_round(WindowRound& record) {
    std::vector<ShownStep> shown;
    for (std::size_t i = 0; i < environments(); ++i) {
      Kept& to = kept(rounds_, i);
      learn::observe(*episodes_[i].env, to.seen);
      to.rows = episodes_[i].rows;
      to.state = episodes_[i].env->state();
      to.episode = episodes_[i].number;
      shown.push_back({.seen = &to.seen, .rows = to.rows.get()});
    }
    torch::Tensor best;
    {
      const torch::NoGradGuard no_grad;
      best = online_.forward(make_step_batch(shown)).argmax(1);
    }
    const auto* const best_of = best.data_ptr<std::int64_t>();
    Rng rng = rng_.stream("explore", static_cast<std::uint64_t>(rounds_));
    double gains = 0;
    int ended = 0;
    for (std::size_t i = 0; i < environments(); ++i) {
      Kept& to = kept(rounds_, i);
      const auto greedy = static_cast<std::uint8_t>(best_of[i]);
      to.action = greedy;
      if (rng.uniform() < record.exploration) {
        const auto actions = allowed(to.seen);
        to.action = actions[static_cast<std::size_t>(rng.below(actions.size()))];
      }
      to.is_drawn = to.action != greedy;
      Episode& episode = episodes_[i];
      const PartitionEnv::Step step =
          to.action < kWindowRows ? episode.env->take(to.action)
                                  : episode.env->choose(to.seen.choices[to.action - kWindowRows]);
      to.reward = static_cast<float>(static_cast<double>(step.reward) * kScale);
      episode.reward += static_cast<double>(step.reward);
      to.is_last = episode.env->is_over();
      if (to.is_last) {
        gains += 1 / (1 - episode.reward);
        ++ended;
        begin(episode, episodes_begun_++);
      }
    }
    if (ended > 0) {
      record.gain = gains / ended;
    }
    ++rounds_;
  }

  /// Steps drawn from what is kept, what they returned until the next choice of a form, and where
  /// the network's own estimate goes on from there.
  struct Sample {
    std::vector<ShownStep> from;
    std::vector<std::int64_t> actions;
    std::vector<float> returns;
    std::vector<ShownStep> next;        ///< of those that go on
    std::vector<std::int64_t> next_of;  ///< which of `from`
  };
  Sample draw() const {
    Sample sample;
    Rng rng = rng_.stream("replay", static_cast<std::uint64_t>(updates_));
    const std::int64_t filled = std::min<std::int64_t>(rounds_, options_.rounds_kept);
    // The last rounds have nothing after them yet.
    const auto span = static_cast<std::uint64_t>(filled - options_.steps_max);
    for (int i = 0; i < options_.batch; ++i) {
      std::int64_t round = rounds_ - filled + static_cast<std::int64_t>(rng.below(span));
      const auto environment = static_cast<std::size_t>(rng.below(environments()));
      const Kept& first = kept(round, environment);
      sample.from.push_back({.seen = &first.seen, .rows = first.rows.get()});
      sample.actions.push_back(first.action);
      float sum = 0;
      bool goes_on = true;
      for (int step = 0; step < options_.steps_max; ++step) {
        const Kept& now = kept(round, environment);
        sum += now.reward;
        ++round;
        if (now.is_last) {
          goes_on = false;
          break;
        }
        const Kept& after = kept(round, environment);
        if (after.seen.is_choosing || after.is_drawn) {
          break;
        }
      }
      sample.returns.push_back(sum);
      if (goes_on) {
        const Kept& after = kept(round, environment);
        sample.next.push_back({.seen = &after.seen, .rows = after.rows.get()});
        sample.next_of.push_back(i);
      }
    }
    return sample;
  }

  double update() {
    const Sample sample = draw();
    torch::Tensor goal = torch::tensor(sample.returns);
    if (!sample.next.empty()) {
      const torch::NoGradGuard no_grad;
      const StepBatch next = make_step_batch(sample.next);
      // Double: one network chooses, the other values.
      const torch::Tensor chosen = online_.forward(next).argmax(1, true);
      const torch::Tensor value = target_.forward(next).gather(1, chosen).squeeze(1);
      goal = goal.index_add(0, torch::tensor(sample.next_of), value);
    }
    adam_.clear_gradients();
    const torch::Tensor q = online_.forward(make_step_batch(sample.from))
                                .gather(1, torch::tensor(sample.actions).unsqueeze(1))
                                .squeeze(1);
    const torch::Tensor loss = torch::smooth_l1_loss(q, goal, at::Reduction::Mean, options_.huber);
    loss.backward();
    limit_gradients();
    adam_.step(learning_rate(), [](const std::string&) { return 0.0; });
    ++updates_;
    follow(target_, options_.target_rate);
    follow(mean_, std::max(options_.mean_rate, 1.0 / (1.0 + updates_)));
    return loss.item<double>();
  }

  void limit_gradients() {
    double squares = 0;
    for (const NamedTensor& one : online_.tensors()) {
      if (one.value.grad().defined()) {
        squares += one.value.grad().pow(2).sum().item<double>();
      }
    }
    const double norm = std::sqrt(squares);
    if (norm <= options_.gradient_norm_max) {
      return;
    }
    for (NamedTensor& one : online_.tensors()) {
      if (one.value.grad().defined()) {
        one.value.mutable_grad().mul_(options_.gradient_norm_max / norm);
      }
    }
  }

  void follow(WindowModule& network, double rate) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < network.tensors().size(); ++i) {
      network.tensors()[i].value.lerp_(online_.tensors()[i].value, rate);
    }
  }

  const WindowSource& source_;
  WindowTrainingOptions options_;
  Rng rng_;
  WindowModule online_;
  WindowModule target_;
  WindowModule mean_;
  Adam adam_;
  std::vector<Kept> kept_;
  std::vector<Episode> episodes_;
  std::uint32_t episodes_begun_ = 0;
  std::int64_t rounds_ = 0;
  int updates_ = 0;
};

/// Numbers that a step is kept as: whole numbers that float32 holds exactly.
constexpr std::size_t kStepNumbers = 13;
constexpr std::uint32_t kHalf = 1U << 16U;

/// What an episode under way has earned so far.
std::string earned_key(std::size_t environment) {
  return fmt::format("earned{}", environment);
}

std::array<float, kStepNumbers> packed(const Kept& kept) {
  const auto number = [](auto value) { return static_cast<float>(value); };
  return {number(kept.episode / kHalf),
          number(kept.episode % kHalf),
          number(kept.state.left),
          number(kept.state.choice),
          number(kept.state.rows[0]),
          number(kept.state.rows[1]),
          number(kept.state.rows[2]),
          number(kept.state.rows[3]),
          number(kept.state.seat),
          number(kept.action),
          number(kept.is_last ? 1 : 0),
          number(kept.is_drawn ? 1 : 0),
          kept.reward};
}

Kept unpacked(const float* numbers) {
  const auto whole = [&](std::size_t at) { return static_cast<std::int64_t>(numbers[at]); };
  Kept kept;
  kept.episode = static_cast<std::uint32_t>(whole(0) * std::int64_t{kHalf} + whole(1));
  kept.state.left = static_cast<learn::RowSet>(whole(2));
  kept.state.choice = static_cast<std::uint8_t>(whole(3));
  for (std::size_t seat = 0; seat < learn::kFormSeats; ++seat) {
    kept.state.rows[seat] = static_cast<std::int8_t>(whole(4 + seat));
  }
  kept.state.seat = static_cast<std::uint8_t>(whole(8));
  kept.action = static_cast<std::uint8_t>(whole(9));
  kept.is_last = whole(10) != 0;
  kept.is_drawn = whole(11) != 0;
  kept.reward = numbers[12];
  return kept;
}

learn::NetworkWeights Trainer::state() const {
  learn::NetworkWeights state;
  state.kind = kStateKind;
  state.settings["rounds"] = static_cast<double>(rounds_);
  state.settings["updates"] = updates_;
  state.settings["updates_all"] = options_.updates;
  state.settings["environments"] = options_.environments;
  state.settings["rounds_kept"] = options_.rounds_kept;
  state.settings["episodes_begun"] = episodes_begun_;
  const auto add = [&](const std::string& prefix, const WindowModule& network) {
    for (const NamedTensor& one : network.tensors()) {
      state.tensors.push_back(exported(prefix + one.name, one.value));
    }
  };
  add("online.", online_);
  add("target.", target_);
  add("mean.", mean_);
  adam_.export_into(state);
  const std::int64_t filled = std::min<std::int64_t>(rounds_, options_.rounds_kept);
  learn::Tensor steps;
  steps.name = "steps";
  for (std::int64_t round = rounds_ - filled; round < rounds_; ++round) {
    for (std::size_t i = 0; i < environments(); ++i) {
      const auto numbers = packed(kept(round, i));
      steps.data.insert(steps.data.end(), numbers.begin(), numbers.end());
    }
  }
  steps.shape = {static_cast<int>(steps.data.size() / kStepNumbers),
                 static_cast<int>(kStepNumbers)};
  if (filled > 0) {
    state.tensors.push_back(std::move(steps));
  }
  for (std::size_t i = 0; i < environments(); ++i) {
    state.settings[earned_key(i)] = episodes_[i].reward;
  }
  learn::Tensor running;
  running.name = "episodes";
  for (const Episode& episode : episodes_) {
    Kept now;
    now.episode = episode.number;
    now.state = episode.env->state();
    const auto numbers = packed(now);
    running.data.insert(running.data.end(), numbers.begin(), numbers.end());
  }
  running.shape = {options_.environments, static_cast<int>(kStepNumbers)};
  state.tensors.push_back(std::move(running));
  return state;
}

Status Trainer::restore(const learn::NetworkWeights& state) {
  const auto setting = [&](const std::string& name) {
    const auto found = state.settings.find(name);
    return found == state.settings.end() ? -1.0 : found->second;
  };
  if (state.kind != kStateKind || setting("environments") != options_.environments ||
      setting("rounds_kept") != options_.rounds_kept ||
      setting("updates_all") != options_.updates || setting("rounds") < 0 ||
      setting("updates") < 0 || setting("episodes_begun") < options_.environments) {
    return Error{ErrorCode::kInvalidInput,
                 "the checkpoint is not of a training of a network for windows with these options"};
  }
  const auto take = [&](const std::string& prefix, WindowModule& network) -> Status {
    for (NamedTensor& one : network.tensors()) {
      SEPTULE_TRY_STATUS(import_into(state, prefix + one.name, one.value));
    }
    return {};
  };
  SEPTULE_TRY_STATUS(take("online.", online_));
  SEPTULE_TRY_STATUS(take("target.", target_));
  SEPTULE_TRY_STATUS(take("mean.", mean_));
  SEPTULE_TRY_STATUS(adam_.restore(state));
  rounds_ = static_cast<std::int64_t>(setting("rounds"));
  updates_ = static_cast<int>(setting("updates"));
  episodes_begun_ = static_cast<std::uint32_t>(setting("episodes_begun"));
  const auto filled =
      static_cast<std::size_t>(std::min<std::int64_t>(rounds_, options_.rounds_kept));
  const learn::Tensor* const steps = state.find("steps");
  const learn::Tensor* const running = state.find("episodes");
  if ((filled > 0 &&
       (steps == nullptr || steps->data.size() != filled * environments() * kStepNumbers)) ||
      running == nullptr || running->data.size() != environments() * kStepNumbers) {
    return Error{ErrorCode::kInvalidInput, "the checkpoint lacks the steps that were kept"};
  }
  for (std::size_t i = 0; i < environments(); ++i) {
    Episode replayed;
    bool is_begun = false;
    for (std::size_t at = 0; at < filled; ++at) {
      const std::int64_t round = rounds_ - static_cast<std::int64_t>(filled - at);
      Kept& to = kept(round, i);
      to = unpacked(steps->data.data() + (at * environments() + i) * kStepNumbers);
      if (!is_begun || replayed.number != to.episode) {
        begin(replayed, to.episode);
        is_begun = true;
      }
      replayed.env->restore(to.state);
      learn::observe(*replayed.env, to.seen);
      to.rows = replayed.rows;
    }
    const Kept now = unpacked(running->data.data() + i * kStepNumbers);
    begin(episodes_[i], now.episode);
    episodes_[i].env->restore(now.state);
    episodes_[i].reward = setting(earned_key(i));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<WindowTrainer>> make_window_trainer(const WindowSource& source,
                                                           const WindowTrainingOptions& options) {
  if (options.updates < 1 || options.environments < 1 || options.batch < 1 ||
      options.rounds_before <= options.steps_max || options.rounds_kept <= options.rounds_before) {
    return Error{ErrorCode::kInvalidInput,
                 "a training needs at least one update, environment and step of a batch, and keeps "
                 "more rounds than it waits for"};
  }
  return without_exceptions(
      "making the network for windows", [&]() -> Result<std::unique_ptr<WindowTrainer>> {
        return std::unique_ptr<WindowTrainer>(std::make_unique<Trainer>(source, options));
      });
}

}  // namespace septule::learn_train
