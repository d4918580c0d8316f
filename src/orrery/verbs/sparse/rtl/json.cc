#include "orrery/verbs/sparse/rtl/json.h"

namespace orrery::verbs {

Document<SparseRtl> sparse_rtl_document() {
  const auto names = [](const SparseRtl& r) {
    std::vector<std::string> out;
    for (const OutputFile& file : r.files) out.push_back(file.name);
    return out;
  };
  const Record<SparseRtl> result = {
      {"files", "Names of the files that were written, with folders.", names},
      {"parameters", "Parameters of the module `accelerator`, by name.", &SparseRtl::parameters},
      {"cycles", "Cycles that the vectors take, from START to DONE.", &SparseRtl::cycles},
      {"blocks", "Packed blocks of the vectors.", &SparseRtl::blocks}};
  return {"sparse_rtl", "Sources and vectors that were written.", result, 0};
}

}  // namespace orrery::verbs
