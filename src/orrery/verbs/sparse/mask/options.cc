#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "orrery/cli/run_verb.h"
#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/verbs/sparse/mask/run.h"
#include "orrery/verbs/sparse/mask_report.h"

namespace orrery::verbs {
namespace {

using base::Count;
using masks::Pattern;
using masks::PatternKind;

constexpr Count kMostOfMask = Count{1} << 30;

struct MaskGiven {
  std::string kind, file;
  std::optional<Count> seq, heads, block, window, local, global, random, patterns;
  bool unidirectional = false, horizontal = false, per_head = false;
  std::optional<std::pair<Count, Count>> block_shape, array_shape;
  std::uint64_t seed = 0;
  base::Limits limits;
};

std::pair<Count, Count> two_sizes(const std::string& option, const std::string& text) {
  const std::size_t comma = text.find(',');
  Count sizes[2] = {};
  const char* const end = text.data() + text.size();
  const char* const middle = text.data() + std::min(comma, text.size());
  const auto first = std::from_chars(text.data(), middle, sizes[0]);
  const auto second = middle < end ? std::from_chars(middle + 1, end, sizes[1]) : first;
  if (comma == std::string::npos || first.ec != std::errc() || first.ptr != middle || second.ec != std::errc() ||
      second.ptr != end || sizes[0] < 1 || sizes[1] < 1 || sizes[0] > kMostOfMask || sizes[1] > kMostOfMask)
    misuse("O1102", fmt::format("`{} {}` is no height and width", option, text),
           fmt::format("give two whole numbers, as `{} 64,128`", option));
  return {sizes[0], sizes[1]};
}

bool read_mask(const Arguments& arguments, Console& console, MaskGiven& options) {
  CommandLine line("sparse mask", "A mask that does not look at scores, as a .npy file, and how dense it is",
                   "orrery sparse mask longformer --seq 512 --heads 12 -o longformer.npy");
  line.word(
      "KIND", options.kind,
      "dense, fixed, longformer, bigbird, hugebird, block-structured or sliding, with Sanger's figures; or a JSON "
      "file of Sanger's",
      true);
  line.group("Mask");
  line.count("--seq", options.seq, "Tokens: queries of a head, and as many keys; required", kMostOfMask);
  line.count("--heads", options.heads, "Heads of the mask; default 1", kMostOfMask);
  line.output_file("-o,--out", options.file, "FILE", "Write the mask there: uint8 [heads, seq, seq]");
  line.count("--block", options.block, "Tokens of a block (fixed, longformer, bigbird, hugebird)", kMostOfMask);
  line.count("--window", options.window, "Blocks of the window (longformer, bigbird, hugebird); tokens (sliding)",
             kMostOfMask);
  line.count("--local", options.local, "Blocks of a local window (fixed)", kMostOfMask);
  line.count("--global", options.global,
             "Global blocks: the first ones (longformer, bigbird, hugebird), the last of a "
             "window (fixed)",
             kMostOfMask, 0);
  line.count("--random", options.random, "Random blocks of a row of blocks (bigbird, hugebird)", kMostOfMask, 0);
  line.count("--patterns", options.patterns, "Patterns of global blocks, by head (fixed)", kMostOfMask);
  line.toggle("--unidirectional", options.unidirectional, "Blocks see only those before them (fixed)");
  line.toggle("--horizontal", options.horizontal, "Global blocks see all tokens as well (fixed)");
  line.toggle("--per-head", options.per_head, "Heads have different patterns (fixed, block-structured)");
  line.meant("--block-shape", "R,C", "Rows and columns of a block, in tokens (block-structured)",
             [&](const std::string& text) { options.block_shape = two_sizes("--block-shape", text); });
  line.meant("--array-shape", "R,C", "Rows and columns of the array, in processing elements (block-structured)",
             [&](const std::string& text) { options.array_shape = two_sizes("--array-shape", text); });
  line.seed(options.seed, "Seed of the random parts; default 0");
  line.group("Run");
  line.seconds("--time-limit", options.limits.seconds, "Seconds; the run stops then, without a mask");
  line.memory(options.limits.memory);
  line.pictures();
  return line.read(arguments, console);
}

// An option that the kind does not have is refused.
void apply(const MaskGiven& options, Pattern& p) {
  const auto take = [&](bool given, const char* option, std::initializer_list<PatternKind> kinds, const auto& set) {
    if (!given) return;
    if (std::find(kinds.begin(), kinds.end(), p.kind) == kinds.end())
      misuse("O1103", fmt::format("`{}` means nothing to masks of this kind", option), "leave it out");
    set();
  };
  using enum PatternKind;
  take(options.block.has_value(), "--block", {kFixed, kLongformer, kBigBird}, [&] { p.block = *options.block; });
  take(options.window.has_value(), "--window", {kLongformer, kBigBird, kSliding},
       [&] { (p.kind == kSliding ? p.window : p.window_blocks) = *options.window; });
  take(options.local.has_value(), "--local", {kFixed}, [&] { p.local_blocks = *options.local; });
  take(options.global.has_value(), "--global", {kFixed, kLongformer, kBigBird}, [&] {
    p.global_blocks = *options.global;
    if (p.kind == kLongformer) p.global_ranges.clear();
    if (p.kind == kLongformer && *options.global > 0) p.global_ranges = {{0, *options.global}};
  });
  take(options.random.has_value(), "--random", {kBigBird}, [&] { p.random_blocks = *options.random; });
  take(options.patterns.has_value(), "--patterns", {kFixed}, [&] { p.different_global_patterns = *options.patterns; });
  take(options.unidirectional, "--unidirectional", {kFixed}, [&] { p.unidirectional = true; });
  take(options.horizontal, "--horizontal", {kFixed}, [&] { p.horizontal = true; });
  take(options.per_head, "--per-head", {kFixed, kBlockStructured}, [&] { p.per_head = true; });
  take(options.block_shape.has_value(), "--block-shape", {kBlockStructured},
       [&] { std::tie(p.block_rows, p.block_columns) = *options.block_shape; });
  take(options.array_shape.has_value(), "--array-shape", {kBlockStructured},
       [&] { std::tie(p.array_rows, p.array_columns) = *options.array_shape; });
}

}  // namespace

int run_sparse_mask(const Arguments& arguments, Console& console) {
  MaskGiven options;
  if (!read_mask(arguments, console, options)) return kDone;
  if (!options.seq) misuse("O1103", "how many tokens is not said", "give `--seq N`");
  SparseMaskRequest request;
  request.kind = options.kind;
  request.tokens = *options.seq;
  request.heads = options.heads.value_or(1);
  request.seed = options.seed;
  request.options = [&](Pattern& pattern) { apply(options, pattern); };
  request.writes = !options.file.empty();
  request.limits = options.limits;
  return run_verb<SparseMask>(
      console, {.answer =
                    [&](Run& run) {
                      request.limits.stop = run.stop();
                      return make_sparse_mask(request);
                    },
                .document = sparse_mask_document,
                .table = sparse_mask_table,
                .files = {{options.file, [](const SparseMask& answer) { return mask_file(answer.mask, true); }}},
                .outcome = [&](const SparseMask& answer, const Run& run) -> Outcome {
                  if (answer.mask.rows() > 0 || request.tokens == 0) return {};
                  return {run.cut_short(), answer.warnings.all(), true};
                }});
}

}  // namespace orrery::verbs
