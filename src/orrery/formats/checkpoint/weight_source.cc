#include "orrery/formats/checkpoint/weight_source.h"

#include "orrery/base/text/mapped_file.h"

namespace orrery::formats::checkpoint {

base::Location whole_file(const std::string& path) {
  return {std::make_shared<const base::SourceFile>(base::SourceFile{path, {}}), 0, 0};
}

Source map_file(const std::string& path) {
  const auto file = std::make_shared<const base::MappedFile>(path);
  return {file->bytes(), file, whole_file(path)};
}

}  // namespace orrery::formats::checkpoint
