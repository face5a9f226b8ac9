#pragma once

namespace septule {

/// Natural logarithm of x > 0 and exponential of x in [-700, 700], from additions, multiplications
/// and divisions only. The functions of the C library differ in the last bit between versions and
/// processors, which would make one seed mean two runs. Relative error below 1e-14. Pure; any
/// thread.
double portable_log(double x);
double portable_exp(double x);

}  // namespace septule
