#pragma once

namespace septule::predict {

/// What a job has to run on, relative to the whole GPU (MIG off) on which its model counts. All >
/// 0; above 1 on a larger GPU. A plain value.
struct Resources {
  double compute = 1;    ///< SMs x active thread percentage x speed of one SM
  double bandwidth = 1;  ///< of device memory; MPS does not divide it
  double sm_speed = 1;   ///< of one SM: a job that cannot use more SMs still gains from faster ones
};

/// Where a step's time goes. Any unit, one for all figures of a job; all >= 0. A plain value.
struct SoloTerms {
  double serial = 0;   ///< host, launches: what no GPU makes shorter
  double compute = 0;  ///< as long as it is with the SMs that the job can use
  double memory = 0;
  double used = 1;  ///< part of the SMs given that the job can use, (0, 1]

  double step() const { return serial + compute + memory; }
};

/// The saturating additive roofline (performance-model.md section 2):
///   step = serial + compute / min(c, usable) + memory / b
/// with c and b of Resources. serial, compute, memory >= 0, not all 0; usable in (0, 1], where 1 is
/// no limit at all: none was seen, also not beyond the GPU measured. More resources never make it
/// slower. A plain value.
struct SoloLaw {
  double serial = 0;
  double compute = 0;
  double memory = 0;
  double usable = 1;

  SoloTerms terms(const Resources& at) const {
    const double limit = usable * at.sm_speed;
    const double used = usable < 1 && limit < at.compute ? limit : at.compute;
    return {.serial = serial,
            .compute = compute / used,
            .memory = memory / at.bandwidth,
            .used = used / at.compute};
  }
  double step(const Resources& at) const { return terms(at).step(); }
};

}  // namespace septule::predict
