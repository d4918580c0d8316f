#include "orrery/sweep/chip_reading.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "orrery/sweep/arguments.h"
#include "orrery/sweep/question_key.h"

namespace orrery::sweep {
namespace {

constexpr std::size_t kMostReadings = 20'000;  // kept at a time
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

}  // namespace

struct ChipReadings::Reading {
  std::shared_ptr<const scenario::AskedLayers> asked;
  std::vector<const machine::Chip*> chips;  // different ones
  std::vector<std::size_t> chip_of;         // per question
  std::vector<std::string> chip_keys;       // of `chips`
  std::vector<std::string> space_keys;      // per question
};

ChipReadings::ChipReadings(std::vector<std::string> arguments, ReadRequest read, const std::vector<std::string>& paths)
    : arguments_(std::move(arguments)), read_(std::move(read)) {
  base_ = std::get<scenario::MapRequest>(read_("map", arguments_));
  const bool chip_varies = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    return path.starts_with("arch") || path.starts_with(kConfig) || path.starts_with("variables.");
  });
  std::optional<scenario::AskedLayers> base;
  if (chip_varies) {
    estimate_ = true;
    try {
      base = ask({}, {});
    } catch (const base::InputError&) {
      estimate_ = false;  // its figures are all that is known of it
    }
  }
  if (estimate_) {  // where there is no ERT, nothing is left aside
    estimate_ = false;
    try {
      const scenario::AskedLayers given = ask({}, {});
      for (std::size_t q = 0; q < given.questions.size() && !estimate_; ++q)
        estimate_ = key_of(*given.questions[q].chip) != key_of(*base->questions[q].chip);
    } catch (const base::InputError&) {
      estimate_ = true;
    }
  }
  try {
    if (!base) base = ask({}, {});
  } catch (const base::InputError&) {
    return;  // what is set at each point makes it whole, or the probe says what is wrong
  }
  const machine::Chip *own = nullptr, *other = nullptr;
  for (std::size_t q = 0; q < base->questions.size(); ++q)
    (base->normalisation[q] ? other : own) = base->questions[q].chip.get();
  partner_ = other != nullptr;
  if (own == nullptr || other == nullptr) return;
  for (const machine::Storage& storage : own->storages) {
    const int there = other->storage_index(storage.name);
    if (there < 0) continue;
    const machine::Storage& twin = other->storages[static_cast<std::size_t>(there)];
    if (twin.capacity_words == storage.capacity_words && twin.instances == storage.instances)
      both_.push_back(storage.name);
  }
}

ChipReadings::~ChipReadings() = default;

bool ChipReadings::is_of_both(const std::string& path) const {
  if (path.starts_with("variables.")) return true;
  if (!path.starts_with("arch.")) return false;
  const std::size_t end = path.find('.', 5);
  return end != std::string::npos && std::find(both_.begin(), both_.end(), path.substr(5, end - 5)) != both_.end();
}

scenario::MapRequest ChipReadings::request_at(const std::vector<std::string>& options) {
  const std::lock_guard lock(mutex_);
  auto [known, fresh] = requests_.try_emplace(text_of(options));
  if (fresh) {
    std::vector<std::string> all = arguments_;
    all.insert(all.end(), options.begin(), options.end());
    try {
      known->second = std::get<scenario::MapRequest>(read_("map", all));
    } catch (...) {
      requests_.erase(known);
      throw;
    }
  }
  return known->second;
}

scenario::AskedLayers ChipReadings::ask(const std::vector<std::string>& options, const base::Overrides& settings) {
  scenario::MapRequest request = request_at(options);
  request.overrides.insert(request.overrides.end(), settings.begin(), settings.end());
  scenario::AskHow how;
  how.estimate = estimate_;
  constexpr std::string_view kNorm = "norm.";
  for (const base::Override& set : request.overrides)
    if (set.path.starts_with(kNorm))
      how.normalisations.push_back({set.path.substr(kNorm.size()), set.value});
    else if (is_of_both(set.path))
      how.normalisations.push_back(set);
  std::erase_if(request.overrides, [&](const base::Override& set) {
    return set.path.starts_with(kNorm) && (partner_ || set.path.starts_with("norm.arch."));
  });
  std::unique_ptr<scenario::Estimators> estimators;
  {
    const std::lock_guard lock(mutex_);
    ++readings_;
    if (!idle_.empty()) {
      estimators = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!estimators) estimators = std::make_unique<scenario::Estimators>(request.estimators);
  scenario::AskedLayers out = scenario::ask_layers(request, how, *estimators);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(estimators));
  return out;
}

ChipReadings::ReadingPtr ChipReadings::read_anew(const std::vector<std::string>& options,
                                                 const base::Overrides& settings) {
  auto out = std::make_shared<Reading>();
  out->asked = std::make_shared<const scenario::AskedLayers>(ask(options, settings));
  for (const scenario::LayerQuestion& question : out->asked->questions) {
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
  const Expanded expanded = expand(point);
  return pinned(expanded.pin, whole(split(expanded.point)));
}

PointQuestions ChipReadings::questions(const base::Overrides& point) {
  const Expanded expanded = expand(point);
  const SplitPoint parts = split(expanded.point);
  return pinned(expanded.pin, composes_ ? compose(parts) : whole(parts));
}

// Constraints of the array that follow the configuration, in place of the files'.
PointQuestions ChipReadings::pinned(const std::optional<Pin>& pin, PointQuestions point) {
  if (!pin) return point;
  const std::string key =
      fmt::format("{} {} {} {}", static_cast<const void*>(point.asked.get()), pin->rows, pin->columns, pin->dataflow);
  Pinned known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pinned_.find(key);
    if (found != pinned_.end()) known = found->second;
  }
  if (!known.after) {
    auto changed = std::make_shared<scenario::AskedLayers>(*point.asked);
    for (scenario::LayerQuestion& question : changed->questions) {
      repin(*pin, question);
      known.space_keys.push_back(key_of(question, ""));
    }
    known.before = point.asked;  // so that its address stays its own
    known.after = std::move(changed);
    const std::lock_guard lock(mutex_);
    if (pinned_.size() >= kMostReadings) pinned_.clear();
    pinned_.emplace(key, known);
  }
  point.asked = known.after;
  for (std::size_t q = 0; q < point.keys.size(); ++q) point.keys[q] = joined(point.chip_keys[q], known.space_keys[q]);
  return point;
}

PointQuestions ChipReadings::compose(const SplitPoint& parts) {
  const std::string options = text_of(parts.options);
  base::Overrides much;                             // changes more than one level
  std::map<std::string, base::Overrides> of_level;  // by the level that it changes
  if (!parts.settings.empty()) {
    ReadingPtr base;
    for (const base::Override& set : parts.settings) {
      const std::string key = options + '\x1c' + text_of({set});
      std::string storage = kNone;
      bool known = false;
      {
        const std::lock_guard lock(mutex_);
        const auto found = level_of_.find(key);
        if ((known = found != level_of_.end())) storage = found->second;
      }
      if (!known) {
        try {
          if (!base) base = reading(parts.options, {});
          storage = changed_level(*base, *reading(parts.options, {set}));
        } catch (const base::InputError&) {
          storage = kSeveral;  // it needs what else is set, or is refused with it
        }
        const std::lock_guard lock(mutex_);
        level_of_.emplace(key, storage);
      }
      if (storage == kSeveral)
        much.push_back(set);
      else if (storage != kNone)
        of_level[storage].push_back(set);
    }
  }
  // Fields of a level whose other values change more than it are taken for what they are at this point.
  const ReadingPtr most = reading(parts.options, much);
  std::vector<std::shared_ptr<machine::Chip>> chips(most->chips.size());
  for (const auto& [name, settings] : of_level) {
    base::Overrides these = much;
    these.insert(these.end(), settings.begin(), settings.end());
    const ReadingPtr level = reading(parts.options, these);
    if (level->chips.size() != most->chips.size() || level->space_keys != most->space_keys) return whole(parts);
    for (std::size_t c = 0; c < chips.size(); ++c) {
      if (level->chip_keys[c] == most->chip_keys[c]) continue;
      if (!chips[c]) chips[c] = std::make_shared<machine::Chip>(*most->chips[c]);
      const int here = chips[c]->storage_index(name), there = level->chips[c]->storage_index(name);
      if (here < 0 || there < 0) return whole(parts);
      chips[c]->storages[static_cast<std::size_t>(here)] = level->chips[c]->storages[static_cast<std::size_t>(there)];
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
