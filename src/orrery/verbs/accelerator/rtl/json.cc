#include "orrery/verbs/accelerator/rtl/json.h"

namespace orrery::verbs {

Document<SparseRtl> sparse_rtl_document() {
  const auto names = [](const SparseRtl& r) {
    std::vector<std::string> out;
    for (const OutputFile& file : r.files) out.push_back(file.name);
    return out;
  };
  const Record<SparseRtl> result = {{"files", "What was written, with folders.", names},
                                    {"parameters", "Of module `accelerator`.", &SparseRtl::parameters},
                                    {"cycles", "That the vectors take, from START to DONE.", &SparseRtl::cycles},
                                    {"blocks", "Packed blocks of the vectors.", &SparseRtl::blocks}};
  return {"sparse_rtl", "What was found.", result, 0};
}

}  // namespace orrery::verbs
