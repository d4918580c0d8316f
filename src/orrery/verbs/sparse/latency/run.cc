#include "orrery/verbs/sparse/latency/run.h"

#include "orrery/base/text/text_file.h"
#include "orrery/engines/masks/packing/latency.h"
#include "orrery/formats/sanger/load_balance_rows.h"

namespace orrery::verbs {

SparseLatencyAnswer sparse_latency(const SparseLatencyRequest& request) {
  SparseLatencyAnswer answer;
  answer.seq_len = request.seq_len;
  const auto add = [&](std::string name, double load_balance) {
    const masks::LatencyQuestion question{request.seq_len, answer.density, load_balance};
    answer.latencies.push_back(
        {std::move(name), load_balance, masks::latency_v1_ms(question), masks::latency_v2_ms(question)});
  };
  if (request.log.empty()) {
    answer.density = request.density;
    add("given", request.load_balance);
    return answer;
  }
  const auto file = base::read_file(request.log);
  answer.inputs.push_back(base::file_input(*file));
  const auto rows = formats::sanger::load_balance_rows(file, answer.warnings);
  answer.masks = static_cast<base::Count>(rows.size());
  // Means of the columns, as the original has it: not the mean of what each mask would take.
  const auto mean = [&](const auto& of) {
    double sum = 0;
    for (const auto& row : rows) sum += of(row);
    return sum / static_cast<double>(rows.size());
  };
  answer.density = mean([](const auto& row) { return row.density; });
  for (std::size_t i = 0; i < masks::kLoadBalances; ++i)
    add(std::string(masks::kLoadBalanceNames[i]), mean([i](const auto& row) { return row.load_balance[i]; }));
  return answer;
}

}  // namespace orrery::verbs
