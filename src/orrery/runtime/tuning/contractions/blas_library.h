// Other libraries' products, where they are installed: OpenBLAS and oneDNN, by their C interfaces. They are candidates
// beside Orrery's own kernels when contractions are measured, and run where a layout file says so.
//
// Libraries are opened when they are first asked for and stay until the program ends. Nothing is linked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/runtime/kernels/product.h"

namespace orrery::tuning {

class BlasLibrary {
 public:
  // Those that this machine has, always in the same order.
  static const std::vector<BlasLibrary>& installed();
  static const BlasLibrary* find(std::string_view name);  // nullptr where it is not installed

  const std::string& name() const { return name_; }  // "openblas", "onednn"

  // Whether the product is one that multiply() computes: fp32, without anything done to its result.
  static bool takes(const kernels::Product& product);
  // On the context's threads: of a batch, each computes matrices of its own. Sums are added in the library's order,
  // which may depend on the number of threads.
  void multiply(kernels::Context& context, const kernels::Product& product) const;

 private:
  using Function = void (*)();
  enum class Kind { kOpenBlas, kOneDnn };
  BlasLibrary(std::string name, Kind kind, Function product, Function threads)
      : name_(std::move(name)), kind_(kind), product_(product), threads_(threads) {}
  void set_threads(int count) const;
  void one(const kernels::Product& product, kernels::Index item) const;

  std::string name_;
  Kind kind_;
  Function product_, threads_;
};

}  // namespace orrery::tuning
