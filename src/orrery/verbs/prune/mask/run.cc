#include "orrery/verbs/prune/mask/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/formats/sanger/pattern_json.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using masks::Pattern;
using masks::PatternKind;

struct Named {
  const char* name;
  PatternKind kind;
};
constexpr Named kNamed[] = {
    {"dense", PatternKind::kDense},           {"fixed", PatternKind::kFixed},
    {"longformer", PatternKind::kLongformer}, {"bigbird", PatternKind::kBigBird},
    {"hugebird", PatternKind::kBigBird},      {"block-structured", PatternKind::kBlockStructured},
    {"sliding", PatternKind::kSliding}};

// A pattern by name has Sanger's figures.
Pattern named(const std::string& name) {
  for (const Named& known : kNamed) {
    if (name != known.name) continue;
    Pattern pattern;
    pattern.kind = known.kind;
    if (name == "hugebird") {
      pattern.block = 32;
      pattern.random_blocks = 3;
      pattern.global_blocks = 2;
    }
    return pattern;
  }
  base::fail("O1813", fmt::format("there is no kind of mask `{}`", name), {},
             base::did_you_mean(name, sparse_mask_kinds(),
                                "`orrery sparse mask --help` lists them; a file of Sanger's ends in .json"));
}

}  // namespace

std::vector<std::string> sparse_mask_kinds() {
  std::vector<std::string> names;
  for (const Named& known : kNamed) names.emplace_back(known.name);
  return names;
}

SparseMask make_sparse_mask(const SparseMaskRequest& request) {
  SparseMask out{request.kind, request.tokens, request.heads, request.seed, {}, {}, {}, {}};
  Pattern pattern;
  base::Location where;
  if (request.kind.ends_with(".json")) {
    const auto file = base::read_file(request.kind);
    out.inputs.push_back(base::file_input(*file));
    const formats::sanger::PatternFile read = formats::sanger::read_pattern(file, out.warnings);
    pattern = read.pattern;
    where = read.where;
  } else {
    pattern = named(request.kind);
  }
  if (request.options) request.options(pattern);
  base::Diagnostics found = out.warnings;
  check(pattern, request.tokens, request.heads, where, found);
  const base::Count words = base::ceil_divide(request.tokens, masks::kWordBits) * masks::kWordBits;
  if (request.heads > masks::kMostMaskBits / std::max<base::Count>(words, 1) / std::max<base::Count>(request.tokens, 1))
    found
        .error("O1803", fmt::format("a mask of {} x {} x {} bits is larger than {} bits", request.heads, request.tokens,
                                    request.tokens, masks::kMostMaskBits))
        .hint("make one for fewer heads or tokens");
  found.throw_if_errors();
  const base::Budget budget(request.limits);
  // The bits; the same as bytes, and once more on their way to the file.
  const double bits =
      static_cast<double>(request.heads) * static_cast<double>(words) * static_cast<double>(request.tokens);
  demand_room(budget, bits / 8 + (request.writes ? 2 * bits : 0),
              request.writes ? "the mask and its file" : "the mask");
  LimitedSteps steps(budget);
  if (!steps.run("the mask", [&] {
        out.mask = static_mask(pattern, request.tokens, request.heads, request.seed, budget);
        out.figures = masks::measure(out.mask, {}, {}, budget);
      }))
    out.mask = {};
  out.warnings.append(limits_reached(steps.unfinished(), true, request.limits));
  return out;
}

std::string mask_file(const masks::Mask& mask, bool flat_batch) {
  std::vector<base::Count> shape = {mask.heads(), mask.rows(), mask.columns()};
  if (!flat_batch) shape.insert(shape.begin(), mask.batch());
  return formats::numpy::file_of(shape, masks::bytes_of(mask));
}

}  // namespace orrery::verbs
