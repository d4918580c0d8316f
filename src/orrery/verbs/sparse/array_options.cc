#include "orrery/verbs/sparse/array_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/cli/number_text.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/cli/pruning_options.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr Count kMostSize = Count{1} << 20;
constexpr Count kMostLanes = 4096;

double number(const std::string& option, const std::string& text, double above, double most, const char* what) {
  const auto [value, rest] = decimal(text);
  if (rest.empty() && value > above && value <= most) return value;
  misuse("O1102", fmt::format("`{} {}` must be {}", option, text, what), fmt::format("give {}", what));
}

// "16.10": bits, and how many of them stand behind the point.
accelerator::FixedPoint format_of(const std::string& option, const std::string& text) {
  accelerator::FixedPoint out;
  const char* const end = text.data() + text.size();
  const auto [dot, first] = std::from_chars(text.data(), end, out.bits);
  bool good = first == std::errc() && dot != end && *dot == '.';
  if (good) {
    const auto [rest, second] = std::from_chars(dot + 1, end, out.point);
    good = second == std::errc() && rest == end;
  }
  if (!good || out.bits < 2 || out.bits > 32 || out.point < 0 || out.point >= out.bits)
    misuse("O1102", fmt::format("`{} {}` is no format of numbers", option, text),
           "give bits, from 2 to 32, and how many of them stand behind the point, as 16.10");
  return out;
}

}  // namespace

void declare_array_input(CommandLine& line, ArrayCasesRequest& request, ArrayInputOptions& options) {
  line.word("MASK", request.mask, "A mask (.npy), or a folder of masks: cycles and energy without numbers");
  line.count("--columns", request.columns, "Columns of a mask of packed bits, where its sizes leave them open",
             Count{1} << 30);
  line.count("--head-size", options.size, "Elements of a query, where only masks are given; default 64", kMostSize);
  line.group("Attention (NumPy's .npy files)");
  line.text("--q", request.arrays.query, "FILE", "Queries [batch, heads, tokens, size]");
  line.text("--k", request.arrays.key, "FILE", "Keys");
  line.text("--v", request.arrays.value, "FILE", "Values");
  line.count("--heads", request.arrays.heads, "Heads of arrays [batch x heads, tokens, size]", kMostSize);
  line.text("--valid", request.arrays.valid, "FILE", "Which tokens exist: [batch, tokens], 1 for those that do");
  line.toggle("--causal", request.arrays.causal, "Queries see the keys up to their own position, counted from the end");
  line.toggle("--scaled", request.arrays.scaled, "Queries were divided by sqrt(size) before (BART)");
  line.group("Model and texts");
  line.text("--checkpoint", request.texts.checkpoint, "DIR",
            "A folder with config.json, weights and a tokenizer (BERT, RoBERTa, GPT-2, BART)");
  line.text("--text,--data", request.texts.data, "FILE", "Texts: one a line; or CSV, TSV, JSON lines");
  line.text("--text-column", request.texts.columns.text, "NAME", "The column of the texts; default: the first");
  line.text("--layer", request.layer, "N|NAME", "One attention: 3, encoder.3, decoder.0.cross; default: all");
  line.count("--batch", request.texts.batch, "Texts of a batch; default 1", kMostSize);
  line.count("--max-tokens,--max-seq-length", request.texts.most_tokens,
             "Most tokens of a text, longer ones are cut; default: at most 512", kMostSize);
  declare_pruning(line, request.texts.pruning);
  line.group("Prediction in the machine");
  line.meant("--threshold", "P", "A key whose predicted probability exceeds it is kept; default 0.002",
             [&](const std::string& text) { options.threshold = threshold_of(text); });
  line.choice<masks::Normalise>("--normalize", options.normalise,
                                {{"inner_product", masks::Normalise::kInnerProduct}, {"none", masks::Normalise::kNone}},
                                "inner_product: rows to unit length before they are quantised (default); none");
  line.meant("--query-clip", "T",
             "Clip threshold of queries (`input_x_thresh` of a checkpoint); default: the largest magnitude",
             [&](const std::string& text) {
               options.query_clip = static_cast<float>(number("--query-clip", text, -1, 3e38, "a number above 0"));
             });
  line.meant("--key-clip", "T",
             "Clip threshold of keys (`input_y_thresh` of a checkpoint); default: the largest magnitude",
             [&](const std::string& text) {
               options.key_clip = static_cast<float>(number("--key-clip", text, -1, 3e38, "a number above 0"));
             });
}

void settle(const ArrayInputOptions& options, ArrayCasesRequest& request) {
  const bool arrays = !request.arrays.query.empty() || !request.arrays.key.empty() || !request.arrays.value.empty();
  const bool model = !request.texts.checkpoint.empty();
  const bool mask = !request.mask.empty();
  const auto unless = [](bool wrong, const std::string& message, const std::string& hint) {
    if (wrong) misuse("O1103", message, hint);
  };
  unless(!arrays && !model && !mask, "nothing to run is given",
         "give a mask, or `--q FILE --k FILE --v FILE`, or `--checkpoint DIR --text FILE`");
  unless(model && (arrays || mask), "`--checkpoint` and arrays or a mask exclude each other",
         "leave one of the two out");
  unless(arrays && (request.arrays.query.empty() || request.arrays.key.empty()), "queries and keys belong together",
         "give `--q FILE --k FILE --v FILE`");
  unless(model && request.texts.data.empty(), "`--text FILE` is missing", "such as `--text texts.txt`");
  unless(!model && !request.texts.data.empty(), "`--text` means nothing without a model", "give `--checkpoint DIR`");
  unless(!model && (!request.layer.empty() || request.texts.batch || request.texts.most_tokens ||
                    !request.texts.columns.text.empty() || !request.texts.pruning.config.empty() ||
                    !request.texts.pruning.pattern.empty() || request.texts.pruning.calibrate),
         "options of a model mean nothing without one", "give `--checkpoint DIR --text FILE`, or leave them out");
  unless(!mask && request.columns.has_value(), "`--columns` means nothing without a mask", "leave it out");
  unless(options.size && (arrays || model), "`--head-size` means nothing where queries say it", "leave it out");
  unless(model && (options.query_clip || options.key_clip), "`--query-clip` and `--key-clip` are those of a checkpoint",
         "leave them out; `--calibrate` takes the largest magnitudes of these texts");
  unless(model &&
             (!request.arrays.valid.empty() || request.arrays.causal || request.arrays.scaled || request.arrays.heads),
         "`--valid`, `--causal`, `--scaled` and `--heads` mean nothing to a model, which knows", "leave them out");
  unless(!arrays && (request.arrays.scaled || request.arrays.heads),
         "`--scaled` and `--heads` mean nothing to a mask alone", "leave them out");
  const bool predicts =
      options.threshold || options.normalise || options.query_clip || options.key_clip || request.bits;
  unless(mask && predicts, "a mask is given: nothing is predicted",
         "leave out `--threshold`, `--bits`, `--normalize` and clips, or the mask");
  if (predicts && model && (!request.texts.pruning.config.empty() || !request.texts.pruning.pattern.empty()))
    misuse("O1103", "`--sparse-config` or `--static` and an option of the prediction exclude each other",
           "leave one of the two out");
  if (model && !predicts) check_prunes(request.texts.pruning);
  request.size = options.size.value_or(request.size);
  request.threshold = options.threshold;
  request.normalise = options.normalise;
  const auto real = [](const std::optional<float>& x) { return x ? std::optional<double>(*x) : std::nullopt; };
  request.query_clip = real(options.query_clip), request.key_clip = real(options.key_clip);
}

void declare_machine(CommandLine& line, ArrayChoice& choice, masks::PackEffort& effort, bool built) {
  accelerator::Instance& x = choice.instance;
  line.meant("--effort", "N", "With --packing orrery: how long it looks for fewer blocks; default 1",
             [&effort](const std::string& text) {
               const Count times =
                   base::saturated(std::floor(number("--effort", text, 0.5, 1000, "a number from 1 to 1000")));
               effort.swaps = masks::PackEffort{}.swaps * times, effort.rounds = masks::PackEffort{}.rounds * times;
             });
  line.toggle("--no-overlap", choice.one_after_another, "Units work one at a time");
  line.count("--latency", choice.latency, "Cycles until DRAM answers; default 100", 1'000'000, 0);
  line.count("--prediction-width", choice.prediction_width, "Columns of the array that predicts; default 64",
             kMostLanes);
  line.count("--quantiser-lanes", choice.quantiser_lanes,
             built ? "Elements quantised in a cycle; default 16, or fewer that divide --depth"
                   : "Elements quantised in a cycle; default 64",
             kMostLanes);
  line.count("--merge-lanes", choice.merge_lanes,
             built ? "Elements merged or normalised in a cycle; default 16, or fewer that divide --depth"
                   : "Elements merged or normalised in a cycle; default 16",
             kMostLanes);
  // `sparse rtl` takes them to say why not (O1972).
  const auto modelled = [&](const char* text) {
    return built ? "Refused: the hardware that is written does not have it" : text;
  };
  line.count("--query-rows", choice.query_rows,
             modelled("Queries of a tile that memory holds; default 64, or as many as the work has"), kMostSize);
  line.count("--key-tokens", choice.key_tokens,
             modelled("Keys and values that memory holds; longer ones are fetched by block; default 1024"), kMostSize);
  line.count("--score-keys", choice.score_keys,
             modelled("Keys of a tile's predicted scores or mask; default 1024, or as many as the work has"),
             kMostSize);
  line.meant(
      "--format", "BITS.POINT",
      built ? "Format of queries, keys, values and outputs: 16 bits, of which so many behind the point; default 16.10"
            : "Format of queries, keys, values and outputs: bits, and how many of them behind the point; default 16.10",
      [&x](const std::string& text) {
        x.numbers.query = x.numbers.key = x.numbers.value = x.numbers.output = format_of("--format", text);
      });
  line.meant("--sums", "BITS.POINT",
             built ? "Format of scores, exponentials and weighted values: 32.16, no other"
                   : "Format of scores, exponentials and weighted values: bits, and how many of them behind the point; "
                     "default 32.16",
             [&x](const std::string& text) { x.numbers.sum = format_of("--sums", text); });
  line.text("--dram", choice.dram, "TYPE",
            modelled("Kind of DRAM, for the energy of a byte: HBM2 (default), LPDDR4, GDDR5, DDR3, LPDDR"));
  line.offer("--dram", {"HBM2", "LPDDR4", "GDDR5", "DDR3", "LPDDR"});
  line.text("--technology", choice.technology, "NODE", modelled("Technology of energies and areas; default 45nm"));
}

void check_effort(const masks::PackEffort& effort, const std::vector<std::string>& packings) {
  if (effort.swaps == masks::PackEffort{}.swaps) return;
  if (std::find(packings.begin(), packings.end(), "orrery") == packings.end())
    misuse("O1103", "`--effort` means nothing where the machine packs", "leave it out, or give `--packing orrery`");
}

Count code_bits_of(const std::string& text) {
  if (text == "2" || text == "4" || text == "6" || text == "8") return text[0] - '0';
  misuse("O1102", fmt::format("`--bits {}` is no width of codes", text), "give 2, 4, 6 or 8");
}

double frequency_of(const std::string& text) {
  constexpr double kLeast = 1e3, kMost = 1e12;
  if (const double value = frequency(text); value >= kLeast && value <= kMost) return value;
  base::fail("O1897", fmt::format("`--frequency {}` is no frequency from 1 kHz to 1 THz", text), {},
             "give a number with a unit, as 1GHz or 500MHz");
}

double bandwidth_of(const std::string& text) {
  constexpr double kLeast = 1, kMost = 1e18;
  if (const double value = bandwidth(text); (value >= kLeast && value <= kMost) || std::isinf(value)) return value;
  base::fail("O1897", fmt::format("`--bandwidth {}` is no bandwidth from 1 B/s to 1e6 TB/s", text), {},
             "give a number with a unit, as 128GB/s, or `unlimited`");
}

std::string array_packing_of(const std::string& text) {
  const std::vector<std::string> known = {"pack", "orrery"};
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  misuse(
      "O1102", fmt::format("`--packing {}` is no way to pack for the array", text),
      base::did_you_mean(text, known, "pack: in the machine, as Sanger does; orrery: before, as `sparse pack` does"));
}

}  // namespace orrery::verbs
