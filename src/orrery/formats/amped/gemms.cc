#include "orrery/formats/amped/gemms.h"

namespace orrery::formats::amped {

std::vector<Gemm> gemms(const equations::Quantities& q, const equations::Defects& defects) {
  const double rows = q.batch_size * q.context / q.dp / q.pp;
  const double heads = q.head_width * q.attention_heads;
  std::vector<Gemm> out;
  out.push_back({"X.W=KQV", "X W", "KQV", 3 * rows, q.dimensionality, heads, 1});
  if (defects.flat_gemms) {
    out.push_back({"Q.K=R", "Q K", "R", rows, q.head_width, q.context * q.attention_heads, 1});
    out.push_back({"R.V=Z", "R V", "Z", rows, q.context, heads, 1});
  } else {
    const double count = q.batch_size / q.dp / q.pp * q.attention_heads;
    out.push_back({"Q.K=R", "Q K", "R", q.context, q.head_width, q.summarization_len, count});
    out.push_back({"R.V=Z", "R V", "Z", q.context, q.summarization_len, q.head_width, count});
  }
  out.push_back({"Z.W=O", "Z W", "O", rows, q.dimensionality, q.dimensionality, 1});
  out.push_back({"O.WL1=O1", "O WL1", "O1", rows, q.dimensionality, q.mlp_width_1, 1});
  const double last = defects.flat_gemms ? q.mlp_width : q.dimensionality;
  out.push_back({"O1.WL2=O2", "O1 WL2", "O2", rows, q.mlp_width_1, last, 1});
  return out;
}

}  // namespace orrery::formats::amped
