#include "orrery/inputs/masks/mask_pattern.h"

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/formats/sanger/pattern_json.h"

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

MaskPattern read_mask_pattern(const std::string& kind) {
  if (!kind.ends_with(".json")) return {named(kind), {}, {}, {}};
  const auto file = base::read_file(kind);
  MaskPattern out;
  out.inputs.push_back(base::file_input(*file));
  const formats::sanger::PatternFile read = formats::sanger::read_pattern(file, out.warnings);
  out.pattern = read.pattern;
  out.where = read.where;
  return out;
}

double check_mask_pattern(const MaskPattern& read, base::Count tokens, base::Count heads) {
  base::Diagnostics found = read.warnings;
  check(read.pattern, tokens, heads, read.where, found);
  const base::Count words = base::ceil_divide(tokens, masks::kWordBits) * masks::kWordBits;
  if (heads > masks::kMostMaskBits / std::max<base::Count>(words, 1) / std::max<base::Count>(tokens, 1))
    found
        .error("O1803", fmt::format("a mask of {} x {} x {} bits is larger than {} bits", heads, tokens, tokens,
                                    masks::kMostMaskBits))
        .hint("make one for fewer heads or tokens");
  found.throw_if_errors();
  return static_cast<double>(heads) * static_cast<double>(words) * static_cast<double>(tokens);
}

std::string mask_file(const masks::Mask& mask, bool flat_batch) {
  std::vector<base::Count> shape = {mask.heads(), mask.rows(), mask.columns()};
  if (!flat_batch) shape.insert(shape.begin(), mask.batch());
  return formats::numpy::file_of(shape, masks::bytes_of(mask));
}

}  // namespace orrery::verbs
