// Substation's layout file: which layout every tensor of the layer has, which dimension every kernel vectorises, which
// algorithm every contraction takes. The original is a pickled dictionary, which is read without being executed; ours
// is the same in JSON. Keys: input, output (a pair), special_dims, algorithms (texts by name), params, forward_interm,
// backward_interm (pairs in order).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"

namespace orrery::formats::substation {

struct LayoutPair {
  std::string name, layout;  // upper case
  base::Location where;
};

struct LayoutFile {
  LayoutPair input, output;
  std::vector<std::pair<std::string, std::string>> special_dims, algorithms;
  std::vector<LayoutPair> params, forward_interm, backward_interm;
};

// JSON or pickle, told apart by the first byte. Throws InputError: O0100 to O0104, O1718 (another form), O1603 and
// O1604 (pickles).
LayoutFile read_layout_file(const std::string& path);
LayoutFile parse_layout_json(const std::shared_ptr<const base::SourceFile>& file);
LayoutFile parse_layout_pickle(std::string_view bytes, const base::Location& whole);

// The tensors that the pairs speak of, layouts in lower case: BKQV stands for BK, BV and BQ, KKQQVV for KK, VV and QQ.
std::vector<LayoutPair> layouts_of(const LayoutFile& file);

// The file of a choice; `pair` gives a tensor's layout in upper case.
LayoutFile make_layout_file(const tuning::Graph& graph, const tuning::Selection& selection,
                            const std::function<LayoutPair(const std::string& tensor)>& pair);
std::string layout_text(const LayoutFile& file);

}  // namespace orrery::formats::substation
