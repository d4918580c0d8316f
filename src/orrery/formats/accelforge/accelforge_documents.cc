#include "orrery/formats/accelforge/accelforge_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/timeloop/documents/inheriting_templates.h"

namespace orrery::formats::accelforge {
namespace {

// What AccelForge's own mapper and model are told: other answers than asked for come of it.
constexpr std::string_view kRefused[] = {"mapper", "mapping", "model", "config"};

}  // namespace

bool looks_like_accelforge(const base::SourceFile& file) {
  const std::string text = "\n" + file.text;
  return text.find("\narch:") != std::string::npos || text.find("\nworkload:") != std::string::npos;
}

void warn_unknown(const yaml::Node& map, const std::vector<std::string_view>& known, std::string_view what,
                  base::Diagnostics& found) {
  for (const yaml::Node::Entry& entry : map.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    found.warning("O2101", fmt::format("`{}` is no key of {} and is not read", entry.key, what), entry.key_where)
        .hint(base::did_you_mean(entry.key, names, ""));
  }
}

Documents read_documents(const std::vector<File>& files, const timeloop::TemplateOptions& templates,
                         base::Diagnostics& found) {
  Documents documents;
  const std::pair<std::string_view, yaml::Node*> parts[] = {{"arch", &documents.arch},
                                                            {"workload", &documents.workload},
                                                            {"renames", &documents.renames},
                                                            {"variables", &documents.variables}};
  std::vector<std::string_view> known;
  for (const auto& part : parts) known.push_back(part.first);
  for (const File& file : files) {
    base::Diagnostics own;
    const std::vector<yaml::Node> read = timeloop::expand_inheriting(file, templates, documents.included, own);
    own.throw_if_errors();
    found.append(own);
    for (const yaml::Node& document : read) {
      for (const yaml::Node::Entry& entry : document.entries) {
        if (std::find(std::begin(kRefused), std::end(kRefused), entry.key) != std::end(kRefused))
          base::fail("O2104", fmt::format("`{}` is not read here", entry.key), entry.key_where,
                     "leave it out; what is searched for is said by options: --objective, --fused-loops, --no-fuse");
        const auto part =
            std::find_if(std::begin(parts), std::end(parts), [&](const auto& one) { return one.first == entry.key; });
        if (part == std::end(parts)) continue;
        if (!part->second->is_null())
          base::fail("O2100", fmt::format("there are two parts `{}`", entry.key), entry.key_where,
                     "give one architecture and one workload");
        *part->second = entry.value;
      }
      warn_unknown(document, known, "an AccelForge document", found);
    }
  }
  for (std::size_t i = 0; i < 2; ++i)
    if (!parts[i].second->is_map())
      base::fail("O2100", fmt::format("no file has a part `{}`", parts[i].first),
                 files.empty() ? base::Location{} : base::Location{files.back(), 0, 0, 1},
                 "give two files: `orrery map --fuse --compat accelforge ARCH.yaml WORKLOAD.yaml`");
  return documents;
}

}  // namespace orrery::formats::accelforge
