// A generated graph of kernels, from what the user said: the kind, sizes by name, or a model of the catalogue.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::verbs {

struct GraphKind {
  std::string name;  // "llm-fwd"
  std::string what;  // one line
};

// "llm", "llm-fwd", "llm-bwd", "decode", "attention", "dlrm", "hpl", "fft", "hyena",
// "hyena-vector", "hyena-butterfly".
const std::vector<GraphKind>& graph_kinds();

// A size that a generator takes.
struct GraphSize {
  std::string name;                  // as parameters are called: "head_dim"
  std::vector<std::string> options;  // on the command line; the first is Orrery's own word, others are DFModel's
  std::string what;                  // for help
  std::vector<std::string> needed;   // kinds that cannot be made without it; models say those of language models
  std::vector<std::string> taken;    // further kinds that know it
};
const std::vector<GraphSize>& graph_sizes();

struct GraphRequest {
  std::string kind;
  std::string model;                         // catalogue name or path; empty: sizes say everything
  std::vector<std::string> ignored;          // keys of its config.json to leave out of account
  std::string like;                          // a `model_type` to read it as; empty: its own
  std::map<std::string, base::Count> sizes;  // by GraphSize::name
  bool gated = false;
  std::string stack;  // "encoder" or "decoder", of a model that has both; empty: the decoder
};

struct GeneratedGraph {
  std::string kind;
  std::string model;  // its name; empty: none
  workload::KernelGraph graph;
  std::optional<workload::Block> layer;                         // the first of a language model's graph
  std::vector<std::pair<std::string, base::Count>> parameters;  // as used, defaults among them
  std::vector<std::string> notes;                               // what of the model the kernels do not show
  std::vector<std::string>
      left_out;  // those of the notes that tell of other layers, for which the graph does not stand
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  // The value of a parameter; 0 where it has none.
  base::Count parameter(std::string_view name) const;
};

// Throws InputError: O1480 no such kind, O1481 for each size that is missing, O1487 for each that the kind does not
// know, what the catalogue says about the model, and what the generators say about sizes and layers (O0923, O1482 to
// O1486, O1488 to O1491).
GeneratedGraph generate_graph(const GraphRequest& request);

// 2 outer M K N on matrix units, outer M N on vector lanes, as DFModel counts; of a graph the sum.
double flop(const workload::Kernel& kernel);
double flop(const workload::KernelGraph& graph);

}  // namespace orrery::verbs
