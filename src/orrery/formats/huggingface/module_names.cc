// Idea: a plain pattern is cut at its dots, and its parts must follow each other in the name. An expression is a list
// of single-byte atoms, each perhaps optional or repeated, after its alternatives have been written out; a table of
// reachable places matches it in O(atoms x bytes), whatever it says.
#include "orrery/formats/huggingface/module_names.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "orrery/base/text/text.h"

namespace orrery::formats::huggingface {
namespace {

constexpr std::size_t kLongestExpression = 1000;
constexpr std::size_t kMostAlternatives = 64;

constexpr std::array<std::string_view, 5> kStacks = {"layers", "h", "blocks", "layer", "block"};
constexpr std::array<std::string_view, 7> kTowers = {
    "visual", "vision_tower", "vision_model", "vision_encoder", "vision_embed_tokens", "audio_tower", "audio_encoder"};
// What brings a tower's outputs to the width of the text stands beside the tower's layers.
constexpr std::array<std::string_view, 5> kProjectors = {"mm_projector", "multi_modal_projector", "embed_vision",
                                                         "patch_merger", "vision_language_adapter"};
constexpr std::array<std::string_view, 6> kAround = {"model",  "language_model", "transformer",
                                                     "module", "decoder",        "backbone"};

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename Part>
void cut(std::string_view text, std::vector<Part>& out) {
  out.clear();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    if (dot > at) out.emplace_back(text.substr(at, dot - at));
    at = dot + 1;
  }
}

std::optional<base::Count> number(std::string_view text) {
  return base::parse_number<base::Count>(text, 0, std::numeric_limits<base::Count>::max());
}

// `*` in a pattern stands for any bytes: those that may stand before and behind each are tried once.
bool globs(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] != '*' && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool same_part(std::string_view pattern, std::string_view name) {
  return globs(pattern, name) || (name == "*" && number(pattern));
}

bool follows(const std::vector<std::string>& parts, const std::string& text) {
  const auto starred = [](const std::string& part) { return part.find('*') != std::string::npos; };
  const bool any = std::any_of(parts.begin(), parts.end(), starred);
  // Most names are told apart by their last part, before they are cut; a number may stand for the `*` of a name.
  if (!any && text.find(parts.back()) == std::string::npos && !number(parts.back())) return false;
  thread_local std::vector<std::string_view> name;  // its room is used again: this is asked millions of times
  cut(text, name);
  if (std::search(name.begin(), name.end(), parts.begin(), parts.end(),
                  [](std::string_view n, std::string_view p) { return same_part(p, n); }) != name.end())
    return true;
  // A `*` may stand for several parts.
  if (!any) return false;
  const std::string pattern = base::joined(parts, ".");
  for (std::size_t from = 0; from < name.size(); ++from) {
    std::string some;
    for (std::size_t i = from; i < name.size(); ++i) {
      if (i > from) some += '.';
      some += name[i];
      if (globs(pattern, some)) return true;
    }
  }
  return false;
}

std::string_view without_stars(std::string_view part) {
  const std::size_t first = part.find_first_not_of('*');
  return first == std::string_view::npos ? "" : part.substr(first, part.find_last_not_of('*') + 1 - first);
}

// `a(b|c)d` as `abd`, `acd`; empty where brackets do not pair, or there are too many.
std::vector<std::string> written_out(std::string_view text) {
  std::vector<std::string> open = {std::string(text)}, done;
  while (!open.empty()) {
    std::string one = std::move(open.back());
    open.pop_back();
    // The first group without another one inside of it.
    std::size_t begin = std::string::npos, end = std::string::npos;
    std::vector<std::size_t> bars;
    for (std::size_t at = 0; at < one.size(); ++at) {
      if (one[at] == '\\') {
        ++at;
      } else if (one[at] == '(') {
        begin = at;
        bars.clear();
      } else if (one[at] == '|') {
        bars.push_back(at);
      } else if (one[at] == ')') {
        if (begin == std::string::npos) return {};
        end = at;
        break;
      }
    }
    if (begin == std::string::npos && bars.empty()) {
      done.push_back(std::move(one));
      continue;
    }
    if (begin != std::string::npos && end == std::string::npos) return {};
    const bool group = begin != std::string::npos;
    std::size_t from = group ? begin + 1 : 0;
    const std::size_t last = group ? end : one.size();
    if (group && one.compare(from, 2, "?:") == 0) from += 2;
    // What is repeated as a whole is no list of atoms.
    if (group && end + 1 < one.size() && (one[end + 1] == '*' || one[end + 1] == '+' || one[end + 1] == '?')) return {};
    bars.push_back(last);
    for (const std::size_t bar : bars) {
      open.push_back((group ? one.substr(0, begin) : "") + one.substr(from, bar - from) +
                     (group ? one.substr(end + 1) : ""));
      from = bar + 1;
    }
    if (open.size() + done.size() > kMostAlternatives) return {};
  }
  return done;
}

}  // namespace

ModulePattern::ModulePattern(std::string_view text) : text_(text) {
  if (text.starts_with("re:")) {
    expression_ = true;
    read_expression(text.substr(3));
  } else if (text.find_first_of("+?[(\\|^$") != std::string_view::npos || text.starts_with(".*")) {
    expression_ = true;
    read_expression(text);
  } else {
    read_name();
  }
}

void ModulePattern::read_name() {
  cut(text_, parts_);
  const auto erase_to = [&](std::size_t end) {
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (read_room(i)) {
      erase_to(i + 1);
      break;
    }
  for (std::size_t i = 0; i + 1 < parts_.size(); ++i) {
    if (!among(kStacks, without_stars(parts_[i]))) continue;
    const std::string& layer = parts_[i + 1];
    const std::size_t digits = std::min(layer.find_first_not_of("0123456789"), layer.size());
    const bool open = digits < layer.size() && layer.find_first_not_of('*', digits) == std::string::npos;
    if (digits > 0 && open) {
      layers_ = layer;
      asks_layers_ = true;
    } else if (!(layer_ = number(layer)) && layer.front() != '*') {
      continue;
    }
    erase_to(i + (without_stars(layer).empty() || digits > 0 ? 2 : 1));  // `layers.*mlp` names a module, too
    break;
  }
  while (!parts_.empty() && (among(kAround, without_stars(parts_.front())) || without_stars(parts_.front()).empty())) {
    text_only_ = text_only_ || without_stars(parts_.front()) == "language_model";
    erase_to(1);
  }
  if (!parts_.empty() && without_stars(parts_.back()).empty()) parts_.pop_back();  // what is inside of it
  if (text_.empty()) understood_ = false;
}

// Whether a part is the room of what does not belong to the stack of text.
bool ModulePattern::read_room(std::size_t at) {
  const std::string_view room = without_stars(parts_[at]);
  prediction_ = room == "mtp";
  projector_ = among(kProjectors, room);
  // Where a tower is named as a whole, what stands beside its layers is, too.
  tower_ = projector_ || among(kTowers, room) || (room == "vision" && room.size() < parts_[at].size());
  return prediction_ || tower_;
}

void ModulePattern::read_expression(std::string_view expression) {
  const auto names = [&](std::string_view name) { return expression.find(name) != std::string_view::npos; };
  tower_ =
      std::any_of(kTowers.begin(), kTowers.end(), names) || std::any_of(kProjectors.begin(), kProjectors.end(), names);
  prediction_ = names("mtp");
  asks_layers_ = expression.find_first_of("0123456789") != std::string_view::npos;
  const std::vector<std::string> all =
      expression.size() <= kLongestExpression ? written_out(expression) : std::vector<std::string>();
  understood_ = !all.empty();
  for (const std::string& one : all) {
    Sequence atoms;
    bool to_the_end = false;
    for (std::size_t at = 0; at < one.size() && understood_; ++at) {
      Atom atom;
      switch (one[at]) {
        case '^':
          understood_ = at == 0;
          continue;
        case '$':
          to_the_end = true;
          understood_ = at + 1 == one.size();
          continue;
        case '.':
          break;
        case '\\':
          if (++at >= one.size()) {
            understood_ = false;
          } else if (one[at] == 'd') {
            atom.set = "0123456789";
          } else if (one[at] == '.' || one[at] == '_' || one[at] == '-') {
            atom.set = one[at];
          } else {
            understood_ = false;
          }
          break;
        case '[': {
          atom.negated = at + 1 < one.size() && one[at + 1] == '^';
          std::size_t in = at + (atom.negated ? 2 : 1);
          for (; in < one.size() && one[in] != ']'; ++in) {
            if (in + 2 < one.size() && one[in + 1] == '-' && one[in + 2] != ']' && one[in] <= one[in + 2]) {
              for (char c = one[in]; c < one[in + 2]; ++c) atom.set += c;
              ++in;
            } else {
              atom.set += one[in];
            }
          }
          understood_ = in < one.size() && !atom.set.empty();
          at = in;
          break;
        }
        case '*':
        case '+':
        case '?':
        case '{':
          understood_ = false;
          break;
        default:
          atom.set = one[at];
      }
      if (understood_ && at + 1 < one.size() && (one[at + 1] == '*' || one[at + 1] == '+' || one[at + 1] == '?')) {
        ++at;
        atom.optional = one[at] != '+';
        atom.repeated = one[at] != '?';
        if (at + 1 < one.size() && one[at + 1] == '?') ++at;  // as few as possible: the same names match
      }
      atoms.push_back(std::move(atom));
    }
    alternatives_.emplace_back(std::move(atoms), to_the_end);
  }
  if (!understood_) alternatives_.clear();
}

bool ModulePattern::begins(const Sequence& sequence, bool to_the_end, std::string_view name) {
  // Places among the atoms that the bytes so far may lead to.
  std::vector<char> at(sequence.size() + 1, 0), next;
  at[0] = 1;
  const auto skip = [&](std::vector<char>& places) {
    for (std::size_t i = 0; i < sequence.size(); ++i)
      if (places[i] != 0 && sequence[i].optional) places[i + 1] = 1;
  };
  skip(at);
  for (const char byte : name) {
    if (at.back() != 0 && !to_the_end) return true;
    next.assign(sequence.size() + 1, 0);
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const Atom& atom = sequence[i];
      if (at[i] == 0 || (!atom.set.empty() && (atom.set.find(byte) != std::string::npos) == atom.negated)) continue;
      next[i + 1] = 1;
      if (atom.repeated) next[i] = 1;
    }
    // A repeated atom that took a byte may take more, or be left.
    skip(next);
    at.swap(next);
  }
  return at.back() != 0;
}

bool ModulePattern::names_layer(base::Count layer) const {
  return layers_.empty() ? layer_ == layer : globs(layers_, std::to_string(layer));
}

// `mtp.layers.0.*`: layers of a room of their own, which count from 0.
bool ModulePattern::picks_ahead(const ModuleName& module) const {
  if ((layer_ || !layers_.empty()) && !names_layer(*module.ahead)) return false;
  return parts_.empty() || std::any_of(module.names.begin(), module.names.end(),
                                       [&](const std::string& name) { return follows(parts_, name); });
}

bool ModulePattern::picks_name(const ModuleName& module) const {
  if (projector_ && module.layer) return false;
  if (prediction_) return module.ahead && picks_ahead(module);
  const bool some_layers = layer_ || !layers_.empty();
  if (tower_ != module.tower && (tower_ || text_only_ || some_layers)) return false;
  if (some_layers && !(module.layer && names_layer(*module.layer))) return false;
  if (parts_.empty()) return tower_ || some_layers || text_.find('*') != std::string::npos;
  return std::any_of(module.names.begin(), module.names.end(),
                     [&](const std::string& name) { return follows(parts_, name); });
}

bool ModulePattern::picks(const ModuleName& module) const {
  if (!expression_) return picks_name(module);
  static constexpr std::array<std::string_view, 4> kText = {"model.layers.", "language_model.model.layers.",
                                                            "model.language_model.layers.", "transformer.h."};
  static constexpr std::array<std::string_view, 4> kAhead = {"mtp.layers.", "model.mtp.layers.", "mtp.",
                                                             "model.mtp_layers."};
  static constexpr std::array<std::string_view, 5> kImages = {
      "visual.blocks.", "model.visual.blocks.", "vision_tower.vision_model.encoder.layers.",
      "model.vision_tower.vision_model.encoder.layers.", "vision_model.model.layers."};
  static constexpr std::array<std::string_view, 4> kNearText = {"", "model.", "language_model.",
                                                                "language_model.model."};
  static constexpr std::array<std::string_view, 4> kNearImages = {"", "visual.", "vision_tower.",
                                                                  "multi_modal_projector."};
  const auto any = [&](const auto& before, const std::optional<base::Count>& layer) {
    for (const std::string_view prefix : before)
      for (std::string name : module.names) {
        std::replace(name.begin(), name.end(), '*', '0');
        std::string full(prefix);
        if (layer) full += std::to_string(*layer) + ".";
        full += name;
        for (const auto& [sequence, to_the_end] : alternatives_)
          if (begins(sequence, to_the_end, full)) return true;
      }
    return false;
  };
  if (module.ahead && any(kAhead, module.ahead)) return true;
  if (module.layer) return module.tower ? any(kImages, module.layer) : any(kText, module.layer);
  return module.tower ? any(kNearImages, module.layer) : any(kNearText, module.layer);
}

}  // namespace orrery::formats::huggingface
