// How long an operator takes on an accelerator, from its data sheet and four calibrated figures.
#pragma once

#include "orrery/describe/machine/operator_model.h"

namespace orrery::machine {

class Roofline final : public OperatorModel {
 public:
  explicit Roofline(const Accelerator& accelerator);

  double matrix_product_seconds(const MatrixProduct& product) const override;
  // By the rate of the kernel that `attention` names; nothing where it names none.
  std::optional<double> attention_seconds(const Operator& attention) const override;
  double memory_bound_seconds(double bytes) const override;
  double issue_seconds() const override;
  Cost cost(const Operator& one) const override;  // products as well are bound by compute or memory

 private:
  double traffic_seconds(const MatrixProduct& product) const;

  std::array<double, kPrecisions> peak_{};                  // FLOP/s; no kernel computes faster
  std::array<double, kAttentionKernels> attention_rate_{};  // FLOP/s, of long sequences at heads of 128, forwards
  static constexpr int kTileShapes = 4;
  std::array<std::array<double, kTileShapes>, kPrecisions> tile_step_{};  // seconds of one step of K, all units busy
  std::array<double, kPrecisions> element_step_{};  // of one element of the result, one step of K, all units busy
  double seconds_per_byte_ = 0;
  double issue_seconds_ = 0;
  double fill_depth_ = 0;
  base::Count units_ = 1;
  double inverse_units_ = 1;
};

}  // namespace orrery::machine
