#include "orrery/base/text/file_pieces.h"

#include <cerrno>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

#include "orrery/base/text/descriptor.h"

namespace orrery::base {
namespace {

constexpr std::size_t kFilePiece = std::size_t{1} << 18;

Location whole_of(const std::string& path) {
  auto file = std::make_shared<SourceFile>();
  file->name = path;
  return {file, 0, 0, 1};
}

}  // namespace

struct FilePieces::State {
  explicit State(const std::string& path) : whole(whole_of(path)), file(path, whole), hash(XXH3_createState()) {
    if (hash == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(hash);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(hash); }

  Location whole;
  Opened file;
  std::string piece;
  XXH3_state_t* hash;
};

FilePieces::FilePieces(const std::string& path) : state_(std::make_unique<State>(path)) {}
FilePieces::~FilePieces() = default;

std::string_view FilePieces::next() {
  State& at = *state_;
  at.piece.clear();
  if (!at.file.append(at.piece, kFilePiece) && errno != 0) unreadable(at.whole.file->name, at.whole);
  XXH3_128bits_update(at.hash, at.piece.data(), at.piece.size());
  return at.piece;
}

std::string FilePieces::hash() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->hash);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace orrery::base
