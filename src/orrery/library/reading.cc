#include "orrery/library/reading.h"

#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery {

std::string catalogue_directory() {
  return verbs::catalogue_directory();
}

namespace library {

std::string directory_of(const Reading& how) {
  return how.catalogue.empty() ? catalogue_directory() : how.catalogue;
}

std::shared_ptr<const base::SourceFile> source(const std::string& text) {
  return std::make_shared<base::SourceFile>(base::SourceFile{"<text>", text});
}

}  // namespace library
}  // namespace orrery
