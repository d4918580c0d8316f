#include "orrery/cli/prediction_options.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/shared_options.h"

namespace orrery::verbs {
namespace {

using base::Count;
using masks::EmptyRows;
using masks::Normalise;
using masks::PredictorKind;

constexpr Count kMostSize = Count{1} << 30;

double number_within(const std::string& option, const std::string& text, double above, double most,
                     const std::string& what) {
  const std::optional<double> value = base::parse_finite(text);
  if (!value || !(*value > above) || *value > most)
    misuse("O1102", fmt::format("`{} {}` must be {}", option, text, what), fmt::format("give {} {}", option, what));
  return *value;
}

// An option that the chosen predictor does not look at is refused.
void check_use(const PredictionOptions& options, PredictorKind kind) {
  const auto unused = [&](bool given, const std::string& option, std::initializer_list<PredictorKind> of) {
    if (!given || std::find(of.begin(), of.end(), kind) != of.end()) return;
    misuse("O1103", fmt::format("`{}` means nothing to this predictor", option),
           "leave it out, or choose another `--predictor`");
  };
  using enum PredictorKind;
  unused(options.threshold.has_value(), "--threshold", {kThreshold});
  unused(options.bits.has_value(), "--bits", {kThreshold, kTopK, kRounds});
  unused(options.normalise.has_value(), "--normalize", {kThreshold, kTopK, kRounds});
  unused(options.query_clip.has_value(), "--query-clip", {kThreshold, kTopK, kRounds});
  unused(options.key_clip.has_value(), "--key-clip", {kThreshold, kTopK, kRounds});
  unused(options.keep.has_value(), "--keep", {kTopK, kBlocks});
  unused(!options.alphas.empty(), "--alpha", {kRounds});
  unused(options.block.has_value(), "--block", {kBlocks});
  unused(options.window.has_value(), "--window", {kWindow});
  unused(options.sinks.has_value(), "--sinks", {kWindow});
  unused(options.empty.has_value(), "--empty-rows", {kThreshold, kRounds});
}

}  // namespace

double threshold_of(const std::string& text) {
  const std::optional<double> value = base::parse_finite(text);
  if (value && *value > 0 && *value < 1) return *value;
  base::Diagnostics found;
  auto& problem = found.error("O1820", fmt::format("the threshold `{}` is no probability between 0 and 1", text));
  if (value && *value <= 0) problem.note("every probability exceeds 0: nothing would be pruned");
  if (value && *value >= 1) problem.note("no probability exceeds 1: everything would be pruned");
  problem.hint("Sanger's models have 0.002 (SQuAD, CLOTH), 0.01 (BART) and 0.02 (GLUE)");
  found.throw_if_errors();
  return 0;
}

bool PredictionOptions::given() const {
  return predictor || threshold || bits || normalise || query_clip || key_clip || keep || !alphas.empty() || block ||
         window || sinks;
}

void declare_empty_rows(CommandLine& line, std::optional<EmptyRows>& empty) {
  line.choice<EmptyRows>("--empty-rows", empty,
                         {{"argmax", EmptyRows::kArgmax}, {"dense", EmptyRows::kDense}, {"zero", EmptyRows::kZero}},
                         "Rows that lose every key keep the best one (argmax, default), all (dense), or none (zero)");
}

void declare(CommandLine& line, PredictionOptions& options, bool clips) {
  line.choice<PredictorKind>("--predictor", options.predictor,
                             {{"threshold", PredictorKind::kThreshold},
                              {"top-k", PredictorKind::kTopK},
                              {"rounds", PredictorKind::kRounds},
                              {"blocks", PredictorKind::kBlocks},
                              {"window", PredictorKind::kWindow}},
                             "threshold (Sanger, default), top-k (SpAtten), rounds (Energon), blocks, window");
  line.meant("--threshold", "P", "A key whose predicted probability exceeds it is kept; default 0.002",
             [&](const std::string& text) { options.threshold = threshold_of(text); });
  if (clips)
    line.count("--bits", options.bits,
               "Of codes of queries and keys: 2, 4 (default), 6 or 8; 32: scores of what is given", masks::kExactBits,
               2);
  else
    line.count("--bits", options.bits, "Bits of the codes of queries and keys: 2, 4 (default), 6 or 8", 8, 2);
  line.choice<Normalise>("--normalize", options.normalise,
                         {{"inner_product", Normalise::kInnerProduct}, {"none", Normalise::kNone}},
                         "inner_product: rows to unit length before they are quantised (default); none");
  if (clips) {
    const std::string clip = "a number above 0";
    line.meant("--query-clip", "T",
               "Clip threshold of queries (`input_x_thresh` of a checkpoint); default: the largest magnitude",
               [&, clip](const std::string& text) {
                 options.query_clip = static_cast<float>(number_within("--query-clip", text, -1, 3e38, clip));
               });
    line.meant("--key-clip", "T",
               "Clip threshold of keys (`input_y_thresh` of a checkpoint); default: the largest magnitude",
               [&, clip](const std::string& text) {
                 options.key_clip = static_cast<float>(number_within("--key-clip", text, -1, 3e38, clip));
               });
  }
  line.meant("--keep", "SHARE",
             "Share of a row's keys (top-k) or blocks (blocks) that is kept, rounded up; default 0.1",
             [&](const std::string& text) {
               options.keep = number_within("--keep", text, 0, 1, "a share above 0 and at most 1");
             });
  line.meant_each("--alpha", "A,A", "Bounds of the two rounds between mean and extreme, -1 to 1; default 0,0", true,
                  [&](const std::string& text) {
                    const double alpha = number_within("--alpha", text, -1, 1, "between -1 and 1");
                    if (alpha == 1) misuse("O1102", "`--alpha 1` would keep nothing", "give less than 1");
                    options.alphas.push_back(alpha);
                  });
  line.count("--block", options.block, "Tokens of a block (blocks); default 64", kMostSize);
  line.count("--window", options.window, "Keys on either side of a query, its own included (window); default 64",
             kMostSize);
  line.count("--sinks", options.sinks, "First keys, which every query sees (window); default 4", kMostSize, 0);
  declare_empty_rows(line, options.empty);
}

std::string packing_named(const std::string& text) {
  const std::vector<std::string> known = masks::packing_names();
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  misuse("O1102", fmt::format("`--packing {}` is no scheme", text),
         base::did_you_mean(text, known, fmt::format("there are {}", base::joined(known, ", "))));
}

masks::PredictorOptions settled(const PredictionOptions& options, EmptyRows usual) {
  masks::PredictorOptions p;
  p.kind = options.predictor.value_or(PredictorKind::kThreshold);
  check_use(options, p.kind);
  if (options.bits && *options.bits != masks::kExactBits && (*options.bits % 2 != 0 || *options.bits > 8))
    misuse("O1102", fmt::format("`--bits {}` is no width of codes", *options.bits),
           "give 2, 4, 6 or 8, or 32 for scores that are not quantised");
  if (options.bits == masks::kExactBits) {
    if (p.kind == PredictorKind::kRounds)
      misuse("O1103", "`--bits 32` means nothing to this predictor", "its rounds differ in bits: give 2, 4, 6 or 8");
    if (options.normalise || options.query_clip || options.key_clip)
      misuse("O1103", "`--bits 32` and an option of the quantiser exclude each other", "leave one of the two out");
  }
  p.quantiser = {static_cast<int>(options.bits.value_or(4)), options.normalise.value_or(Normalise::kInnerProduct),
                 options.query_clip, options.key_clip};
  p.threshold = options.threshold.value_or(p.threshold);
  p.keep = options.keep.value_or(p.keep);
  if (options.alphas.size() == 1 || options.alphas.size() > 2)
    misuse("O1102", fmt::format("`--alpha` has {} values for two rounds", options.alphas.size()), "give two, as 0,0.2");
  if (options.alphas.size() == 2) std::copy(options.alphas.begin(), options.alphas.end(), p.alpha);
  p.block = options.block.value_or(p.block);
  p.window = options.window.value_or(p.window);
  p.sinks = options.sinks.value_or(p.sinks);
  p.empty = options.empty.value_or(usual);
  return p;
}

}  // namespace orrery::verbs
