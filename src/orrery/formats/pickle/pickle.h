// A Python pickle as a tree of values. Nothing is executed: what the pickle would call is kept as a name and arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/pickle/pickle_bytes.h"

namespace orrery::formats::pickle {

using PickleRef = std::uint32_t;  // an index into Pickle::values

struct PickleValue {
  enum class Kind {
    kNone,
    kTruth,
    kInteger,
    kLongInteger,  // more than 64 bits; `text` has them, little-endian, two's complement
    kReal,
    kText,
    kBytes,
    kTuple,
    kList,
    kDict,        // `items`: keys and values in turn
    kGlobal,      // `text`: the module, `name`: the name in it
    kCall,        // `items`: what is called (kGlobal), its arguments (kTuple)
    kPersistent,  // `items`: what stands for an object outside of the pickle
  };

  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // of truths, too
  double real = 0;
  std::string_view text;  // into the bytes that were read
  std::string_view name;
  std::vector<PickleRef> items;
};

struct Pickle {
  std::vector<PickleValue> values;
  PickleRef top = 0;
  std::size_t end = 0;  // of the pickle, from the start of `bytes`

  const PickleValue& at(PickleRef ref) const { return values[ref]; }
};

// Reads one pickle from `bytes[begin, ...)`, protocols 0 to 5; texts must have no escapes. `may_call` says which
// globals (module, name) the pickle may call. Throws InputError at `whole`: O1603 where the bytes are no pickle, O1604
// where it calls something else or builds objects. Dicts, lists and tuples may hold themselves. O(bytes).
Pickle read_pickle(std::string_view bytes, std::size_t begin, bool (*may_call)(std::string_view, std::string_view),
                   const base::Location& whole, const Purpose& purpose = {});

}  // namespace orrery::formats::pickle
