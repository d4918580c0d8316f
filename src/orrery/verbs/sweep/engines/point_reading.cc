#include "orrery/verbs/sweep/engines/point_reading.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/engines/question_key.h"
#include "orrery/verbs/sweep/points/arguments.h"
#include "orrery/verbs/sweep/points/hw_configs.h"

namespace orrery::sweep {
namespace {

constexpr std::size_t kMostReadings = 20'000;  // kept at a time
constexpr std::size_t kMostPinned = 1'000;
constexpr std::size_t kMostOfLevel = 1'000;    // combinations of one level's values whose best is looked for
const std::string kSeveral = "*", kNone = "";  // no names of levels

std::string text_of(const base::Overrides& settings) {
  std::string out;
  for (const base::Override& set : settings) out += set.path + '\x1f' + set.value + '\x1e';
  return out;
}

std::string text_of(const std::vector<std::string>& options) {
  std::string out;
  for (const std::string& option : options) out += option + '\x1d';
  return out;
}

// The chip with every storage but one the same: its key says whether the rest is.
std::string key_without(machine::Chip chip, std::size_t storage, const machine::Storage& instead) {
  chip.storages[storage] = instead;
  return key_of(chip);
}

std::optional<double> most_of(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;  // nothing: unlimited
}

// The level that neither is better than; nothing where they differ in what has no order.
std::optional<machine::Storage> best_of_both(const machine::Storage& a, const machine::Storage& b) {
  machine::Storage out = a;
  out.capacity_words = a.capacity_words && b.capacity_words
                           ? std::optional(std::max(*a.capacity_words, *b.capacity_words))
                           : std::nullopt;
  out.read_words_per_cycle = most_of(a.read_words_per_cycle, b.read_words_per_cycle);
  out.write_words_per_cycle = most_of(a.write_words_per_cycle, b.write_words_per_cycle);
  out.shared_words_per_cycle = most_of(a.shared_words_per_cycle, b.shared_words_per_cycle);
  out.energy.read_pj = std::min(a.energy.read_pj, b.energy.read_pj);
  out.energy.write_pj = std::min(a.energy.write_pj, b.energy.write_pj);
  out.energy.update_pj = std::min(a.energy.update_pj, b.energy.update_pj);
  out.energy.leak_pj_per_cycle = std::min(a.energy.leak_pj_per_cycle, b.energy.leak_pj_per_cycle);
  out.area_um2 = a.area_um2 && b.area_um2 ? std::optional(std::min(*a.area_um2, *b.area_um2)) : std::nullopt;
  // All else has to be the same.
  machine::Storage other = b;
  other.capacity_words = out.capacity_words;
  other.read_words_per_cycle = out.read_words_per_cycle;
  other.write_words_per_cycle = out.write_words_per_cycle;
  other.shared_words_per_cycle = out.shared_words_per_cycle;
  other.energy = out.energy;
  other.area_um2 = out.area_um2;
  if (a.min_utilization > 0 && a.capacity_words != b.capacity_words) return {};  // less of it may be left empty
  return key_of(other) == key_of(out) ? std::optional(std::move(out)) : std::nullopt;
}

// The chip that varies, as an option names it; empty: it does not.
std::string chip_in(const std::vector<std::string>& options) {
  constexpr std::string_view kChip = "--chip=";
  for (const std::string& option : options)
    if (option.starts_with(kChip)) return option.substr(kChip.size());
  return "";
}

bool same_chips(const verbs::AskedLayers& a, const verbs::AskedLayers& b) {
  return std::equal(
      a.questions.begin(), a.questions.end(), b.questions.begin(), b.questions.end(),
      [](const verbs::LayerQuestion& x, const verbs::LayerQuestion& y) { return key_of(*x.chip) == key_of(*y.chip); });
}

// What a study sets has come from its fields, or from its configurations, and not from `--set`.
void point_to_study(const base::Overrides& settings, bool configured, base::Diagnostic& said) {
  std::string key;
  const auto rename = [&](base::Location& where) {
    if (!where.known() || !where.file->name.starts_with("<--set")) return;
    const auto of_study = std::find_if(settings.begin(), settings.end(), [&](const base::Override& set) {
      return where.file->text == set.path + "=" + set.value;
    });
    if (of_study == settings.end()) return;
    if (configured) key = key_that_sets(of_study->path);
    where.file = std::make_shared<const base::SourceFile>(
        base::SourceFile{key.empty() ? "<--vary>" : "<--configs>", where.file->text});
  };
  rename(said.primary.where);
  for (base::Label& label : said.secondary) rename(label.where);
  if (key.empty()) return;
  said.note(fmt::format("`{}` of a configuration sets it", key));
  if (said.code == "O0111")
    said.hint(
        "configurations are of chips with an array of `PERows` and `PECols`: `--chip gemmini`, `--chip pim`, or files "
        "of version 0.4 that have them");
}

}  // namespace

struct ChipReadings::Reading {
  std::shared_ptr<const verbs::AskedLayers> asked;
  std::vector<const machine::Chip*> chips;  // different ones
  std::vector<std::size_t> chip_of;         // per question
  std::vector<std::string> chip_keys;       // of `chips`
  std::vector<std::string> space_keys;      // per question
  bool sparse = false;                      // what zeros save depends on the whole chip
};

// What the scripts take beside their options: names of layers, or `all`, then a storage at which to fuse.
void ChipReadings::take_words(verbs::MapRequest& request) {
  std::vector<std::string> files, only;
  for (const std::string& word : request.files) {
    std::error_code ignored;
    const bool path = word.find_first_of("./") != std::string::npos || std::filesystem::exists(word, ignored);
    if (path)
      files.push_back(word);
    else if (std::find(script_layers().begin(), script_layers().end(), word) != script_layers().end())
      only.push_back(word);
    else if (word != "all")
      fuse_at_word(word, request);
  }
  request.files = std::move(files);
  only_ = std::move(only);
}

ChipReadings::ChipReadings(std::vector<std::string> arguments, ReadRequest read, const std::vector<std::string>& paths,
                           Pins pins, const std::vector<std::vector<std::string>>& values)
    : arguments_(std::move(arguments)), read_(std::move(read)), pins_(pins) {
  as_scripts_ = std::any_of(paths.begin(), paths.end(), [](const std::string& p) { return p.starts_with(kConfig); });
  base_ = std::get<verbs::MapRequest>(read_("map", arguments_));
  if (as_scripts_) take_words(base_);
  // Every chip by itself, with the other options at their first values, else at their last ones.
  std::vector<std::string> chips = {""};
  for (std::size_t p = 0; p < paths.size(); ++p)
    if (paths[p] == "chip" && p < values.size() && !values[p].empty()) chips = values[p];
  Varied varied;
  base::Overrides first, last;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const bool valued = p < values.size() && !values[p].empty();
    if (paths[p].find('.') != std::string::npos) {
      varied.emplace_back(paths[p], valued ? values[p] : std::vector<std::string>());
    } else if (paths[p] != "chip" && valued) {
      first.push_back({paths[p], values[p].front()});
      last.push_back({paths[p], values[p].back()});
    }
  }
  for (const std::string& chip : chips) {
    for (base::Overrides options : {first, last}) {
      if (!chip.empty()) options.push_back({"chip", chip});
      if (look_at(split(options).options, varied)) break;
    }
  }
}

// Whether energies and areas of one chip are estimated, and which levels its partner has alike. False: it is not read
// with these options.
bool ChipReadings::look_at(const std::vector<std::string>& options, const Varied& varied) {
  OfChip& of = of_chip_[chip_in(options)];
  of = {};
  const bool may_change = std::any_of(varied.begin(), varied.end(), [](const auto& each) {
    const std::string& path = each.first;
    return path.starts_with("arch") || path.starts_with(kConfig) || path.starts_with("variables.") ||
           path.starts_with("norm.");
  });
  std::optional<verbs::AskedLayers> given, estimated;
  try {
    given = ask(options, {});
  } catch (const base::InputError&) {  // what is set at each point makes it whole, or the probe says what is wrong
  }
  if (may_change) {
    of.estimate = true;
    try {
      estimated = ask(options, {});
      // Where there is no ERT, nothing is left aside; nor where all that varies leaves the chip as it is.
      of.estimate = !given || (!same_chips(*given, *estimated) && changes_chip(options, *estimated, varied));
    } catch (const base::InputError& error) {  // its figures are all that is known of it
      of.estimate = false;
      for (const base::Diagnostic& one : error.diagnostics)
        if (of.unestimated.empty() && one.severity == base::Severity::kError) of.unestimated = one.message;
    }
  }
  const std::optional<verbs::AskedLayers>& base = given ? given : estimated;
  if (!base) return false;
  const machine::Chip *own = nullptr, *other = nullptr;
  for (std::size_t q = 0; q < base->questions.size(); ++q)
    (base->normalisation[q] ? other : own) = base->questions[q].chip.get();
  of.partner = other != nullptr;
  only_normalisations_ = own != nullptr && !of.partner && own->storage_index("Registers_Inputs") >= 0;
  if (own == nullptr || other == nullptr) return true;
  for (const machine::Storage& storage : own->storages) {
    const int there = other->storage_index(storage.name);
    if (there < 0) continue;
    const machine::Storage& twin = other->storages[static_cast<std::size_t>(there)];
    if (twin.capacity_words == storage.capacity_words && twin.instances == storage.instances)
      of.both.push_back(storage.name);
  }
  return true;
}

// Whether any value makes another chip of it. Each is read once; most fields that matter say so with the first two.
bool ChipReadings::changes_chip(const std::vector<std::string>& options, const verbs::AskedLayers& base,
                                const Varied& varied) {
  for (const auto& [path, values] : varied) {
    if (path.starts_with(kConfig) || values.empty()) return true;
    for (const std::string& value : values) {
      try {
        if (!same_chips(base, ask(options, {{path, value}}))) return true;
      } catch (const base::InputError& error) {
        // A path that this chip does not have is refused at its points. Any other value may be taken with what else
        // is set.
        if (std::none_of(error.diagnostics.begin(), error.diagnostics.end(),
                         [](const base::Diagnostic& one) { return one.code == "O0111"; }))
          return true;
      }
    }
  }
  return false;
}

const ChipReadings::OfChip& ChipReadings::of_chip(const std::vector<std::string>& options) const {
  static const OfChip unknown;
  const auto found = of_chip_.find(chip_in(options));
  return found == of_chip_.end() ? unknown : found->second;
}

bool ChipReadings::leaves_tables(const base::Overrides& point) const {
  return of_chip(split(point).options).estimate;
}

std::vector<std::string> ChipReadings::leaving_tables() const {
  std::vector<std::string> out;
  for (const auto& [chip, of] : of_chip_)
    if (of.estimate) out.push_back(chip);
  return out;
}

std::vector<std::pair<std::string, std::string>> ChipReadings::unestimated() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [chip, of] : of_chip_)
    if (!of.unestimated.empty()) out.emplace_back(chip, of.unestimated);
  return out;
}

ChipReadings::~ChipReadings() = default;

// Whether the documents give the attribute a value; asked of the documents, once for each path.
bool ChipReadings::states(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = states_.find(path);
    if (known != states_.end()) return known->second;
  }
  bool out = true;
  const auto absent = [](const base::Diagnostic& one) { return one.code == "O0116" || one.code == "O0111"; };
  try {
    const verbs::AskedLayers asked = ask({}, {{path, "1"}});
    out = std::none_of(asked.warnings.all().begin(), asked.warnings.all().end(), absent);
  } catch (const base::InputError& error) {  // a value that cannot be is of an attribute that is there
    out = std::none_of(error.diagnostics.begin(), error.diagnostics.end(), absent);
  }
  const std::lock_guard lock(mutex_);
  return states_.emplace(path, out).first->second;
}

Expanded ChipReadings::expand_here(const base::Overrides& point) {
  Expanded out = expand(point, pins_);
  if (!out.pin) return out;
  constexpr std::string_view kNorm = "norm.";
  if (only_normalisations_) {
    // What is said of the other chip is said of this one.
    for (base::Overrides* list : {&out.point, &out.stated}) {
      std::erase_if(*list, [&](const base::Override& set) {
        return set.path.starts_with("arch.") &&
               point.end() == std::find_if(point.begin(), point.end(), [&](auto& own) { return own.path == set.path; });
      });
      for (base::Override& set : *list)
        if (set.path.starts_with(kNorm)) set.path.erase(0, kNorm.size());
    }
    out.pin->rows = out.pin->columns = 0;
  }
  const bool partner = of_chip(split(point).options).partner;
  for (base::Override& set : out.stated)
    if ((!set.path.starts_with(kNorm) || partner) && states(set.path)) out.point.push_back(std::move(set));
  return out;
}

bool ChipReadings::is_of_both(const OfChip& chip, const std::string& path) {
  if (path.starts_with("variables.")) return true;
  if (!path.starts_with("arch.")) return false;
  const std::size_t end = path.find('.', 5);
  return end != std::string::npos &&
         std::find(chip.both.begin(), chip.both.end(), path.substr(5, end - 5)) != chip.both.end();
}

verbs::MapRequest ChipReadings::request_at(const std::vector<std::string>& options) {
  const std::lock_guard lock(mutex_);
  auto [known, fresh] = requests_.try_emplace(text_of(options));
  if (fresh) {
    std::vector<std::string> all = arguments_;
    all.insert(all.end(), options.begin(), options.end());
    try {
      known->second = std::get<verbs::MapRequest>(read_("map", all));
      if (as_scripts_) take_words(known->second);
    } catch (...) {
      requests_.erase(known);
      throw;
    }
  }
  return known->second;
}

std::shared_ptr<const std::vector<verbs::ChipFile>> ChipReadings::chips_of(const verbs::MapRequest& request) {
  const bool with_normalisations = !request.model.empty();
  const std::string key = text_of(request.chips) + (with_normalisations ? "\x1c" : "");
  const std::lock_guard lock(mutex_);
  auto& known = chips_[key];
  if (!known)
    known = std::make_shared<const std::vector<verbs::ChipFile>>(verbs::load_chips(request.chips, with_normalisations));
  return known;
}

verbs::AskedLayers ChipReadings::ask(const std::vector<std::string>& options, const base::Overrides& settings) {
  verbs::MapRequest request = request_at(options);
  request.overrides.insert(request.overrides.end(), settings.begin(), settings.end());
  verbs::AskHow how;
  const OfChip& chip = of_chip(options);
  how.estimate = chip.estimate;
  how.as_scripts = as_scripts_;
  how.only = only_;
  constexpr std::string_view kNorm = "norm.";
  for (const base::Override& set : request.overrides)
    if (set.path.starts_with(kNorm))
      how.normalisations.push_back({set.path.substr(kNorm.size()), set.value});
    else if (is_of_both(chip, set.path))
      how.normalisations.push_back(set);
  std::erase_if(request.overrides, [&](const base::Override& set) {
    return set.path.starts_with(kNorm) && (chip.partner || set.path.starts_with("norm.arch."));
  });
  std::unique_ptr<verbs::Estimators> estimators;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      estimators = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!estimators) estimators = std::make_unique<verbs::Estimators>(request.estimators);
  verbs::AskedLayers out;
  try {
    how.chips = chips_of(request);
    out = verbs::ask_layers(request, how, *estimators);
  } catch (base::InputError& error) {
    for (base::Diagnostic& said : error.diagnostics) {
      point_to_study(settings, as_scripts_, said);
      if (as_scripts_ && said.code == "O2029")
        said.hint(base::did_you_mean(request.fuse.level, script_layers(),
                                     fmt::format("layers are {}", base::joined(script_layers(), ", "))));
    }
    throw;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(estimators));
  return out;
}

ChipReadings::ReadingPtr ChipReadings::read_anew(const std::vector<std::string>& options,
                                                 const base::Overrides& settings) {
  auto out = std::make_shared<Reading>();
  out->asked = std::make_shared<const verbs::AskedLayers>(ask(options, settings));
  for (const verbs::LayerQuestion& question : out->asked->questions) {
    out->sparse = out->sparse || question.sparse != nullptr;
    const auto found = std::find(out->chips.begin(), out->chips.end(), question.chip.get());
    out->chip_of.push_back(static_cast<std::size_t>(found - out->chips.begin()));
    if (found == out->chips.end()) {
      out->chips.push_back(question.chip.get());
      out->chip_keys.push_back(key_of(*question.chip));
    }
    out->space_keys.push_back(key_of(question, ""));
  }
  return out;
}

ChipReadings::ReadingPtr ChipReadings::reading(const std::vector<std::string>& options,
                                               const base::Overrides& settings) {
  const std::string key = text_of(options) + '\x1c' + text_of(settings);
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
  }
  ReadingPtr out = read_anew(options, settings);
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostReadings) known_.clear();
  return known_.emplace(key, std::move(out)).first->second;
}

std::string ChipReadings::changed_level(const Reading& base, const Reading& changed) const {
  if (base.chips.size() != changed.chips.size() || base.chip_of != changed.chip_of ||
      base.space_keys != changed.space_keys)
    return kSeveral;
  std::string level = kNone;
  for (std::size_t c = 0; c < base.chips.size(); ++c) {
    if (base.chip_keys[c] == changed.chip_keys[c]) continue;
    const machine::Chip &one = *base.chips[c], &other = *changed.chips[c];
    if (one.storages.size() != other.storages.size()) return kSeveral;
    // The storage without whose change the chips are the same.
    std::string found = kSeveral;
    for (std::size_t i = 0; i < one.storages.size(); ++i) {
      const machine::Storage &before = one.storages[i], &after = other.storages[i];
      if (before.name != after.name || before.instances != after.instances || before.mesh_x != after.mesh_x ||
          before.mesh_y != after.mesh_y)
        return kSeveral;
      if (found == kSeveral && key_without(other, i, before) == base.chip_keys[c]) found = before.name;
    }
    if (found == kSeveral || (level != kNone && level != found)) return kSeveral;
    level = found;
  }
  return level;
}

PointQuestions ChipReadings::whole(const SplitPoint& parts) {
  const ReadingPtr whole = read_anew(parts.options, parts.settings);
  PointQuestions out{whole->asked, {}, {}, {}};
  for (std::size_t q = 0; q < whole->chip_of.size(); ++q) {
    out.chips.push_back(whole->asked->questions[q].chip);
    out.chip_keys.push_back(whole->chip_keys[whole->chip_of[q]]);
    out.keys.push_back(joined(whole->chip_keys[whole->chip_of[q]], whole->space_keys[q]));
  }
  return out;
}

PointQuestions ChipReadings::read_whole(const base::Overrides& point) {
  const Expanded expanded = expand_here(point);
  return pinned(expanded.pin, whole(split(expanded.point)));
}

PointQuestions ChipReadings::questions(const base::Overrides& point) {
  const Expanded expanded = expand_here(point);
  const SplitPoint parts = split(expanded.point);
  return pinned(expanded.pin, composes_ ? compose(parts) : whole(parts));
}

// Constraints of the array that follow the configuration, in place of the files'.
PointQuestions ChipReadings::pinned(const std::optional<Pin>& pin, PointQuestions point) {
  if (!pin) return point;
  std::string key = fmt::format("{} {} {} {} {}", static_cast<const void*>(point.asked.get()), pin->rows, pin->columns,
                                pin->dataflow, pin->register_file);
  // What a normalisation's accumulator takes depends on its words.
  for (const auto& chip : point.chips) {
    const int sums = chip->storage_index("Registers_Inputs") < 0 ? -1 : chip->storage_index("Accumulator");
    if (sums >= 0) key += fmt::format(" {}", chip->storages[static_cast<std::size_t>(sums)].capacity_words.value_or(0));
  }
  Pinned known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pinned_.find(key);
    if (found != pinned_.end()) known = found->second;
  }
  if (!known.after) {
    auto changed = std::make_shared<verbs::AskedLayers>(*point.asked);
    for (std::size_t q = 0; q < changed->questions.size(); ++q) {
      verbs::LayerQuestion& question = changed->questions[q];
      question.chip = point.chips[q];
      repin(*pin, question);
      known.space_keys.push_back(key_of(question, ""));
    }
    known.before = point.asked;  // so that its address stays its own
    known.after = std::move(changed);
    const std::lock_guard lock(mutex_);
    if (pinned_.size() >= kMostPinned) pinned_.clear();
    pinned_.emplace(key, known);
  }
  point.asked = known.after;
  for (std::size_t q = 0; q < point.keys.size(); ++q) point.keys[q] = joined(point.chip_keys[q], known.space_keys[q]);
  return point;
}

ChipReadings::ByLevel ChipReadings::by_level(const std::vector<std::string>& options, const base::Overrides& settings) {
  ByLevel out;
  ReadingPtr base;
  for (const base::Override& set : settings) {
    const std::string key = text_of(options) + '\x1c' + text_of({set});
    std::string storage = kNone;
    bool known = false;
    {
      const std::lock_guard lock(mutex_);
      const auto found = level_of_.find(key);
      if ((known = found != level_of_.end())) storage = found->second;
    }
    if (!known) {
      try {
        if (!base) base = reading(options, {});
        storage = changed_level(*base, *reading(options, {set}));
      } catch (const base::InputError&) {
        storage = kSeveral;  // it needs what else is set, or is refused with it
      }
      const std::lock_guard lock(mutex_);
      level_of_.emplace(key, storage);
    }
    if (storage == kSeveral)
      out.much.push_back(set);
    else if (storage != kNone)
      out.of_level[storage].push_back(set);
  }
  return out;
}

PointQuestions ChipReadings::compose(const SplitPoint& parts) {
  // Fields of a level whose other values change more than it are taken for what they are at this point.
  const ByLevel of = by_level(parts.options, parts.settings);
  OfLevels levels;
  for (const auto& [name, settings] : of.of_level) levels[name] = {settings};
  std::optional<PointQuestions> out = put_together(parts, of.much, levels);
  return out ? *std::move(out) : whole(parts);
}

std::optional<PointQuestions> ChipReadings::put_together(const SplitPoint& parts, const base::Overrides& much,
                                                         const OfLevels& levels) {
  const ReadingPtr most = reading(parts.options, much);
  if (most->sparse) return {};
  std::vector<std::shared_ptr<machine::Chip>> chips(most->chips.size());
  for (const auto& [name, several] : levels) {
    std::vector<std::optional<machine::Storage>> best(chips.size());
    for (const base::Overrides& settings : several) {
      base::Overrides these = much;
      these.insert(these.end(), settings.begin(), settings.end());
      const ReadingPtr level = reading(parts.options, these);
      if (level->sparse || level->chips.size() != most->chips.size() || level->space_keys != most->space_keys)
        return {};
      for (std::size_t c = 0; c < chips.size(); ++c) {
        const int here = most->chips[c]->storage_index(name), there = level->chips[c]->storage_index(name);
        if (here < 0 && there < 0 && level->chip_keys[c] == most->chip_keys[c]) continue;
        if (here < 0 || there < 0) return {};
        const machine::Storage& storage = level->chips[c]->storages[static_cast<std::size_t>(there)];
        best[c] = best[c] ? best_of_both(*best[c], storage) : storage;
        if (!best[c]) return {};
      }
    }
    for (std::size_t c = 0; c < chips.size(); ++c) {
      if (!best[c]) continue;
      if (!chips[c]) chips[c] = std::make_shared<machine::Chip>(*most->chips[c]);
      chips[c]->storages[static_cast<std::size_t>(most->chips[c]->storage_index(name))] = *std::move(best[c]);
    }
  }
  PointQuestions out{most->asked, {}, {}, {}};
  std::vector<std::string> keys(chips.size());
  for (std::size_t c = 0; c < chips.size(); ++c) keys[c] = chips[c] ? key_of(*chips[c]) : most->chip_keys[c];
  for (std::size_t q = 0; q < most->chip_of.size(); ++q) {
    const std::size_t c = most->chip_of[q];
    out.chips.push_back(chips[c] ? chips[c] : most->asked->questions[q].chip);
    out.chip_keys.push_back(keys[c]);
    out.keys.push_back(joined(keys[c], most->space_keys[q]));
  }
  return out;
}

std::optional<PointQuestions> ChipReadings::best_of(const Choices& box) {
  base::Overrides fixed;
  std::vector<const std::vector<base::Overrides>*> open;
  for (const std::vector<base::Overrides>& choices : box) {
    if (choices.size() > 1)
      open.push_back(&choices);
    else
      fixed.insert(fixed.end(), choices[0].begin(), choices[0].end());
  }
  if (open.empty()) return questions(fixed);
  if (!composes_) return {};
  const Expanded expanded = expand_here(fixed);
  const SplitPoint parts = split(expanded.point);
  const ByLevel of = by_level(parts.options, parts.settings);
  OfLevels levels;
  for (const auto& [name, settings] : of.of_level) levels[name] = {settings};
  for (const std::vector<base::Overrides>* choices : open) {
    // What each choice sets of each level; a value that the documents have themselves sets nothing.
    OfLevels here;
    for (std::size_t i = 0; i < choices->size(); ++i) {
      const base::Overrides& choice = (*choices)[i];
      for (const base::Override& set : choice)
        if (set.path.starts_with(kConfig) || set.path.find('.') == std::string::npos) return {};
      const ByLevel each = by_level(parts.options, choice);
      if (!each.much.empty()) return {};
      for (const auto& [name, settings] : each.of_level)
        here.try_emplace(name, choices->size()).first->second[i] = settings;
    }
    for (const auto& [name, several] : here) {
      std::vector<base::Overrides>& all = levels[name];
      if (all.empty()) all.emplace_back();
      if (all.size() * several.size() > kMostOfLevel) return {};
      std::vector<base::Overrides> product;
      for (const base::Overrides& before : all)
        for (const base::Overrides& more : several) {
          product.push_back(before);
          product.back().insert(product.back().end(), more.begin(), more.end());
        }
      all = std::move(product);
    }
  }
  std::optional<PointQuestions> out = put_together(parts, of.much, levels);
  return out ? pinned(expanded.pin, *std::move(out)) : std::optional<PointQuestions>();
}

void ChipReadings::verify(const std::vector<base::Overrides>& points) {
  // The keys, or nothing where the point is refused.
  const auto keys = [](const auto& ask) {
    try {
      return ask().keys;
    } catch (const base::InputError&) {
      return std::vector<std::string>();
    }
  };
  for (const base::Overrides& point : points)
    if (composes_) composes_ = keys([&] { return questions(point); }) == keys([&] { return read_whole(point); });
}

}  // namespace orrery::sweep
