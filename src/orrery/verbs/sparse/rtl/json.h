// The JSON document of `sparse rtl`: schema "orrery.sparse_rtl/1".
#pragma once

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/rtl/run.h"

namespace orrery::verbs {

Document<SparseRtl> sparse_rtl_document();

}  // namespace orrery::verbs
