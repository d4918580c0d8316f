// The seam between a layer's equations and what computes them: kernels for fp32 and bf16, plain loops for fp64 and
// fp16, nothing at all while the layer is planned. Each operator is counted here: its operations, its bytes, and its
// time when a profile is attached.
#pragma once

#include <string_view>
#include <vector>

#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/kernels/rows.h"
#include "orrery/runtime/layer/arena.h"
#include "orrery/runtime/layer/attention_core.h"
#include "orrery/runtime/layer/profile.h"
#include "orrery/runtime/layer/shape.h"
#include "orrery/runtime/layer/tokens.h"

namespace orrery::layer {

struct Cost {
  double operations = 0, bytes = 0;
};

class Operators {
 public:
  Operators(Arena& arena, kernels::Type type) : arena_(arena), type_(type) {}

  kernels::Context* context = nullptr;       // null while planning
  Profile* profile = nullptr;                // null: not recorded
  std::vector<Operator>* planned = nullptr;  // while planning
  bool backward = false;                     // which pass runs

  void multiply(std::string_view name, const kernels::Product& product);
  void finish(std::string_view name, const kernels::Finish& rows);
  void normalise(std::string_view name, const kernels::Normalise& rows);
  void normalise_back(std::string_view name, const kernels::NormaliseBack& rows);
  void rotate(std::string_view name, const kernels::Rotate& rows, double base);
  // By the core, if there is one.
  void attend(std::string_view name, const kernels::Attention& attention, AttentionCore* core);
  void attend_back(std::string_view name, const kernels::Attention& attention, AttentionCore* core);
  void gather(std::string_view name, const Tokens& tokens, const void* padded, void* rows, Index columns);
  void scatter(std::string_view name, const Tokens& tokens, const void* rows, void* padded, Index columns);
  // Rows of `columns` elements, each `from_stride` behind the one before, as rows of another tensor; of sequence b the
  // first is row `first` + b * `sequence` there.
  void append(std::string_view name, const Tokens& tokens, const void* from, Index from_stride, Index columns, void* to,
              Index first, Index sequence);

 private:
  template <class Count, class Run>
  void run(std::string_view name, Count cost, Run work);

  Arena& arena_;
  kernels::Type type_;
};

}  // namespace orrery::layer
