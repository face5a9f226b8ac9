#include "predict/signature_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::predict {
namespace {

Error invalid(std::string message) {
  return {.code = ErrorCode::kInvalidInput, .message = std::move(message)};
}

double part_of(ActiveThreadPercentage atp) {
  return static_cast<double>(atp.value()) / 100;
}

/// Share of the GPU's compute slices, less what MIG takes of its SMs.
double share_by_slices(const gpu::Geometry& gpu, const gpu::GpuInstanceProfile& profile) {
  const gpu::GpuFacts& facts = gpu.facts();
  const double with_mig =
      facts.sm_total.has_value() && facts.sm_with_mig.has_value()
          ? static_cast<double>(*facts.sm_with_mig) / static_cast<double>(*facts.sm_total)
          : 1;
  return with_mig * static_cast<double>(profile.slices.value()) /
         static_cast<double>(gpu.compute_slices().value());
}

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

Status check_ratio(const GpuRatio& ratio, std::string_view key) {
  if (!is_positive(ratio.compute) || !is_positive(ratio.bandwidth) ||
      !is_positive(ratio.sm_speed.value_or(1))) {
    return invalid(fmt::format(
        "the ratio of {} to the measured GPU is compute {}, bandwidth {}, SM speed {}; valid: "
        "finite numbers above 0",
        key,
        ratio.compute,
        ratio.bandwidth,
        ratio.sm_speed.has_value() ? fmt::format("{}", *ratio.sm_speed) : "N/A"));
  }
  return {};
}

}  // namespace

Result<PlaceResources> place_resources(const Place& place, ActiveThreadPercentage atp) {
  if (place.gpu == nullptr) {
    return invalid("a place names no GPU model");
  }
  if (atp.value() < 1 || atp.value() > 100) {
    return invalid(fmt::format("the active thread percentage is {}; valid: 1 to 100", atp.value()));
  }
  PlaceResources out;
  if (place.profile.has_value()) {
    const gpu::Geometry& gpu = *place.gpu;
    const int index = place.profile->value();
    if (index < 0 || static_cast<std::size_t>(index) >= gpu.profiles().size()) {
      return invalid(fmt::format(
          "{} has no profile number {}; valid: below {}", gpu.key(), index, gpu.profiles().size()));
    }
    const gpu::GpuInstanceProfile& profile = gpu.profile(*place.profile);
    const std::optional<int> total = gpu.facts().sm_total;
    if (profile.sm_count.has_value() && total.has_value()) {
      out.resources.compute = static_cast<double>(*profile.sm_count) / static_cast<double>(*total);
    } else {
      out.is_estimated = true;
      out.resources.compute = share_by_slices(gpu, profile);
    }
    out.resources.bandwidth = static_cast<double>(profile.size().value()) /
                              static_cast<double>(gpu.memory_slices().value());
  }
  out.resources.compute *= part_of(atp);
  return out;
}

Result<SignatureModel> SignatureModel::fit(const gpu::Geometry& measured_on,
                                           std::span<const MeasuredStep> steps,
                                           const SignatureOptions& options) {
  if (options.kernel_count.has_value() && *options.kernel_count < 1) {
    return invalid(
        fmt::format("the number of kernels is {}; valid: 1 or more", *options.kernel_count));
  }
  std::vector<SoloPoint> points;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Result<PlaceResources> at =
        place_resources({.gpu = &measured_on, .profile = steps[i].profile}, steps[i].atp);
    if (!at) {
      return invalid(fmt::format("step time {}: {}", i + 1, at.error().message));
    }
    points.push_back({.at = at->resources, .step = steps[i].step});
  }
  SEPTULE_TRY(SoloFit solo, SoloFit::make(points, options.solo));
  SignatureModel model(measured_on, std::move(solo));
  model.kernel_count_ = options.kernel_count;
  return model;
}

Result<PlaceResources> SignatureModel::resources(const Place& place,
                                                 ActiveThreadPercentage atp,
                                                 const std::optional<GpuRatio>& ratio) const {
  SEPTULE_TRY(PlaceResources out, place_resources(place, atp));
  if (!ratio.has_value()) {
    if (place.gpu->key() != measured_on_->key()) {
      return invalid(
          fmt::format("the job was measured on {}, and how fast {} is in comparison is not known; "
                      "give the ratios of compute and of bandwidth",
                      measured_on_->key(),
                      place.gpu->key()));
    }
    return out;
  }
  SEPTULE_TRY_STATUS(check_ratio(*ratio, place.gpu->key()));
  double sm_speed = ratio->sm_speed.value_or(0);
  if (!ratio->sm_speed.has_value()) {
    const std::optional<int> there = place.gpu->facts().sm_total;
    const std::optional<int> here = measured_on_->facts().sm_total;
    if (!there.has_value() || !here.has_value()) {
      return invalid(
          fmt::format("the number of SMs of {} is not published; give the speed of one "
                      "SM relative to one of {}",
                      there.has_value() ? measured_on_->key() : place.gpu->key(),
                      measured_on_->key()));
    }
    sm_speed = ratio->compute * static_cast<double>(*here) / static_cast<double>(*there);
  }
  out.resources.compute *= ratio->compute;
  out.resources.bandwidth *= ratio->bandwidth;
  out.resources.sm_speed = sm_speed;
  return out;
}

Result<SpeedBelief> SignatureModel::speed(const Place& place,
                                          ActiveThreadPercentage atp,
                                          const std::optional<GpuRatio>& ratio) const {
  SEPTULE_TRY(const PlaceResources at, resources(place, atp, ratio));
  return solo_.speed(at.resources, Resources{});
}

namespace {

/// Adds the parts of a step alone.
void add_alone(const SoloTerms& terms, double step, LimitShares& limits) {
  limits.of(Limit::kSerial) += terms.serial / step;
  limits.of(Limit::kCompute) += terms.compute * terms.used / step;
  limits.of(Limit::kUnusableSms) += terms.compute * (1 - terms.used) / step;
  limits.of(Limit::kMemory) += terms.memory / step;
}

/// `out[i].alone` is filled. Kernels take turns.
void share_by_turns(std::span<const SignatureClient> clients, std::span<ShareBelief> out) {
  bool knows_kernels = true;
  for (const SignatureClient& client : clients) {
    knows_kernels &= client.model->kernel_count().has_value();
  }
  std::vector<InterferenceClient> sharing;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const int kernels = knows_kernels ? clients[i].model->kernel_count().value_or(kKernelsUnknown)
                                      : kKernelsUnknown;
    sharing.push_back(interference_client(out[i].alone.terms, kernels));
  }
  std::vector<double> rates(clients.size());
  std::vector<double> even(clients.size());
  const double exponent = knows_kernels ? kKernelExponent : kExponentWithoutKernels;
  InterferenceModel{.exponent = exponent}.rates(sharing, rates);
  InterferenceModel{.exponent = 0}.rates(sharing, even);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ShareBelief& belief = out[i];
    belief.rate = rates[i];
    belief.knows_kernels = knows_kernels;
    belief.together = belief.alone;
    belief.together.step = belief.alone.step / rates[i];
    const double wait = 1 - rates[i];  // part of the step
    const double error = (knows_kernels ? kWaitError : kWaitErrorWithoutKernels) * wait;
    belief.together.log_sd = std::hypot(belief.alone.log_sd, error);
    add_alone(belief.alone.terms, belief.together.step, belief.limits);
    const double even_wait = std::min(wait, rates[i] * (1 / even[i] - 1));
    belief.limits.of(Limit::kCoRunners) = even_wait;
    belief.limits.of(Limit::kKernelLength) = wait - even_wait;
  }
}

/// `out[i].alone` is filled. Each has its own part of the SMs.
void share_by_parts(std::span<const SignatureClient> clients,
                    std::span<const Resources> whole,
                    double contention,
                    std::span<ShareBelief> out) {
  double sum = 0;
  for (const SignatureClient& client : clients) {
    sum += part_of(client.atp);
  }
  std::vector<PartedClient> parted;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const double part = capped_part(part_of(clients[i].atp), sum);
    Resources at = whole[i];
    at.compute *= part;
    out[i].together = clients[i].model->solo().predict(at);
    const SoloTerms& terms = out[i].together.terms;
    const double step = terms.step();
    parted.push_back({.part = part, .serial = terms.serial / step, .memory = terms.memory / step});
  }
  std::vector<double> rates(clients.size());
  parted_rates(parted, contention, rates);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ShareBelief& belief = out[i];
    const double own = belief.together.step;
    const double together = own / rates[i];
    belief.together.step = together;
    belief.rate = std::min(1.0, belief.alone.step / together);
    belief.together.log_sd = std::hypot(belief.together.log_sd, kWaitError * (1 - rates[i]));
    const double capped = std::max(own - belief.alone.step, 0.0);
    add_alone(belief.alone.terms, together, belief.limits);
    belief.limits.of(Limit::kPercentage) = capped / together;
    belief.limits.of(Limit::kCoRunners) = 1 - rates[i];
  }
}

}  // namespace

Result<std::vector<ShareBelief>> predict_sharing(const Place& place,
                                                 std::span<const SignatureClient> clients,
                                                 double contention) {
  if (clients.empty() || clients.size() > kMpsClientsMax) {
    return invalid(
        fmt::format("{} jobs share a GPU; valid: 1 to {}", clients.size(), kMpsClientsMax));
  }
  std::vector<ShareBelief> out(clients.size());
  std::vector<Resources> whole;
  bool has_percentages = false;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const SignatureClient& client = clients[i];
    if (client.model == nullptr) {
      return invalid(fmt::format("job {} has no model", i + 1));
    }
    if (client.atp.value() < 1 || client.atp.value() > 100) {
      return invalid(fmt::format("job {}: the active thread percentage is {}; valid: 1 to 100",
                                 i + 1,
                                 client.atp.value()));
    }
    const Result<PlaceResources> at =
        client.model->resources(place, ActiveThreadPercentage(100), client.ratio);
    if (!at) {
      return invalid(fmt::format("job {}: {}", i + 1, at.error().message));
    }
    has_percentages |= client.atp.value() < 100;
    whole.push_back(at->resources);
    out[i].alone = client.model->solo().predict(at->resources);
    out[i].is_estimated = at->is_estimated;
  }
  if (has_percentages) {
    share_by_parts(clients, whole, contention, out);
  } else {
    share_by_turns(clients, out);
  }
  return out;
}

}  // namespace septule::predict
