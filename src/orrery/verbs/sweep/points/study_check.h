// What a study is refused for before any of its points is answered.
#pragma once

#include <functional>
#include <string>

#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/points/shares.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

// Refuses what run() refuses before it answers, searches stopped as they begin: a line that says what the study asks,
// and how many points pass its filters.
std::string checked(const Study& study, const ReadRequest& read);

// Throws what `ask` refuses at every value of some field; nothing where only some points are bad. `first`: a point.
void probe(const Study& study, const std::function<void(const base::Overrides&)>& ask, Point first);
// Has the engine read the files that only some points name in their options.
void probe_names(const Study& study, Engine& engine, Point first);

// O2047.
[[noreturn]] void refuse_no_point(const Study& study, const Shard& shard);

}  // namespace orrery::sweep
