#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "predict/interference_model.hpp"
#include "predict/measured_jobs.hpp"
#include "predict/signature_model.hpp"

// Measured pairs under MPS (44 inference jobs of 11 models, A100-80GB, six partitions), and fits of
// InterferenceModel's constants to some of them. For tests and for the report in bench/.
namespace septule::predict::test {

/// Kernels of one step, as given in performance-model.md section 4.2.
inline int kernels_of(const std::string& model) {
  static const std::map<std::string, int> known = {{"alexnet", 30},
                                                   {"vgg16", 45},
                                                   {"vgg19", 52},
                                                   {"unet", 80},
                                                   {"mobilenet_v2", 150},
                                                   {"bert", 150},
                                                   {"resnet50", 175},
                                                   {"deeplabv3", 190},
                                                   {"inception_v3", 300},
                                                   {"resnet101", 340},
                                                   {"resnet152", 510}};
  return known.at(model);
}

inline const std::set<std::string>& first_six() {
  static const std::set<std::string> models = {
      "alexnet", "vgg16", "unet", "bert", "resnet101", "inception_v3"};
  return models;
}

/// Which pairs, seen from a set of models.
enum class PairGroup { kInside, kMixed, kOutside };

struct MeasuredPair {
  std::string slice;  ///< "full", "7g" ..
  std::array<std::string, 2> models;
  std::array<SoloTerms, 2> alone;    ///< believed, there
  std::array<SoloLaw, 2> laws;       ///< for the older form
  std::array<double, 2> slowdown{};  ///< measured
  PairGroup group(const std::set<std::string>& models_inside) const {
    const int inside =
        (models_inside.contains(models[0]) ? 1 : 0) + (models_inside.contains(models[1]) ? 1 : 0);
    return inside == 2 ? PairGroup::kInside : inside == 1 ? PairGroup::kMixed : PairGroup::kOutside;
  }
};

/// `given`: the slices from which the jobs alone are known; empty = all.
inline std::vector<MeasuredPair> measured_pairs(const Root& root,
                                                const std::set<std::string>& given = {}) {
  struct Known {
    std::map<std::string, SoloTerms> terms;
    SoloLaw law;
  };
  std::map<std::string, Known> jobs;
  for (const MeasuredJob& job : inference_jobs(root)) {
    std::vector<SoloPoint> points = job.all();
    if (!given.empty()) {
      points.clear();
      for (const auto& [slice, point] : job.points) {
        if (given.contains(slice)) {
          points.push_back(point);
        }
      }
    }
    const SoloFit fit = fit_of(points, JobKind::kInference);
    Known& known = jobs[job.name];
    known.law = fit.law();
    for (const char* const slice : {"full", "7g", "4g", "3g", "2g", "1g"}) {
      known.terms[slice] = fit.predict(a100_slice(slice)).terms;
    }
  }
  std::vector<MeasuredPair> pairs;
  for (const auto& row :
       septule::test::csv_rows(root / "data/hierarchical/sustech_a100_80gb_pairs_mig_mps.csv")) {
    if (row.at("mean1_ms").empty()) {
      continue;
    }
    MeasuredPair pair;
    pair.slice = row.at("partition") == "full" ? "full" : row.at("partition").substr(0, 2);
    pair.models = {row.at("model1"), row.at("model2")};
    const std::array<std::string, 2> batches = {row.at("batch1"), row.at("batch2")};
    for (std::size_t i = 0; i < 2; ++i) {
      const Known& known = jobs.at(fmt::format("{}:{}", pair.models[i], batches[i]));
      pair.alone[i] = known.terms.at(pair.slice);
      pair.laws[i] = known.law;
    }
    pair.slowdown = {septule::test::number_of(row, "slowdown1_vs_solo_same_partition"),
                     septule::test::number_of(row, "slowdown2")};
    pairs.push_back(pair);
  }
  return pairs;
}

/// Pairs with explicit percentages p and 100 - p: resnet50, each batch known alone from its sweep
/// of percentages. Steps together: tail latencies, as in the sweep.
struct SplitScore {
  Score together;  ///< believed step against measured
  Score alone;     ///< the step alone at the same percentage, as if there were no contention
};
/// Pairs by whether the first one's batch is odd: one half to fit, the other to judge.
enum class Half { kEven, kOdd, kBoth };
inline SplitScore score_splits(const Root& root,
                               const gpu::Geometry& a100,
                               Half half = Half::kBoth,
                               double contention = kPartContention) {
  std::map<std::string, SignatureModel> models;
  for (const MeasuredJob& job : sweep_jobs(root, "resnet50")) {
    std::vector<MeasuredStep> steps;
    for (const auto& [percent, point] : job.points) {
      steps.push_back({.profile = std::nullopt,
                       .atp = ActiveThreadPercentage(std::stoi(percent)),
                       .step = point.step});
    }
    Result<SignatureModel> model =
        SignatureModel::fit(a100,
                            steps,
                            {.solo = {.kind = JobKind::kInference, .counters = {}, .usable = {}},
                             .kernel_count = std::nullopt});
    SEPTULE_CHECK(model.has_value(), "measured points are valid");
    models.emplace(job.name.substr(job.name.find(':') + 1), std::move(model).value());
  }
  SplitScore score;
  for (const auto& row :
       septule::test::csv_rows(root / "data/hierarchical/css22_mps_pair_split.csv")) {
    const auto first = models.find(row.at("batch_1"));
    const auto second = models.find(row.at("batch_2"));
    const bool is_odd = std::stoi(row.at("batch_1")) % 2 == 1;
    if (first == models.end() || second == models.end() || (half == Half::kEven && is_odd) ||
        (half == Half::kOdd && !is_odd)) {
      continue;
    }
    const std::array<SignatureClient, 2> clients = {
        SignatureClient{.model = &first->second,
                        .atp = ActiveThreadPercentage(std::stoi(row.at("mps_pct_1")))},
        SignatureClient{.model = &second->second,
                        .atp = ActiveThreadPercentage(std::stoi(row.at("mps_pct_2")))}};
    const auto beliefs =
        predict_sharing({.gpu = &a100, .profile = std::nullopt}, clients, contention);
    SEPTULE_CHECK(beliefs.has_value(), "the clients are valid");
    for (std::size_t i = 0; i < 2; ++i) {
      const double measured = septule::test::number_of(row, i == 0 ? "tail1_ms" : "tail2_ms");
      const StepBelief& together = (*beliefs)[i].together;
      score.together.add(together.step, measured, together.log_sd);
      const auto alone = clients[i].model->speed(
          {.gpu = &a100, .profile = std::nullopt}, clients[i].atp, std::nullopt);
      SEPTULE_CHECK(alone.has_value(), "the percentage is valid");
      const double whole = (*beliefs)[i].alone.step;
      score.alone.add(whole / alone->speed, measured);
    }
  }
  return score;
}

/// The contention with the least error on pairs with even batches: by tenths, then hundredths.
inline double fit_contention(const Root& root, const gpu::Geometry& a100) {
  int best = 0;
  double least = 0;
  const auto consider = [&](int hundredths) {
    const double error =
        score_splits(root, a100, Half::kEven, hundredths / 100.0).together.percent();
    if (least == 0 || error < least) {
      least = error;
      best = hundredths;
    }
  };
  for (int tenths = 0; tenths <= 10; ++tenths) {
    consider(10 * tenths);
  }
  const int near = best;
  for (int hundredths = near - 9; hundredths <= near + 9; ++hundredths) {
    consider(hundredths);
  }
  return best / 100.0;
}

struct PairConstants {
  double kernel_exponent = kKernelExponent;
  double unused_exponent = kUnusedExponent;
};

inline std::array<double, 2> pair_rates(const MeasuredPair& pair, const PairConstants& with) {
  std::array<InterferenceClient, 2> clients;
  for (std::size_t i = 0; i < 2; ++i) {
    clients[i] =
        interference_client(pair.alone[i], kernels_of(pair.models[i]), with.unused_exponent);
  }
  std::array<double, 2> rates{};
  InterferenceModel{.exponent = with.kernel_exponent}.rates(clients, rates);
  return rates;
}

/// performance-model.md section 4.2's own form and constants, to compare with.
inline std::array<double, 2> reference_rates(const MeasuredPair& pair) {
  const Resources at = a100_slice(pair.slice);
  double demand = 0;
  double halves = 0;
  std::array<double, 2> weight{};
  for (std::size_t i = 0; i < 2; ++i) {
    const SoloTerms terms = pair.laws[i].terms(at);
    demand += (1 - terms.serial / terms.step()) * terms.used;
    halves += terms.step() /
              pair.laws[i].step({.compute = at.compute / 2, .bandwidth = at.bandwidth / 2});
    weight[i] = std::pow(terms.step() / kernels_of(pair.models[i]), 0.75);
  }
  const double total = std::clamp((2 / std::max(1.0, demand) + halves) / 2, 1.0, 2.0);
  const double first = total * weight[0] / (weight[0] + weight[1]);
  const double surplus = std::max(first - 1, 0.0) - std::max(total - first - 1, 0.0);
  return {first - surplus, total - first + surplus};
}

/// Errors of slowdowns and of summed rates.
struct PairScore {
  Score slowdown;
  Score sum;

  void add(const MeasuredPair& pair, const std::array<double, 2>& rates) {
    for (std::size_t i = 0; i < 2; ++i) {
      slowdown.add(1 / rates[i], pair.slowdown[i], kWaitError * (1 - rates[i]));
    }
    sum.add(rates[0] + rates[1], 1 / pair.slowdown[0] + 1 / pair.slowdown[1]);
  }
};

using PairFilter = std::function<bool(const MeasuredPair&)>;

inline PairScore score_pairs(const std::vector<MeasuredPair>& pairs,
                             const PairFilter& is_meant,
                             const PairConstants& with = {}) {
  PairScore score;
  for (const MeasuredPair& pair : pairs) {
    if (is_meant(pair)) {
      score.add(pair, pair_rates(pair, with));
    }
  }
  return score;
}

/// Pairs of a group; those on 7g only if asked (the data's caveat: 7g means equal another column).
inline PairFilter pairs_of(const std::set<std::string>& models, PairGroup group) {
  return [models, group](const MeasuredPair& pair) {
    return pair.slice != "7g" && pair.group(models) == group;
  };
}

/// The constants with the least mean error of slowdowns on the pairs meant: a pattern search from
/// (0.75, 0.5), each round the best of the eight neighbours at a step that halves when none is
/// better, down to a thousandth.
inline PairConstants fit_constants(const std::vector<MeasuredPair>& pairs,
                                   const PairFilter& is_meant) {
  std::vector<MeasuredPair> meant;
  std::ranges::copy_if(pairs, std::back_inserter(meant), is_meant);
  SEPTULE_CHECK(!meant.empty(), "constants are fitted to pairs");
  const auto everything = [](const MeasuredPair&) { return true; };
  const auto loss = [&](const PairConstants& with) {
    return score_pairs(meant, everything, with).slowdown.percent();
  };
  PairConstants best{.kernel_exponent = 0.75, .unused_exponent = 0.5};
  double least = loss(best);
  for (double step = 0.128; step >= 0.001;) {
    PairConstants next = best;
    for (const auto& [x, y] : std::vector<std::pair<int, int>>{
             {-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}, {1, 1}}) {
      const PairConstants tried{.kernel_exponent = best.kernel_exponent + x * step,
                                .unused_exponent = std::max(0.0, best.unused_exponent + y * step)};
      if (const double error = loss(tried); error < least) {
        least = error;
        next = tried;
      }
    }
    if (next.kernel_exponent == best.kernel_exponent &&
        next.unused_exponent == best.unused_exponent) {
      step /= 2;
    }
    best = next;
  }
  return best;
}

}  // namespace septule::predict::test
