// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reciprocals, roots, powers, logarithms and trigonometry. Hardware approximates them: to 1 ulp in
// f32 and f16 (manual, 16.6; LLVM, "AMDGPU Usage"). Here each is computed in double and rounded, so
// it lies within 1 ulp of the hardware's result or of its neighbour. As LLVM assumes in its
// expansions of log2, exp2 and division, the f32 operations treat denormal inputs and results as 0.
#include <limits>
#include <numbers>

#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

// sin(2 pi a), exact if the result is 0 or +-1. The sine of an infinity is NaN.
double sine_of_turns(double a) {
  if (!std::isfinite(a)) return std::numeric_limits<double>::quiet_NaN();
  double turn = a - std::floor(a);  // exact: a has the bits of a float
  double sign = 1;
  if (turn >= 0.5) {
    turn -= 0.5;
    sign = -1;
  }
  if (turn > 0.25) turn = 0.5 - turn;
  if (turn == 0) return std::signbit(a) ? -0.0 : 0.0;
  return sign * (turn == 0.25 ? 1 : std::sin(2 * std::numbers::pi * turn));
}
double cosine_of_turns(double a) {
  if (!std::isfinite(a)) return std::numeric_limits<double>::quiet_NaN();
  double turn = std::fabs(a) - std::floor(std::fabs(a));
  if (turn > 0.5) turn = 1 - turn;
  if (turn == 0.25) return 0;
  return turn < 0.25 ? std::cos(2 * std::numbers::pi * turn)
                     : -std::cos(2 * std::numbers::pi * (0.5 - turn));
}

template <double (*kFunction)(double)>
void add(LaneOperations& o, Opcode f32, Opcode f16, bool flushes) {
  o[f32] = lanes([](float a) { return static_cast<float>(kFunction(a)); });
  o[f32].flushes = flushes;
  o[f16] = lanes([](F16 a) { return to_half(to_odd_float(kFunction(to_float(a)))); });
}

double reciprocal(double a) { return 1 / a; }
double reciprocal_root(double a) { return 1 / std::sqrt(a); }
double root(double a) { return std::sqrt(a); }
double power(double a) { return std::exp2(a); }
double logarithm(double a) { return std::log2(a); }

}  // namespace

void add_transcendental(LaneOperations& o) {
  add<reciprocal>(o, Opcode::v_rcp_f32, Opcode::v_rcp_f16, true);
  o[Opcode::v_rcp_iflag_f32] = o[Opcode::v_rcp_f32];
  add<reciprocal_root>(o, Opcode::v_rsq_f32, Opcode::v_rsq_f16, true);
  add<root>(o, Opcode::v_sqrt_f32, Opcode::v_sqrt_f16, true);
  add<power>(o, Opcode::v_exp_f32, Opcode::v_exp_f16, true);
  add<logarithm>(o, Opcode::v_log_f32, Opcode::v_log_f16, true);
  add<sine_of_turns>(o, Opcode::v_sin_f32, Opcode::v_sin_f16, false);
  add<cosine_of_turns>(o, Opcode::v_cos_f32, Opcode::v_cos_f16, false);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
