// Prints how well the signature model explains and predicts measured jobs and pairs of jobs
// (docs/benchmarks.md, "Signature model"), and fits the constants of InterferenceModel anew.
//   signature_model_report DIRECTORY    root of the reference material (data/hierarchical below it)
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "gpu/builtin_catalogue.hpp"
#include "predict/measured_jobs.hpp"
#include "predict/measured_pairs.hpp"

namespace septule::predict::test {
namespace {

constexpr std::array<const char*, 6> kSlices = {"full", "7g", "4g", "3g", "2g", "1g"};

void print_solo(const char* name,
                const MeasuredJobs& jobs,
                JobKind kind,
                const std::string& whole) {
  const std::set<std::string> three = {"1g", "3g", whole};
  const std::set<std::string> held = {"2g", "4g"};
  fmt::print(
      "{:<10} {:>3} jobs, all points: law {:.2f} %, without memory {:.2f} %, Amdahl {:.2f} %\n",
      name,
      jobs.size(),
      law_errors(jobs, LawForm::kWhole).percent(),
      law_errors(jobs, LawForm::kWithoutMemory).percent(),
      law_errors(jobs, LawForm::kAmdahl).percent());
  fmt::print("           2g and 4g from 1g, 3g and the whole, Amdahl: {:.2f} %\n",
             held_out_by_law(jobs, three, held).percent());
  const auto print = [](const std::string& what, const Score& score) {
    fmt::print("           {:<40} {:>5.2f} %  n {:>3}  within 1 sd {:.0f} %, 1.645 sd {:.0f} %\n",
               what,
               score.percent(),
               score.count,
               score.covers_one(),
               score.covers_ninety());
  };
  print("2g and 4g from 1g, 3g and the whole", held_out(jobs, kind, three, held));
  print("the same, kind not known", held_out(jobs, JobKind::kUnknown, three, held));
  const LeaveOneOut each = leave_one_out(jobs, kind);
  print("each point from all others", each.belief);
  fmt::print("           the same by the law {:.2f} %\n", each.law.percent());
  print("1g, 2g, 4g from 3g and the whole",
        held_out(jobs, kind, {"3g", whole}, {"1g", "2g", "4g"}));
  print("1g to 4g from the whole", held_out(jobs, kind, {whole}, {"1g", "2g", "3g", "4g"}));
}

void print_sweep(const Root& root, const char* model) {
  const MeasuredJobs jobs = sweep_jobs(root, model);
  const Score each = leave_one_out(jobs, JobKind::kInference).belief;
  fmt::print(
      "{:<12} {:>3} batches, all percentages: law {:.2f} %; each from the others {:.2f} %, "
      "within 1 sd {:.0f} %\n",
      model,
      jobs.size(),
      law_errors(jobs, LawForm::kWhole).percent(),
      each.percent(),
      each.covers_one());
}

void print_pairs(const char* name, const PairScore& score) {
  fmt::print(
      "  {:<28} n {:>4}  slowdown {:>5.2f} %  sum {:>5.2f} %  within 1 sd {:.0f} %, 1.645 sd "
      "{:.0f} %\n",
      name,
      score.sum.count,
      score.slowdown.percent(),
      score.sum.percent(),
      score.slowdown.covers_one(),
      score.slowdown.covers_ninety());
}

void print_split(const char* name,
                 const std::vector<MeasuredPair>& pairs,
                 const std::set<std::string>& models) {
  const PairConstants with = fit_constants(pairs, pairs_of(models, PairGroup::kInside));
  fmt::print("{}: kernel exponent {:.3f}, unused exponent {:.3f}\n",
             name,
             with.kernel_exponent,
             with.unused_exponent);
  const std::array<std::pair<const char*, PairGroup>, 3> groups = {
      std::pair{"fitted pairs", PairGroup::kInside},
      std::pair{"pairs of the other models", PairGroup::kOutside},
      std::pair{"mixed pairs", PairGroup::kMixed}};
  for (const auto& [group, which] : groups) {
    print_pairs(group, score_pairs(pairs, pairs_of(models, which), with));
  }
  for (const char* const slice : kSlices) {
    for (const PairGroup group : {PairGroup::kOutside, PairGroup::kMixed}) {
      const PairFilter meant = [&](const MeasuredPair& pair) {
        return pair.slice == slice && pair.group(models) == group;
      };
      print_pairs(
          fmt::format("  {} {}", slice, group == PairGroup::kMixed ? "mixed" : "others").c_str(),
          score_pairs(pairs, meant, with));
    }
  }
  Score inner;
  for (const std::string& left_out : models) {
    const auto has = [&](const MeasuredPair& pair) {
      return pair.models[0] == left_out || pair.models[1] == left_out;
    };
    const PairFilter inside = pairs_of(models, PairGroup::kInside);
    const PairConstants without =
        fit_constants(pairs, [&](const MeasuredPair& pair) { return inside(pair) && !has(pair); });
    inner.sum +=
        score_pairs(
            pairs, [&](const MeasuredPair& pair) { return inside(pair) && has(pair); }, without)
            .slowdown.percent() /
        100;
    ++inner.count;
  }
  fmt::print("  leaving one of the fitted models out: mean {:.2f} %\n", inner.percent());
}

void print_reference(const std::vector<MeasuredPair>& pairs) {
  PairScore all;
  PairScore others;
  PairScore mixed;
  for (const MeasuredPair& pair : pairs) {
    const std::array<double, 2> rates = reference_rates(pair);
    all.add(pair, rates);
    if (pair.slice != "7g" && pair.group(first_six()) == PairGroup::kOutside) {
      others.add(pair, rates);
    }
    if (pair.slice != "7g" && pair.group(first_six()) == PairGroup::kMixed) {
      mixed.add(pair, rates);
    }
  }
  fmt::print("performance-model.md section 4.2 with its own constants\n");
  print_pairs("all, 7g too", all);
  print_pairs("pairs of the other models", others);
  print_pairs("mixed pairs", mixed);
}

int report(const Root& root) {
  fmt::print("Jobs alone, mean of |predicted / measured - 1|\n");
  print_solo("inference", inference_jobs(root), JobKind::kInference, "full");
  print_solo("training", training_jobs(root), JobKind::kTraining, "full");
  print_solo("Rodinia", rodinia_jobs(root, "A100"), JobKind::kHpc, "7g");
  const Score a30 = held_out(rodinia_jobs(root, "A30"), JobKind::kHpc, {"1g", "4g"}, {"2g"});
  fmt::print(
      "Rodinia, A30, 2g from 1g and the whole: {:.2f} %, within 1 sd {:.0f} %, 1.645 sd {:.0f} %\n",
      a30.percent(),
      a30.covers_one(),
      a30.covers_ninety());
  const MeasuredJobs training = training_jobs(root);
  const std::set<std::string> slices = {"1g", "2g", "3g", "4g"};
  fmt::print("training, 1g to 4g from the whole: {:.1f} %, with counters {:.1f} %\n",
             held_out(training, JobKind::kTraining, {"full"}, slices).percent(),
             held_out(training, JobKind::kTraining, {"full"}, slices, Counters::kUsed).percent());
  print_sweep(root, "resnet50");
  print_sweep(root, "mobilenet_v2");
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& a100 = **catalogue.find("A100-80GB");
  const double contention = fit_contention(root, a100);
  const SplitScore splits = score_splits(root, a100, Half::kOdd, contention);
  fmt::print(
      "resnet50 pairs with percentages p and 100 - p: contention {:.2f} from even batches; odd "
      "ones, n {}: {:.2f} %, within 1 sd {:.0f} %; without contention {:.2f} %\n",
      contention,
      splits.together.count,
      splits.together.percent(),
      splits.together.covers_one(),
      splits.alone.percent());
  fmt::print("\nPairs under MPS, without 7g unless named\n");
  const std::vector<MeasuredPair> pairs = measured_pairs(root);
  std::set<std::string> others;
  for (const MeasuredPair& pair : pairs) {
    for (const std::string& model : pair.models) {
      if (!first_six().contains(model)) {
        others.insert(model);
      }
    }
  }
  print_split("Fitted on the six models (shipped)", pairs, first_six());
  print_split("Fitted on the other five", pairs, others);
  print_reference(pairs);
  const auto no_7g = [](const MeasuredPair& pair) { return pair.slice != "7g"; };
  fmt::print("Shipped constants, all pairs\n");
  print_pairs("all slices known", score_pairs(pairs, no_7g));
  print_pairs("alone: full, 3g, 1g",
              score_pairs(measured_pairs(root, {"full", "3g", "1g"}), no_7g));
  print_pairs("alone: full, 3g", score_pairs(measured_pairs(root, {"full", "3g"}), no_7g));
  print_pairs("alone: full", score_pairs(measured_pairs(root, {"full"}), no_7g));
  return 0;
}

}  // namespace
}  // namespace septule::predict::test

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: signature_model_report DIRECTORY (the reference material's root)\n");
    return 2;
  }
  const std::filesystem::path root = arguments[1];
  std::error_code ignored;
  if (!std::filesystem::exists(root / "data/hierarchical", ignored)) {
    fmt::print(stderr,
               "there is no data/hierarchical in {}; name the reference material's root (make "
               "accuracy takes it from SEPTULE_SHARED)\n",
               arguments[1]);
    return 3;
  }
  return septule::predict::test::report(root);
}
