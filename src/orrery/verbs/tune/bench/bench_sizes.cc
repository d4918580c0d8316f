#include "orrery/verbs/tune/bench/bench_sizes.h"

#include <map>
#include <sstream>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/runtime/tuning/kernel_space.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {
namespace {

using base::Count;
using tuning::Sizes;

constexpr Count kMostSize = Count{1} << 24;

void refuse(const std::string& message, const std::string& hint) {
  base::fail("O1742", message, {}, hint);
}

// "H=16,B=8": letters in upper or lower case, N for I.
Sizes read(const std::string& text) {
  const std::string example = "give sizes as in `--size \"B=8,J=512,H=16,P=64,U=4096\"`";
  std::map<char, Count> given;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    std::erase(part, ' ');
    const std::size_t equal = part.find('=');
    const auto value = base::parse_number<Count>(equal == 1 ? std::string_view(part).substr(2) : "");
    if (!value) refuse(fmt::format("`{}` is no size: a letter, = and a whole number", part), example);
    char letter = static_cast<char>(part[0] | 0x20);
    if (letter == 'n') letter = 'i';
    if (std::string("bjkhpiu").find(letter) == std::string::npos)
      refuse(fmt::format("there is no dimension `{}`", part[0]), "dimensions are B, J, K, H, P, I (or N), U");
    if (*value < 1 || *value > kMostSize) refuse(fmt::format("`{}` is not from 1 to {}", part, kMostSize), example);
    if (!given.emplace(letter, *value).second) refuse(fmt::format("`{}` stands twice in `--size`", part[0]), example);
  }
  const auto known = [&](char letter, Count otherwise) {
    const auto at = given.find(letter);
    return at == given.end() ? otherwise : at->second;
  };
  const Count heads = known('h', 16), head = known('p', given.count('i') != 0 ? known('i', 0) / heads : 64);
  const Count width = known('i', heads * head), length = known('j', known('k', 512));
  if (width != heads * head)
    refuse(
        fmt::format("heads of {} elements make no width of {}: {} x {} = {}", head, width, heads, head, heads * head),
        "give I = H x P, or leave one of the three out");
  if (known('k', length) != length)
    refuse(fmt::format("{} positions of queries and {} of keys", length, known('k', length)),
           "an encoder attends to itself: give J = K, or one of them");
  return Sizes::encoder(known('b', 8), length, heads, width, known('u', 4 * width));
}

}  // namespace

const tuning::NamedContraction* contraction_named(const std::string& name) {
  for (const tuning::NamedContraction& one : tuning::named_contractions())
    if (name == one.name) return &one;
  return nullptr;
}

BenchSizes bench_sizes(const TuneBenchRequest& request) {
  if (!request.only.empty() && tuning::kernel_space(request.only) == nullptr &&
      contraction_named(request.only) == nullptr) {
    std::vector<std::string> names;
    for (const tuning::KernelSpace& space : tuning::kernel_spaces()) names.push_back(space.kernel);
    for (const tuning::NamedContraction& one : tuning::named_contractions()) names.emplace_back(one.name);
    base::fail("O1743", fmt::format("`{}` is no kernel and no contraction", request.only), {},
               base::did_you_mean(request.only, names, fmt::format("there are {}", base::joined(names, ", "))));
  }
  BenchSizes out;
  if (request.model.empty()) {
    out.sizes = read(request.sizes);
    if (request.batch) out.sizes['b'] = *request.batch;
    if (request.seq) out.sizes['j'] = out.sizes['k'] = *request.seq;
  } else {
    if (!request.sizes.empty()) refuse("`--size` stands beside `--model`", "leave one of the two out");
    LayerRequest layer;
    layer.model = request.model, layer.batch = request.batch, layer.seq = request.seq;
    const RunnableLayer run = runnable_layer(layer);
    const layer::Shape& s = run.shape;
    out.warnings = run.warnings;
    if (s.query_width() != s.width || s.kv_heads() != s.heads || s.gated || s.cross)
      refuse(fmt::format("the layer of `{}` has other operators than the graph that is measured", request.model),
             "give a model whose heads make its width, without shared keys, gates and cross attention, or `--size`");
    std::vector<std::string> other;
    if (s.activation != kernels::Activation::kRelu)
      other.push_back(activation_name(s.activation) + " (measured: ReLU)");
    if (s.norms == layer::Place::kPre) other.emplace_back("norms before its branches (measured: behind)");
    if (!s.centred) other.emplace_back("RMSNorm (measured: LayerNorm)");
    if (s.causal) other.emplace_back("causal attention (measured: all tokens)");
    if (s.rotary != layer::Rotary::kNone) other.emplace_back("rotary positions (measured: none)");
    if (!other.empty())
      out.warnings.warning("O1744", fmt::format("the layer of `{}` is measured by its sizes alone", request.model))
          .note(fmt::format("it has {}", base::joined(other, ", ")));
    out.sizes = Sizes::encoder(s.batch, s.length, s.heads, s.width, s.hidden);
  }
  for (const char* dims : {"hbjk", "bju", "bji", "ui"})
    if (static_cast<double>(out.sizes['b']) * static_cast<double>(out.sizes['j']) *
            std::max({static_cast<double>(out.sizes['u']),
                      static_cast<double>(out.sizes['h']) * static_cast<double>(out.sizes['k'])}) >
        1e12)
      refuse(fmt::format("a tensor {} is larger than memories are", dims), "give smaller sizes");
  return out;
}

}  // namespace orrery::verbs
