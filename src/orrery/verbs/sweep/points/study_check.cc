#include "orrery/verbs/sweep/points/study_check.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/grouped.h"
#include "orrery/verbs/sweep/points/values.h"

namespace orrery::sweep {
namespace {

// Options that vary, each at its first, middle or last value, so that the question is taken; throws the first refusal
// where none is. At most 3^4 questions.
base::Overrides options_taken(const Study& study, const std::function<void(const base::Overrides&)>& ask) {
  std::vector<const Axis*> axes;
  for (const Axis* axis : study.axes())
    if (axis->path.find('.') == std::string::npos) axes.push_back(axis);
  std::optional<base::InputError> refused;
  std::size_t combinations = 1;
  for (std::size_t a = 0; a < std::min<std::size_t>(axes.size(), 4); ++a) combinations *= 3;
  for (std::size_t combination = 0; combination < combinations; ++combination) {
    base::Overrides out;
    std::size_t rest = combination;
    for (const Axis* axis : axes) {
      out.push_back({axis->path, axis->values[rest % 3 * (axis->values.size() - 1) / 2]});
      rest /= 3;
    }
    try {
      ask(out);
      return out;
    } catch (const base::InputError& error) {
      if (!refused) refused = error;
    }
  }
  // What is wrong without them is said first, but for what they are to make whole.
  try {
    ask({});
  } catch (const base::InputError& error) {
    if (error.diagnostics.front().code != "O1103") throw;
  }
  throw *refused;
}

// The points that pass the filters, counted for some seconds: how many, the first of them, and whether that is all.
struct Counted {
  Point passing = 0, first = 0;
  bool all = true;
};
Counted counted(const Study& study) {
  constexpr double kSeconds = 10;
  constexpr Point kBetweenLooks = 4096;
  const Point points = study.points();
  if (study.where.empty()) return {points, 0, true};
  const base::Stopwatch clock;
  Counted out;
  for (Point point = 0; point < points; ++point) {
    if (point % kBetweenLooks == 0 && clock.seconds() > kSeconds) {
      out.all = false;
      break;
    }
    if (study.wanted(study.at(point)) && out.passing++ == 0) out.first = point;
  }
  return out;
}

}  // namespace

void probe_names(const Study& study, Engine& engine, Point first) {
  std::size_t at = 0;
  for (const Axis* axis : study.axes()) {
    double number = 0;
    base::Overrides point = study.at(first);
    if (axis->path.find('.') == std::string::npos)
      for (const std::string& value : axis->values) {
        if (is_number(value, number) || value == point[at].value) continue;
        base::Overrides other = point;
        other[at].value = value;
        try {
          engine.probe(other);
        } catch (const base::InputError&) {  // its points will say so
        }
      }
    ++at;
  }
}

void probe(const Study& study, const std::function<void(const base::Overrides&)>& ask, Point first) {
  try {
    ask(study.at(first));
    return;
  } catch (const base::InputError&) {
  }
  // The base question itself, with options as some point has them: without a chip, say, it may be no question.
  const base::Overrides options = options_taken(study, ask);
  for (const Axis* axis : study.axes()) {
    if (axis->path.find('.') == std::string::npos) continue;
    const std::size_t last = axis->values.size() - 1;
    std::optional<base::InputError> refused;
    bool taken = false;
    for (const std::size_t at : {std::size_t{0}, last / 2, last}) {
      try {
        base::Overrides point = options;
        point.push_back({axis->path, axis->values[at]});
        if (!taken) ask(point);
        taken = true;
      } catch (const base::InputError& error) {
        if (!refused) refused = error;
      }
    }
    if (!taken) throw *refused;
  }
}

void refuse_no_point(const Study& study, const Shard& shard) {
  base::Diagnostics found;
  auto& error = found.error("O2047", "no point of the study passes its filters");
  if (!study.where.empty()) error.primary.where = study.where.front().where();
  error
      .note(fmt::format("{} points, {} filter{}, shard {}/{}", base::grouped(static_cast<double>(study.points())),
                        study.where.size(), study.where.size() == 1 ? "" : "s", shard.part, shard.parts))
      .hint("loosen a filter, or give the fields other values");
  throw base::InputError(found.all());
}

std::string checked(const Study& study, const ReadRequest& read) {
  study.check();
  const Counted counts = counted(study);
  if (counts.passing == 0 && counts.all) refuse_no_point(study, {});
  // Files and fields are read, searches end at once. The other verbs read some files while they answer.
  static const std::atomic<bool> stop{true};
  EngineOptions how;
  how.pins = study.pins;
  if (study.verb == "train" || study.verb == "place" || study.verb == "map --fuse") how.stop = &stop;
  for (const Axis* axis : study.axes()) how.paths.push_back(axis->path), how.values.push_back(axis->values);
  const std::unique_ptr<Engine> engine = make_engine(study.verb, study.arguments, read, how);
  const auto ask = [&](const base::Overrides& point) {
    try {
      engine->probe(point);
    } catch (const base::InputError& error) {
      if (error.diagnostics.front().code != "O1008") throw;  // a search that was stopped: all was read before it
    }
  };
  probe(study, ask, counts.first);
  std::string fields, number = base::grouped(static_cast<double>(counts.passing));
  for (const std::string& path : how.paths) fields += (fields.empty() ? "" : ", ") + path;
  if (!counts.all)
    number = fmt::format("at least {} of {}", number, base::grouped(static_cast<double>(study.points())));
  return fmt::format("study: {} point{} of `{}` over {}", number, counts.all && counts.passing == 1 ? "" : "s",
                     study.verb, fields);
}

}  // namespace orrery::sweep
