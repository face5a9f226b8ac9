#include "learn_train/baselines.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "learn_train/scores.hpp"
#include "predict/slice_regression.hpp"

namespace septule::learn_train {

namespace {

constexpr double kTimeLeast = 0.02;
constexpr double kRidge = 1e-6;  // x rows: against a singular matrix only
constexpr std::size_t kNeighbours = 9;
constexpr int kCells = static_cast<int>(kLevels * kColumns);

/// Speeds on 4g and 3g from times.
void set_speeds(predict::SlicePrediction& prediction) {
  for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
    prediction.speed[slice] =
        std::max(prediction.time[0], kTimeLeast) / std::max(prediction.time[slice], kTimeLeast);
  }
}

/// Speeds on 2g and 1g from those on 4g and 3g.
void complete(const predict::SliceRegression& regression, predict::SlicePrediction& prediction) {
  prediction.speed[3] = regression.speed_2g(prediction.speed[1], prediction.speed[2]);
  prediction.speed[4] = regression.speed_1g(prediction.speed[1], prediction.speed[2]);
}

Result<predict::SliceRegression> fit_regression(const BaselineInput& input) {
  std::vector<predict::RegressionRow> rows;
  for (const int index : input.classes) {
    const JobClass& job = input.data->classes[static_cast<std::size_t>(index)];
    const std::optional<double>& four = job.speed[1];
    const std::optional<double>& three = job.speed[2];
    if (!job.is_dummy && four && three) {
      rows.push_back({.speed_4g = *four,
                      .speed_3g = *three,
                      .speed_2g = job.speed[3],
                      .speed_1g = job.speed[4]});
    }
  }
  return predict::fit_slice_regression(rows);
}

class MeanOfCells final : public Baseline {
 public:
  explicit MeanOfCells(const BaselineInput& input) {
    std::array<std::array<MeanSum, kColumns>, kTargetSlices> times;
    std::array<MeanSum, predict::kSlices> speeds;
    for (const int index : input.rows) {
      const TrainingRow& row = input.data->rows[static_cast<std::size_t>(index)];
      for (std::size_t column = 0; column < kColumns; ++column) {
        const auto job_class = static_cast<std::size_t>(row.classes[column]);
        for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
          times[slice][column].add(row.target[slice][column]);
        }
        for (std::size_t slice = kTargetSlices; slice < predict::kSlices; ++slice) {
          if (const auto& speed = input.data->classes[job_class].speed[slice]) {
            speeds[slice].add(*speed);
          }
        }
      }
    }
    for (std::size_t column = 0; column < kColumns; ++column) {
      predict::SlicePrediction& cell = cells_[column].emplace();
      for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
        cell.time[slice] = times[slice][column].mean().value_or(1);
      }
      set_speeds(cell);
      for (std::size_t slice = kTargetSlices; slice < predict::kSlices; ++slice) {
        cell.speed[slice] = speeds[slice].mean().value_or(cell.speed[slice - 1]);
      }
    }
  }

  std::string_view name() const override { return "mean"; }
  predict::SlicePredictions estimate(const TrainingRow&) const override { return cells_; }

 private:
  predict::SlicePredictions cells_;
};

class MeanOfJobs final : public Baseline {
 public:
  explicit MeanOfJobs(const BaselineInput& input) {
    std::array<MeanSum, kTargetSlices> times;
    std::array<MeanSum, predict::kSlices> speeds;
    for (const int index : input.rows) {
      const TrainingRow& row = input.data->rows[static_cast<std::size_t>(index)];
      for (std::size_t column = 0; column < kColumns; ++column) {
        const JobClass& job = input.data->classes[static_cast<std::size_t>(row.classes[column])];
        for (std::size_t slice = 0; slice < kTargetSlices && !job.is_dummy; ++slice) {
          times[slice].add(row.target[slice][column]);
        }
        for (std::size_t slice = 0; slice < predict::kSlices && !job.is_dummy; ++slice) {
          if (const std::optional<double>& speed = job.speed[slice]) {
            speeds[slice].add(*speed);
          }
        }
      }
    }
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      mean_.time[slice] = times[slice].mean().value_or(1);
    }
    for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
      mean_.speed[slice] = speeds[slice].mean().value_or(1);
    }
  }

  std::string_view name() const override { return "mean of jobs"; }
  predict::SlicePredictions estimate(const TrainingRow&) const override {
    predict::SlicePredictions all;
    all.fill(mean_);
    return all;
  }

 private:
  predict::SlicePrediction mean_;
};

class NearestLevel final : public Baseline {
 public:
  explicit NearestLevel(predict::SliceRegression regression) : regression_(regression) {}

  std::string_view name() const override { return "nearest level"; }
  predict::SlicePredictions estimate(const TrainingRow& row) const override {
    predict::SlicePredictions all;
    for (std::size_t column = 0; column < kColumns; ++column) {
      predict::SlicePrediction& one = all[column].emplace();
      one.time = {row.input[0][column], row.input[1][column], row.input[1][column]};
      set_speeds(one);
      complete(regression_, one);
    }
    return all;
  }

 private:
  predict::SliceRegression regression_;
};

class Ridge final : public Baseline {
 public:
  Ridge(const BaselineInput& input, predict::SliceRegression regression) : regression_(regression) {
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(kCells + 1, kCells + 1);
    Eigen::MatrixXd cross = Eigen::MatrixXd::Zero(kCells + 1, kCells);
    for (const int index : input.rows) {
      const TrainingRow& row = input.data->rows[static_cast<std::size_t>(index)];
      const Eigen::VectorXd in = inputs_of(row);
      Eigen::VectorXd out(kCells);
      for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          out(static_cast<int>(slice * kColumns + column)) = row.target[slice][column];
        }
      }
      gram += in * in.transpose();
      cross += in * out.transpose();
    }
    gram.diagonal().array() += kRidge * static_cast<double>(input.rows.size());
    weights_ = gram.ldlt().solve(cross).transpose();
  }

  std::string_view name() const override { return "ridge"; }
  predict::SlicePredictions estimate(const TrainingRow& row) const override {
    const Eigen::VectorXd out = weights_ * inputs_of(row);
    predict::SlicePredictions all;
    for (std::size_t column = 0; column < kColumns; ++column) {
      predict::SlicePrediction& one = all[column].emplace();
      for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
        one.time[slice] = out(static_cast<int>(slice * kColumns + column));
      }
      set_speeds(one);
      complete(regression_, one);
    }
    return all;
  }

 private:
  static Eigen::VectorXd inputs_of(const TrainingRow& row) {
    Eigen::VectorXd in(kCells + 1);
    for (std::size_t level = 0; level < kLevels; ++level) {
      for (std::size_t column = 0; column < kColumns; ++column) {
        in(static_cast<int>(level * kColumns + column)) = row.input[level][column];
      }
    }
    in(kCells) = 1;
    return in;
  }

  predict::SliceRegression regression_;
  Eigen::MatrixXd weights_;
};

class NearestColumns final : public Baseline {
 public:
  explicit NearestColumns(const BaselineInput& input) : data_(input.data) {
    std::set<int> measurements;  // permutations of a row hold the same columns
    for (const int index : input.rows) {
      const TrainingRow& row = data_->rows[static_cast<std::size_t>(index)];
      if (!measurements.insert(row.measurement).second) {
        continue;
      }
      for (std::size_t column = 0; column < kColumns; ++column) {
        known_.push_back({features_of(row, column), row.classes[column]});
      }
    }
  }

  std::string_view name() const override { return "kNN-9"; }
  predict::SlicePredictions estimate(const TrainingRow& row) const override {
    predict::SlicePredictions all;
    std::vector<std::pair<double, int>> nearest(known_.size());
    for (std::size_t column = 0; column < kColumns; ++column) {
      const Features features = features_of(row, column);
      for (std::size_t i = 0; i < known_.size(); ++i) {
        double distance = 0;
        for (std::size_t f = 0; f < features.size(); ++f) {
          const double difference = features[f] - known_[i].features[f];
          distance += difference * difference;
        }
        nearest[i] = {distance, static_cast<int>(i)};
      }
      const auto count = static_cast<std::ptrdiff_t>(std::min(kNeighbours, nearest.size()));
      std::partial_sort(nearest.begin(), nearest.begin() + count, nearest.end());
      all[column] = mean_of(std::span(nearest).first(static_cast<std::size_t>(count)));
    }
    return all;
  }

 private:
  using Features = std::array<double, 2 * kLevels>;
  struct Known {
    Features features;
    int job_class = 0;
  };

  static Features features_of(const TrainingRow& row, std::size_t column) {
    Features features{};
    for (std::size_t level = 0; level < kLevels; ++level) {
      double others = 0;
      for (std::size_t other = 0; other < kColumns; ++other) {
        others += other == column ? 0 : row.input[level][other];
      }
      features[level] = row.input[level][column];
      features[kLevels + level] = others / static_cast<double>(kColumns - 1);
    }
    return features;
  }

  predict::SlicePrediction mean_of(std::span<const std::pair<double, int>> nearest) const {
    std::array<MeanSum, kTargetSlices> times;
    std::array<MeanSum, predict::kSlices> speeds;
    for (const auto& [distance, index] : nearest) {
      const JobClass& job = data_->classes[static_cast<std::size_t>(
          known_[static_cast<std::size_t>(index)].job_class)];
      for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
        times[slice].add(job.time[slice]);
      }
      for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
        if (const std::optional<double>& speed = job.speed[slice]) {
          speeds[slice].add(*speed);
        }
      }
    }
    predict::SlicePrediction mean;
    for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
      mean.time[slice] = times[slice].mean().value_or(1);
    }
    for (std::size_t slice = 0; slice < predict::kSlices; ++slice) {
      // Where no neighbour fits: the cautious end, the speed share by share.
      const double share = slice == 0
                               ? 1
                               : mean.speed[slice - 1] * predict::kSliceComputeSlices[slice] /
                                     predict::kSliceComputeSlices[slice - 1];
      mean.speed[slice] = speeds[slice].mean().value_or(share);
    }
    return mean;
  }

  const TrainingData* data_;
  std::vector<Known> known_;
};

class TrueWithRegression final : public Baseline {
 public:
  TrueWithRegression(const TrainingData& data, predict::SliceRegression regression)
      : data_(&data), regression_(regression) {}

  std::string_view name() const override { return "true + regression"; }
  predict::SlicePredictions estimate(const TrainingRow& row) const override {
    predict::SlicePredictions all;
    for (std::size_t column = 0; column < kColumns; ++column) {
      const JobClass& job = data_->classes[static_cast<std::size_t>(row.classes[column])];
      predict::SlicePrediction& one = all[column].emplace();
      for (std::size_t slice = 0; slice < kTargetSlices; ++slice) {
        one.time[slice] = row.target[slice][column];
        one.speed[slice] = job.speed[slice].value_or(0);
      }
      complete(regression_, one);
    }
    return all;
  }

 private:
  const TrainingData* data_;
  predict::SliceRegression regression_;
};

}  // namespace

Result<std::vector<std::unique_ptr<Baseline>>> fit_baselines(const BaselineInput& input) {
  SEPTULE_TRY(const predict::SliceRegression regression, fit_regression(input));
  std::vector<std::unique_ptr<Baseline>> all;
  all.push_back(std::make_unique<MeanOfCells>(input));
  all.push_back(std::make_unique<MeanOfJobs>(input));
  all.push_back(std::make_unique<NearestLevel>(regression));
  all.push_back(std::make_unique<Ridge>(input, regression));
  all.push_back(std::make_unique<NearestColumns>(input));
  all.push_back(std::make_unique<TrueWithRegression>(*input.data, regression));
  return all;
}

}  // namespace septule::learn_train
