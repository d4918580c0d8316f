// Kernel graphs of transformers: of a model, or of sizes alone.
#pragma once

#include <string>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/graphs/generate_graph.h"

namespace orrery::verbs {

// Sizes under their names: those asked for, else a default; what was used is remembered with the graph.
class GraphSizes {
 public:
  GraphSizes(const GraphRequest& request, GeneratedGraph& generated) : request_(request), generated_(generated) {}

  bool given(const std::string& name) const { return request_.sizes.count(name) > 0; }
  base::Count get(const std::string& name, base::Count otherwise) const {
    const auto size = request_.sizes.find(name);
    return size == request_.sizes.end() ? otherwise : size->second;
  }
  base::Count operator()(const std::string& name, base::Count otherwise = 0) {
    return note(name, get(name, otherwise));
  }
  base::Count note(const std::string& name, base::Count value) {
    generated_.parameters.emplace_back(name, value);
    return value;
  }

 private:
  const GraphRequest& request_;
  GeneratedGraph& generated_;
};

// Of the kinds "llm", "llm-fwd", "llm-bwd", "decode" and "attention". Throws InputError as generate_graph does.
void transformer_graph(const GraphRequest& request, GraphSizes& sizes, GeneratedGraph& out);

}  // namespace orrery::verbs
