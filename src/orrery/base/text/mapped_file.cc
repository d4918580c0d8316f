#include "orrery/base/text/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "orrery/base/text/descriptor.h"

namespace orrery::base {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const Location whole{std::make_shared<const SourceFile>(SourceFile{path, {}}), 0, 0};
  // Asked before it is opened: that would wait for a pipe's writer.
  using Type = std::filesystem::file_type;
  std::error_code ignored;
  const Type type = std::filesystem::status(path, ignored).type();
  if (type == Type::fifo || type == Type::character || type == Type::block || type == Type::socket)
    fail("O0100", fmt::format("`{}` is not a regular file", path), whole, "copy it to a file first");
  const Opened file(path, whole);
  struct stat facts = {};
  if (::fstat(file.number(), &facts) != 0) unreadable(path, whole);
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return;  // nothing can be mapped
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) unreadable(path, whole);
  bytes_ = {static_cast<const char*>(start), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace orrery::base
