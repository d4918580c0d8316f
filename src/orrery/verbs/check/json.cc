#include "orrery/verbs/check/json.h"

namespace orrery::verbs {

Document<Checked> check_document() {
  const Record<Checked> result = {
      {"ok", "True: what is wrong is printed as a document of kind `error`.", [](const Checked&) { return true; }},
      {"contents", "What the files describe, a line each.", &Checked::contents}};
  return {"check", "What the files are.", result, kWarnings};
}

}  // namespace orrery::verbs
