// Time comes from the kernels; the execution says how often they run, and what passes between stages. Where the two
// mean different models, the answer belongs to neither.
//
// A graph has no field that says how wide its model is: it is read off its kernels. Those that bear the names of
// DFModel's generators (Q, MHA_GEMM_1, ...) have one meaning, so that one of them that shows something else
// contradicts. Of other kernels only this is taken for granted: a product by a weight has the sequence's tokens along N
// (or M), the stream's width along K or M somewhere, and a forward product of two inputs is attention's. There the
// majority counts. Linpack's kernels tile an n x n matrix in blocks of b columns, a transform's steps each hold all its
// points, exchanged embeddings are a whole number of rows of every table for every sample. Cost: one step a kernel.
#include "orrery/formats/dfmodel/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace orrery::formats::dfmodel {
namespace {

using base::Count;
using workload::Communication;
using workload::Kernel;
using workload::Operands;

// In doubles: sizes of a graph are bounded (O1417), products of them need not be.
double rows(const Kernel& kernel) {
  return static_cast<double>(kernel.outer) * static_cast<double>(kernel.m);
}

// "Q_layer_3" is Q of layer 3; 0 where the name has no layer.
std::pair<std::string, int> base_name(const std::string& name) {
  constexpr std::string_view kMark = "_layer_";
  const std::size_t at = name.rfind(kMark);
  if (at == std::string::npos || at + kMark.size() >= name.size()) return {name, 0};
  int layer = 0;
  for (std::size_t i = at + kMark.size(); i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9' || layer > 1'000'000) return {name, 0};
    layer = 10 * layer + (name[i] - '0');
  }
  return {name.substr(0, at), layer};
}

// What a kernel of a known name shows of the model, and in which field.
enum class Shows { kHidden, kTokens, kHeads, kHeadWidth, kHeadsTimesWidth };
enum class In { kOuter, kM, kRows, kK, kN };
struct KnownKernel {
  std::string_view name;
  Shows shows;
  In in;
};
constexpr KnownKernel kKnown[] = {
    {"Q", Shows::kHidden, In::kK},
    {"Q", Shows::kTokens, In::kN},
    {"Q", Shows::kHeadsTimesWidth, In::kRows},
    {"K", Shows::kHidden, In::kK},
    {"K", Shows::kTokens, In::kN},
    {"V", Shows::kHidden, In::kK},
    {"V", Shows::kTokens, In::kN},
    {"MHA_GEMM_1", Shows::kHeads, In::kOuter},
    {"MHA_GEMM_1", Shows::kTokens, In::kM},
    {"MHA_GEMM_1", Shows::kHeadWidth, In::kK},
    {"SOFTMAX", Shows::kHeads, In::kOuter},
    {"DropOut_1", Shows::kHeads, In::kOuter},
    {"MHA_GEMM_2", Shows::kHeads, In::kOuter},
    {"MHA_GEMM_2", Shows::kHeadWidth, In::kM},
    {"MHA_GEMM_2", Shows::kTokens, In::kN},
    {"PROJ_GEMM", Shows::kHidden, In::kRows},
    {"PROJ_GEMM", Shows::kTokens, In::kN},
    {"FFN0", Shows::kHidden, In::kK},
    {"FFN0", Shows::kTokens, In::kN},
    {"FFN1", Shows::kHidden, In::kRows},
    {"FFN1", Shows::kTokens, In::kN},
    {"Add_Prev_Layer", Shows::kHidden, In::kRows},
    {"Add_Prev_Layer", Shows::kTokens, In::kN},
    {"LayerNorm_1", Shows::kHidden, In::kRows},
    {"LayerNorm_1", Shows::kTokens, In::kN},
    {"Add_1", Shows::kHidden, In::kRows},
    {"Add_1", Shows::kTokens, In::kN},
    {"LayerNorm_2", Shows::kHidden, In::kRows},
    {"LayerNorm_2", Shows::kTokens, In::kN},
    {"Add_2", Shows::kHidden, In::kRows},
    {"Add_2", Shows::kTokens, In::kN},
    {"Loss_bwd", Shows::kHidden, In::kRows},
    {"Loss_bwd", Shows::kTokens, In::kN},
    {"FFN1_bwd", Shows::kHidden, In::kK},
    {"FFN1_bwd", Shows::kTokens, In::kN},
    {"FFN0_bwd", Shows::kHidden, In::kRows},
    {"FFN0_bwd", Shows::kTokens, In::kN},
    {"PROJ_GEMM_bwd", Shows::kHidden, In::kK},
    {"PROJ_GEMM_bwd", Shows::kTokens, In::kN},
    {"FFN1_bwd_weight_update", Shows::kTokens, In::kK},
    {"FFN0_bwd_weight_update", Shows::kTokens, In::kK},
};

// Kernels of `orrery graph` that show other tokens or heads than the sequence's own: attention to an encoder's output,
// and latents, whose heads are of several widths.
bool has_other_tokens(const std::string& name) {
  return name.starts_with("CROSS_");
}
bool has_other_widths(const std::string& name) {
  return name.starts_with("MLA_");
}

// Whether `outer` experts of n tokens each are a sequence of s tokens dealt out, each to the same number of experts.
bool dealt_out(double outer, double n, double s) {
  const double visits = std::floor(outer * n / s);
  return visits >= 1 && std::ceil(visits * s / outer) == n;
}

bool is_known(const std::string& name) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](const KnownKernel& known) { return known.name == name; });
}

double value_in(const Kernel& kernel, In in) {
  switch (in) {
    case In::kOuter:
      return static_cast<double>(kernel.outer);
    case In::kM:
      return static_cast<double>(kernel.m);
    case In::kRows:
      return rows(kernel);
    case In::kK:
      return static_cast<double>(kernel.k);
    case In::kN:
      break;
  }
  return static_cast<double>(kernel.n);
}

const char* field_of(In in) {
  return in == In::kOuter ? "outer" : in == In::kK ? "K" : in == In::kN ? "N" : "M";
}

std::string arithmetic(const Kernel& kernel, In in) {
  if (in == In::kRows && kernel.outer > 1)
    return fmt::format("outer {} * M {} = {:.17g}", kernel.outer, kernel.m, rows(kernel));
  return fmt::format("{} {:.17g}", field_of(in), value_in(kernel, in));
}

// A field of the execution against what kernels show of it.
class Claim {
 public:
  Claim(const SetupDocument& document, std::string path, Count value, std::string meaning)
      : document_(document), path_(std::move(path)), value_(value), meaning_(std::move(meaning)) {}

  // `shows`: the value that the execution would have to state; 0 where several would do.
  void known(int kernel, bool agrees, const char* field, std::string arithmetic, double shows) {
    weigh(known_, kernel, agrees, field, std::move(arithmetic), shows);
  }
  void unknown(int kernel, bool agrees, const char* field, std::string arithmetic, double shows) {
    weigh(unknown_, kernel, agrees, field, std::move(arithmetic), shows);
  }

  void conclude(base::Diagnostics& found) const {
    const bool most = 2 * unknown_.against > unknown_.agreeing + unknown_.against;
    if (known_.against > 0 || most) {
      const Side& side = known_.against > 0 ? known_ : unknown_;
      report(found.error("O1422", message(side), document_.places.at(path_)), side);
    } else if (unknown_.against > 0) {
      report(found.warning("O1424", message(unknown_), document_.places.at(path_)), unknown_);
    }
  }

 private:
  struct Side {
    int agreeing = 0, against = 0;
    int first = -1;  // of those against
    const char* field = "";
    std::string arithmetic;
    double shows = 0;
    bool one_value = true;  // all of them show the same
  };

  static void weigh(Side& side, int kernel, bool agrees, const char* field, std::string arithmetic, double shows) {
    if (agrees) {
      ++side.agreeing;
      return;
    }
    if (++side.against == 1) {
      side.first = kernel;
      side.field = field;
      side.arithmetic = std::move(arithmetic);
      side.shows = shows;
    }
    side.one_value = side.one_value && shows == side.shows;
  }

  std::string leaf() const { return path_.substr(path_.rfind('.') + 1); }
  const std::string& name(const Side& side) const {
    return document_.setup.graph.kernels[static_cast<std::size_t>(side.first)].name;
  }

  std::string message(const Side& side) const {
    return fmt::format("`{}` is {}, and kernel `{}` of the graph shows {}", leaf(), value_, name(side),
                       side.shows > 0 ? fmt::format("{:.17g}", side.shows) : "another");
  }

  void report(base::Diagnostic& diagnostic, const Side& side) const {
    diagnostic.label(meaning_)
        .also(document_.places.kernel(side.first, side.field), side.arithmetic)
        .note(side.against + side.agreeing > 1
                  ? fmt::format("of {} kernels that show it {} contradict{}", side.against + side.agreeing,
                                side.against, side.against == 1 ? "s" : "")
                  : "no other kernel shows it")
        .note("times are those of the graph's kernels, how often they run is what the execution says");
    if (side.shows > 0 && side.one_value)
      diagnostic.hint(fmt::format("if the graph is right: `--set {}={:.17g}`", path_, side.shows));
    diagnostic.hint("if the execution is right, make the graph for it: `orrery graph --help`");
  }

  const SetupDocument& document_;
  std::string path_;
  Count value_;
  std::string meaning_;
  Side known_, unknown_;
};

class Checker {
 public:
  Checker(const SetupDocument& document, base::Diagnostics& found)
      : document_(document), kernels_(document.setup.graph.kernels), found_(found) {}

  void operator()(const dataflow::LanguageModelRun& model) {
    const auto claim = [&](const char* field, Count value, const char* meaning) {
      return Claim(document_, std::string("execution.llm.") + field, value, meaning);
    };
    Claim hidden = claim("hidden_dim", model.hidden, "the width of the model");
    Claim tokens = claim("seq_len", model.sequence, "the tokens of a sequence");
    Claim heads = claim("num_head", model.heads, "the attention heads");
    Claim width = claim("head_dim", model.head_width, "the width of a head");
    const auto h = static_cast<double>(model.hidden), s = static_cast<double>(model.sequence);
    const auto a = static_cast<double>(model.heads), d = static_cast<double>(model.head_width);
    bool wide_somewhere = false, known_somewhere = false;
    int first_weight = -1;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Kernel& kernel = kernels_[i];
      const int index = static_cast<int>(i);
      const std::string name = base_name(kernel.name).first;
      if (is_known(name)) {
        known_somewhere = true;
        check_known(name, index, {h, s, a, d}, hidden, tokens, heads, width);
        continue;
      }
      const auto m = static_cast<double>(kernel.m), k = static_cast<double>(kernel.k),
                 n = static_cast<double>(kernel.n);
      if (kernel.operands == Operands::kInputAndWeight) {
        if (first_weight < 0) first_weight = index;
        wide_somewhere = wide_somewhere || k == h || rows(kernel) == h || m == h || n == h;
        if (has_other_tokens(name)) continue;
        // Experts share the tokens out; a transposed product has them along M.
        const auto outer = static_cast<double>(kernel.outer);
        const bool agrees = n == s || rows(kernel) == s || m == s || (kernel.outer > 1 && dealt_out(outer, n, s));
        tokens.unknown(index, agrees, "N", fmt::format("N {}", kernel.n), n);
      } else if (kernel.operands == Operands::kTwoInputs && kernel.direction == workload::Direction::kForward) {
        const double spread = static_cast<double>(kernel.outer) * n;
        const auto outer = static_cast<double>(kernel.outer);
        if (name.starts_with("SCAN")) continue;  // heads of a state
        if (a > 0)
          heads.unknown(
              index,
              outer == a || rows(kernel) == a * s || spread == a * s || (kernel.outer == 1 && rows(kernel) == a * d),
              "outer", fmt::format("outer {}", kernel.outer), outer);
        if (d > 0 && !has_other_widths(name))
          width.unknown(index, m == d || k == d || n == d || (kernel.outer == 1 && rows(kernel) == a * d), "K",
                        fmt::format("M {}, K {}, N {}", kernel.m, kernel.k, kernel.n), 0);
      }
    }
    if (!known_somewhere && first_weight >= 0 && !wide_somewhere) {
      const Kernel& kernel = kernels_[static_cast<std::size_t>(first_weight)];
      hidden.unknown(first_weight, false, "K", fmt::format("M {}, K {}, N {}", kernel.m, kernel.k, kernel.n), 0);
    }
    for (const Claim* each : {&hidden, &tokens, &heads, &width}) each->conclude(found_);
    check_layers(model);
  }

  void operator()(const dataflow::Linpack& problem) {
    if (kernels_.empty()) return;
    Claim order(document_, "execution.hpl.n", problem.n, "the order of the matrix");
    Claim block(document_, "execution.hpl.b", problem.block, "the columns of a block");
    int tallest = 0;
    double columns = 0;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (rows(kernels_[i]) > rows(kernels_[static_cast<std::size_t>(tallest)])) tallest = static_cast<int>(i);
      columns += static_cast<double>(kernels_[i].n);
    }
    const Kernel& first = kernels_[static_cast<std::size_t>(tallest)];
    const auto n = static_cast<double>(problem.n), b = static_cast<double>(problem.block);
    order.known(tallest, rows(first) == n, "M", arithmetic(first, In::kRows), rows(first));
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const auto width = static_cast<double>(kernels_[i].n);
      const bool last = i + 1 == kernels_.size() && width == std::fmod(n, b);
      block.known(static_cast<int>(i), width == b || last, "N", fmt::format("N {}", kernels_[i].n), width);
    }
    if (rows(first) == n && columns != n)
      order.known(static_cast<int>(kernels_.size()) - 1, false, "N",
                  fmt::format("the last of {} kernels; their columns (N) sum to {:.17g}", kernels_.size(), columns), 0);
    order.conclude(found_);
    block.conclude(found_);
  }

  void operator()(const dataflow::FourierTransform& transform) {
    // A square; lengths are often stated rounded to six digits.
    constexpr double kRounding = 1e-5;
    Claim length(document_, "execution.fft.length", transform.length, "the points of the transform");
    const auto stated = static_cast<double>(transform.length);
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const double points = rows(kernels_[i]) * static_cast<double>(kernels_[i].n);
      const bool agrees = std::abs(points / stated - 1) <= kRounding;
      length.known(
          static_cast<int>(i), agrees, "M",
          fmt::format("outer {} * M {} * N {} = {:.17g}", kernels_[i].outer, kernels_[i].m, kernels_[i].n, points),
          points);
    }
    length.conclude(found_);
  }

  void operator()(const dataflow::Recommendation& model) {
    constexpr double kRounding = 1e-6;  // of 32 bits
    Claim width(document_, "execution.dlrm.emb_dim", model.embedding, "the width of an embedding");
    const double row = static_cast<double>(model.tables) * static_cast<double>(model.embedding) *
                       static_cast<double>(document_.setup.execution.word_bytes);
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Kernel& kernel = kernels_[i];
      if (kernel.communication != Communication::kAllToAll || !(kernel.communication_bytes > 0)) continue;
      const double pooled = kernel.communication_bytes / (row * static_cast<double>(kernel.n));
      const bool whole = pooled >= 1 - kRounding && std::abs(pooled - std::round(pooled)) <= kRounding * pooled;
      width.known(
          static_cast<int>(i), whole, "communication_size",
          fmt::format("{:.10g} bytes / (num_table {} * emb_dim {} * word {} * N {}) = {:.6g} rows of a table for "
                      "a sample",
                      kernel.communication_bytes, model.tables, model.embedding, document_.setup.execution.word_bytes,
                      kernel.n, pooled),
          0);
    }
    width.conclude(found_);
  }

  void operator()(const dataflow::StateSpaceModel& model) {
    const auto h = static_cast<double>(model.hidden), s = static_cast<double>(model.sequence);
    const std::string path = "execution." + model.kind + ".";
    const auto shown = [&](double size) {
      return std::any_of(kernels_.begin(), kernels_.end(), [&](const Kernel& kernel) {
        const auto outer = static_cast<double>(kernel.outer), m = static_cast<double>(kernel.m),
                   k = static_cast<double>(kernel.k), n = static_cast<double>(kernel.n);
        for (const double product : {outer, m, k, n, outer * m, outer * n, m * n, k * n, m * k})
          if (product == size) return true;
        return std::fmod(outer * m * n, h * s) == 0;
      });
    };
    for (const auto& [field, size, count] :
         {std::tuple{"seq_len", s, model.sequence}, std::tuple{"hidden", h, model.hidden}}) {
      if (kernels_.empty() || shown(size)) continue;
      found_
          .warning("O1424", fmt::format("`{}` is {}, and no kernel of the graph shows it", field, count),
                   document_.places.at(path + field))
          .also(document_.places.kernel(0, "N"), fmt::format("kernel `{}`, for one", kernels_.front().name))
          .note("times are those of the graph's kernels");
    }
  }

 private:
  struct Stated {
    double hidden, tokens, heads, head_width;
  };

  void check_known(const std::string& name, int index, const Stated& stated, Claim& hidden, Claim& tokens, Claim& heads,
                   Claim& width) {
    const Kernel& kernel = kernels_[static_cast<std::size_t>(index)];
    for (const KnownKernel& known : kKnown) {
      if (known.name != name) continue;
      const double value = value_in(kernel, known.in);
      const auto weigh = [&](Claim& claim, double wanted) {
        claim.known(index, value == wanted, field_of(known.in), arithmetic(kernel, known.in), value);
      };
      if (known.shows == Shows::kHidden) weigh(hidden, stated.hidden);
      if (known.shows == Shows::kTokens) weigh(tokens, stated.tokens);
      if (known.shows == Shows::kHeads && stated.heads > 0) weigh(heads, stated.heads);
      if (known.shows == Shows::kHeadWidth && stated.head_width > 0) weigh(width, stated.head_width);
      if (known.shows == Shows::kHeadsTimesWidth && stated.heads > 0 && stated.head_width > 0 && kernel.outer == 1)
        heads.known(index, value == stated.heads * stated.head_width, "M",
                    fmt::format("M {}, and num_head {:.17g} * head_dim {:.17g} = {:.17g}", kernel.m, stated.heads,
                                stated.head_width, stated.heads * stated.head_width),
                    0);
    }
  }

  // Layers by the names of kernels: `_layer_<n>`, or a name of DFModel's that comes several times.
  void check_layers(const dataflow::LanguageModelRun& model) {
    std::set<int> numbered;
    struct Copies {
      Count count = 0;
      int last = 0;
    };
    std::map<std::string, Copies> known;
    int last = -1;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const auto [name, layer] = base_name(kernels_[i].name);
      if (layer > 0) {
        numbered.insert(layer);
        last = static_cast<int>(i);
      } else if (is_known(name)) {
        Copies& copies = known[name];
        ++copies.count;
        copies.last = static_cast<int>(i);
      }
    }
    Claim layers(document_, "execution.llm.num_layer_in_graph", model.layers_in_graph,
                 "the layers that the graph stands for");
    if (!numbered.empty()) {
      const auto shown = static_cast<double>(numbered.size());
      layers.known(
          last, shown == static_cast<double>(model.layers_in_graph), "",
          fmt::format("names end in {} numbers of layers, up to _layer_{}", numbered.size(), *numbered.rbegin()),
          shown);
    } else if (!known.empty()) {
      const auto most = std::max_element(known.begin(), known.end(),
                                         [](const auto& x, const auto& y) { return x.second.count < y.second.count; });
      const Count count = most->second.count;
      layers.known(most->second.last, count == model.layers_in_graph, "",
                   fmt::format("{} kernel{} called `{}`", count, count == 1 ? " is" : "s are", most->first),
                   static_cast<double>(count));
    } else if (static_cast<std::size_t>(model.layers_in_graph) > kernels_.size() && !kernels_.empty()) {
      layers.unknown(0, false, "", fmt::format("the graph has {} kernels", kernels_.size()), 0);
    }
    layers.conclude(found_);
  }

  const SetupDocument& document_;
  const std::vector<Kernel>& kernels_;
  base::Diagnostics& found_;
};

}  // namespace

void check_agreement(const SetupDocument& document, base::Diagnostics& found) {
  std::visit(Checker(document, found), document.setup.execution.workload);
}

}  // namespace orrery::formats::dfmodel
