#include <optional>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/latency/report.h"

namespace orrery::verbs {
namespace {

constexpr base::Count kMostQueries = base::Count{1} << 30;

// A share above 0 and at most 1: by less, latencies would be infinite or nan.
double share_of(const std::string& option, const std::string& text) {
  if (const auto value = base::parse_number<double>(text, 0, 1); value && *value > 0) return *value;
  misuse("O1102", fmt::format("`{} {}` must be a share above 0 and at most 1", option, text),
         "what Sanger calls sparsity is the share of pairs that is kept, 0.117 for instance");
}

}  // namespace

int run_sparse_latency(const Arguments& arguments, Console& console) {
  SparseLatencyRequest request;
  std::optional<double> density, load_balance;
  std::optional<base::Count> seq_len;
  CommandLine line("sparse latency",
                   "How long Sanger's array takes for an attention layer, by its two published models",
                   "orrery sparse latency load_balance.csv --seq-len 512");
  line.word("LOG", request.log, "load_balance.csv of Sanger's log or of `sparse measure -o`");
  line.group("Figures, instead of a log");
  line.meant("--sparsity", "SHARE", "Share of the pairs that is kept: a density, whatever the option's name says",
             [&](const std::string& text) { density = share_of("--sparsity", text); });
  line.meant("--load-balance", "SHARE", "Share of the PE slots that compute something",
             [&](const std::string& text) { load_balance = share_of("--load-balance", text); });
  line.group("Layer");
  line.count("--seq-len", seq_len, "Queries of a head, and as many keys; default 512", kMostQueries);
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  if (density.has_value() != load_balance.has_value())
    misuse("O1103", "a density and a load balance belong together", "give `--sparsity X --load-balance Y`");
  if (request.log.empty() == !density.has_value())
    misuse("O1103", request.log.empty() ? "no log and no figures" : "a log and figures exclude each other",
           "give load_balance.csv, or `--sparsity X --load-balance Y`");
  request.density = density.value_or(0);
  request.load_balance = load_balance.value_or(0);
  request.seq_len = seq_len.value_or(request.seq_len);
  return run_verb<SparseLatencyAnswer>(console, {.answer = [&](Run&) { return sparse_latency(request); },
                                                 .document = sparse_latency_document,
                                                 .table = sparse_latency_text});
}

}  // namespace orrery::verbs
