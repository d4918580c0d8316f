// The interface between scales: "how long does this operator take on this accelerator?"
//
// An engine that composes operators (`cluster`: a training run) asks through this interface and need not know whether a
// roofline (roofline.h), a table of measurements (measured_operators.h) or the optimal loop nest of a chip answers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator.h"

namespace orrery::machine {

// One accelerator (the unit that a rank of a training run owns): its data sheet and what was calibrated of it.
struct Accelerator {
  std::string name;
  // Dense matrix peak by precision, FLOP/s (a multiply-accumulate is two). 0: the precision is not supported.
  std::array<double, kPrecisions> peak_flops_per_s{};
  base::Count units = 1;          // that a product's tiles are dealt to: streaming multiprocessors, matrix cores
  double memory_bytes = 0;        // capacity
  double on_chip_bytes = 0;       // of the memory on the chip that all units share; 0: not known
  double memory_bytes_per_s = 0;  // peak, reads and writes together
  double memory_efficiency = 1;   // share of that peak that streaming operators reach
  double matrix_efficiency = 1;   // share of the matrix peak that an endless product reaches
  std::array<double, kPrecisions> sustained = [] {  // of a precision, in units of it: power and operands differ
    std::array<double, kPrecisions> all{};
    all.fill(1);
    return all;
  }();
  double fill_depth = 0;               // pipeline fill and drain of one tile, in steps of K
  double host_seconds_per_op = 0;      // host time to issue one operator
  double host_bytes_per_s = 0;         // to the host's memory, a direction; 0: no such link
  base::Count host_sharers = 1;        // accelerators that have that link together
  double host_memory_bytes = 0;        // an accelerator's part of its host's memory; 0: not known
  double host_memory_bytes_per_s = 0;  // its part of that memory's bandwidth; 0: not known
  // Share of the 16-bit peak that an attention kernel reaches on long sequences at heads of 128, forwards; 0: unknown.
  std::array<double, kAttentionKernels> attention_efficiency{};

  double peak(Precision precision) const { return peak_flops_per_s[static_cast<int>(precision)]; }
  double efficiency(Precision precision) const {
    const double share = matrix_efficiency * sustained[static_cast<std::size_t>(precision)];
    return share < 1 ? share : 1;
  }
  // Where all accelerators of a host copy at once.
  double host_rate() const { return host_bytes_per_s / static_cast<double>(host_sharers); }
};

// Implementations are thread-safe and pure: the same question has the same answer. All answers in seconds.
class OperatorModel {
 public:
  virtual ~OperatorModel() = default;

  // Time on the device, operands and result in its memory. 0 for an empty product; infinite where the precision
  // is not supported.
  virtual double matrix_product_seconds(const MatrixProduct& product) const = 0;

  // The same of a product that makes the gradient of weights: neither operand lies as products with weights find them.
  // By default, like any other product.
  virtual double weight_gradient_seconds(const MatrixProduct& product) const { return matrix_product_seconds(product); }

  // Attention as one operator, forwards or backwards. Nothing, which is the default: not known as such; its products
  // count. What is known forwards alone counts where it takes less than they do.
  virtual std::optional<double> attention_seconds(const Operator& attention) const {
    static_cast<void>(attention);
    return std::nullopt;
  }

  // An operator limited by memory that moves `bytes`, reads and writes together.
  virtual double memory_bound_seconds(double bytes) const = 0;

  // One operation on each of `elements` numbers. By default: limited by memory, each element read and written once.
  virtual double elementwise_seconds(double elements, Precision precision) const {
    return memory_bound_seconds(2 * elements * bytes_per_element(precision));
  }

  // Time the host needs to issue one operator; it runs beside the device.
  virtual double issue_seconds() const = 0;

  // All that is known of one operator. Its seconds are those that the functions above say; what they do not know
  // (energy, levels) is left open. Attention that is not known as one operator is two products, each of the visible
  // share.
  virtual Cost cost(const Operator& one) const;
};

}  // namespace orrery::machine
