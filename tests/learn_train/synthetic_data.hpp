#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "learn/weights_file.hpp"
#include "learn_train/training_data.hpp"

namespace septule::test {

/// Training data in the files' own form, made up: two families of two jobs each and the filler.
/// Made so that step times at the levels tell which job it is. A plain value.
struct SyntheticData {
  std::array<learn_train::TrainingFile, learn_train::kTrainingFiles.size()> files;
};

inline std::string npy_text(const std::vector<float>& values, const std::string& shape) {
  std::string heading =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape);
  while ((heading.size() + 11) % 64 != 0) {
    heading += ' ';
  }
  heading += '\n';
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\x00';
  text += static_cast<char>(heading.size() & 0xFFU);
  text += static_cast<char>(heading.size() >> 8U);
  text += heading;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned byte = 0; byte < 4; ++byte) {
      text += static_cast<char>((bits >> (8 * byte)) & 0xFFU);
    }
  }
  return text;
}

/// Step times in seconds of the four jobs on 7g, 4g, 3g, 2g, 1g; 0 = does not fit.
inline constexpr std::array<std::array<double, 5>, 4> kSyntheticSteps = {
    {{0.1000, 0.1200, 0.1600, 0.2500, 0.5000},
     {0.1000, 0.1600, 0.2000, 0.2800, 0.0},
     {0.0500, 0.0500, 0.0500, 0.0625, 0.1000},
     {0.2000, 0.2500, 0.4000, 0.0, 0.0}}};
inline constexpr int kSyntheticDummy = 4;

using SyntheticTriples = std::array<std::array<double, 3>, 5>;

/// The rows and both arrays.
inline void add_synthetic_rows(SyntheticData& data,
                               const SyntheticTriples& triples,
                               int measurements,
                               std::uint64_t seed) {
  std::string rows = "row,n_active,measurement,mix,val5,c0,c1,c2,c3,c4,c5,c6\n";
  std::vector<float> input;
  std::vector<float> target;
  Rng rng(seed);
  int row = 0;
  for (int m = 0; m < measurements; ++m) {
    const int active = 1 + static_cast<int>(rng.below(4));
    std::array<int, 7> column_class{};
    std::array<std::array<double, 3>, 7> times{};
    for (int column = 0; column < 7; ++column) {
      const int job = column < active ? static_cast<int>(rng.below(4)) : kSyntheticDummy;
      column_class[static_cast<std::size_t>(column)] = job;
      // The smaller the share, the slower, each job in its own measure.
      const double middle = 0.35 + 0.1 * job + 0.02 * rng.uniform();
      const double fast = 0.15 + 0.05 * job + 0.02 * rng.uniform();
      times[static_cast<std::size_t>(column)] = {fast, middle, 1.0};
    }
    for (int permutation = 0; permutation < 2; ++permutation) {
      rows += fmt::format("{},{},{},{},{}", row++, active, m, m, m % 5);
      const auto at = [&](std::size_t column) {
        return permutation == 0 ? column : (column + 3) % 7;
      };
      for (std::size_t column = 0; column < 7; ++column) {
        rows += fmt::format(",{}", column_class[at(column)]);
      }
      rows += '\n';
      for (std::size_t level = 0; level < 3; ++level) {
        for (std::size_t column = 0; column < 7; ++column) {
          input.push_back(static_cast<float>(times[at(column)][level]));
          target.push_back(static_cast<float>(
              triples[static_cast<std::size_t>(column_class[at(column)])][level]));
        }
      }
    }
  }
  data.files[2].text = rows;
  const std::string shape = fmt::format("({}, 3, 7)", row);
  data.files[0].text = npy_text(input, shape);
  data.files[1].text = npy_text(target, shape);
}

/// `measurements` of 1 to 4 real jobs each, two permutations of every one.
inline SyntheticData synthetic_data(int measurements, std::uint64_t seed = 7) {
  SyntheticData data;
  for (std::size_t i = 0; i < data.files.size(); ++i) {
    data.files[i].source_name = learn_train::kTrainingFiles[i];
  }
  const std::array<std::pair<const char*, int>, 4> jobs = {
      {{"alpha", 1}, {"alpha", 2}, {"beta", 1}, {"beta", 2}}};
  std::string classes = "class_id,model,batch,target_7g,target_4g,target_3g,columns\n";
  std::string profiles = "model,batch,slice,fits,mean_step_s_artifact\n";
  std::string util = "model,batch,memory_mb_util,power_w,util_sm_pct,util_mem_pct\n";
  SyntheticTriples triples{};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto& steps = kSyntheticSteps[i];
    const double largest = std::max({steps[0], steps[1], steps[2]});
    for (std::size_t slice = 0; slice < 3; ++slice) {
      triples[i][slice] = std::round(steps[slice] / largest * 1e4) / 1e4;
    }
    for (std::size_t slice = 0; slice < 5; ++slice) {
      profiles += fmt::format("{},{},{}g.0gb,{},{}\n",
                              jobs[i].first,
                              jobs[i].second,
                              std::array{7, 4, 3, 2, 1}[slice],
                              steps[slice] > 0 ? 1 : 0,
                              steps[slice] > 0 ? fmt::format("{}", steps[slice]) : "");
    }
    util += fmt::format("{},{},{},{},{},{}\n",
                        jobs[i].first,
                        jobs[i].second,
                        1000 + 500 * i,
                        100 + 20 * i,
                        20 + 10 * i,
                        5 + i);
  }
  triples[kSyntheticDummy] = {0.8889, 1.0, 0.8889};
  util += "dummy,32,1400,36,35,0\n";
  for (std::size_t i = 0; i < triples.size(); ++i) {
    classes += fmt::format("{},{},{},{},{},{},0\n",
                           i,
                           i < 4 ? jobs[i].first : "dummy",
                           i < 4 ? jobs[i].second : 32,
                           triples[i][0],
                           triples[i][1],
                           triples[i][2]);
  }
  add_synthetic_rows(data, triples, measurements, seed);
  data.files[3].text = classes;
  data.files[4].text = profiles;
  data.files[5].text = util;
  return data;
}

inline learn_train::TrainingData parsed_synthetic_data(int measurements, std::uint64_t seed = 7) {
  return learn_train::parse_training_data(synthetic_data(measurements, seed).files).value();
}

/// The published data, from the folder that holds them.
inline Result<learn_train::TrainingData> shared_training_data(const std::filesystem::path& folder) {
  std::array<learn_train::TrainingFile, learn_train::kTrainingFiles.size()> files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::ifstream in(folder / learn_train::kTrainingFiles[i], std::ios::binary);
    files[i] = {.text = std::string(std::istreambuf_iterator<char>(in), {}),
                .source_name = learn_train::kTrainingFiles[i]};
  }
  return learn_train::parse_training_data(files);
}

/// A weights file of these weights, with a recipe, as the program that trains writes it.
inline std::string weights_bytes(learn::NetworkWeights weights) {
  weights.recipe.command = "a test";
  weights.recipe.data_digest = "0123456789abcdef";
  return learn::write_weights(weights);
}

}  // namespace septule::test
