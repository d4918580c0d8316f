// Kernels of one layer after the other, with the sizes of their tensors worked out and checked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_builder.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

// Kernels of a layer by their names without the layer's number.
using LayerNodes = std::map<std::string, int>;

inline constexpr int kNoNode = -1;

class LayerWriter {
 public:
  // `word`: bytes of an element. `decode`: weights are read from memory for the one token, by `chips` chips together.
  LayerWriter(KernelGraph& graph, base::Diagnostics& found, base::Count word, bool decode, base::Count chips)
      : graph_(graph), found_(found), word_(word), decode_(decode), chips_(static_cast<double>(chips)) {}

  // From here on names end in `suffix` and what is added is found in `nodes`.
  void begin(std::string suffix, LayerNodes& nodes, Direction direction) {
    suffix_ = std::move(suffix);
    nodes_ = &nodes;
    direction_ = direction;
  }

  // Elements of named factors; 1, and O1485 once, where 64 bits do not hold the bytes.
  base::Count elements(const char* what, std::initializer_list<base::Count> factors);

  // A product by a weight of outer x M x K elements, whose input has outer x K rows if `dealt` (each part of the index
  // space its own), else K.
  Kernel weighted(const std::string& name, KernelSpace space, bool dealt = false);
  // Elements of both inputs; the output's are outer x M x N.
  Kernel product(const std::string& name, KernelSpace space, base::Count first, base::Count second);
  Kernel unary(const std::string& name, KernelSpace space, base::Count input);
  Kernel binary(const std::string& name, KernelSpace space, base::Count first, base::Count second);
  // The gradient of outer weights of `in` x `out`, summed over `tokens` and over the replicas.
  Kernel update(const std::string& of, base::Count outer, base::Count in, base::Count out, base::Count tokens);

  // Adds a kernel and an edge from each of `from` that is a node.
  int add(Kernel kernel, const std::vector<int>& from);
  void connect(int from, int to) { connect(from, to, Communication::kNone, 0); }
  void connect(int from, int to, Communication communication, double bytes);

  // kNoNode where the layer has none.
  int at(const std::string& name) const;

  bool decodes() const { return decode_; }
  double chips() const { return chips_; }
  double word() const { return static_cast<double>(word_); }
  double bytes(base::Count elements) const { return static_cast<double>(elements) * word(); }
  base::Diagnostics& found() { return found_; }

 private:
  KernelGraph& graph_;
  base::Diagnostics& found_;
  base::Count word_;
  bool decode_;
  double chips_;
  std::string suffix_;
  LayerNodes* nodes_ = nullptr;
  Direction direction_ = Direction::kForward;
};

}  // namespace orrery::workload
