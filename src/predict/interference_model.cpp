#include "predict/interference_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.hpp"
#include "base/portable_math.hpp"

namespace septule::predict {
namespace {

double raised(double base, double exponent) {
  return portable_exp(exponent * portable_log(base));
}

using Figures = std::array<double, kMpsClientsMax>;

}  // namespace

InterferenceClient interference_client(const SoloTerms& alone,
                                       int kernels,
                                       double unused_exponent) {
  SEPTULE_CHECK(kernels >= 1, "a step has kernels");
  const double step = alone.step();
  const double room = alone.used < 1 ? raised(alone.used, unused_exponent) : 1;
  const double work = alone.compute * room + alone.memory;
  return {.serial = alone.serial / step,
          .busy = work / step,
          .kernel_length = work / static_cast<double>(kernels)};
}

double capped_part(double part, double sum) {
  return part / std::max(1.0, sum);
}

void parted_rates(std::span<const PartedClient> clients, double contention, std::span<double> out) {
  SEPTULE_CHECK(!clients.empty(), "somebody runs");
  SEPTULE_CHECK(clients.size() <= kMpsClientsMax, "a daemon has at most kMpsClientsMax clients");
  SEPTULE_CHECK(clients.size() == out.size(), "one rate for each client");
  double bandwidth = 0;
  double pressure = 0;
  for (const PartedClient& client : clients) {
    bandwidth += client.memory;
    pressure += client.part * (1 - client.serial);
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const PartedClient& client = clients[i];
    const double work = 1 - client.serial;
    const double others = std::max(pressure - client.part * work, 0.0);
    const double waiting =
        client.memory * std::max(bandwidth - 1, 0.0) + work * contention * others;
    out[i] = 1 / (1 + waiting);
  }
}

void InterferenceModel::rates(std::span<const InterferenceClient> clients,
                              std::span<double> out) const {
  const std::size_t count = clients.size();
  SEPTULE_CHECK(count >= 1, "somebody runs");
  SEPTULE_CHECK(count <= kMpsClientsMax, "a daemon has at most kMpsClientsMax clients");
  SEPTULE_CHECK(count == out.size(), "one rate for each client");
  Figures weight{};  // length to the power; 0 = never uses the GPU
  for (std::size_t i = 0; i < count; ++i) {
    const bool works = clients[i].busy > 0 && clients[i].kernel_length > 0;
    weight[i] = works ? raised(clients[i].kernel_length, exponent) : 0;
  }
  Figures stretch{};  // x
  stretch.fill(1);
  Figures present{};  // p
  Figures working{};  // u
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const double step = std::max(1.0, clients[i].serial + clients[i].busy * stretch[i]);
      present[i] = 1 - clients[i].serial / step;
      working[i] = weight[i] > 0 ? clients[i].busy * stretch[i] / (step - clients[i].serial) : 0;
    }
    double moved = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (weight[i] == 0) {
        continue;
      }
      // Delays in the order of their size would be exact to the last bit for every order of the
      // clients; in the order given they are so to some of the last bits.
      double next = 1;
      for (std::size_t j = 0; j < count; ++j) {
        if (j != i) {
          const double wait = working[j] * weight[j] / weight[i];
          next += present[j] * wait / (1 + (1 - present[j]) * wait);
        }
      }
      moved = std::max(moved, std::abs(next - stretch[i]) / next);
      out[i] = next;
    }
    for (std::size_t i = 0; i < count; ++i) {
      stretch[i] = weight[i] > 0 ? out[i] : 1;
    }
    if (moved <= kTolerance) {
      break;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = 1 / std::max(1.0, clients[i].serial + clients[i].busy * stretch[i]);
  }
}

}  // namespace septule::predict
