// Since version 1.6, torch.save writes a zip archive without compression: NAME/data.pkl (the object), NAME/data/KEY
// (each storage), NAME/byteorder. minizip finds the entries, reading from the mapped file; their bytes are used where
// they lie.
//
// Source: PyTorch, caffe2/serialize/inline_container. Cost: linear in the number of entries.
#include <minizip/unzip.h>

#include <cstring>
#include <map>
#include <string>

#include <fmt/format.h>

#include "orrery/formats/checkpoint/torch_file.h"
#include "orrery/formats/checkpoint/torch_tensors.h"

namespace orrery::formats::checkpoint {
namespace {

// minizip's files, over bytes in memory.
struct Stream {
  std::string_view bytes;
  std::uint64_t at = 0;
};

Stream& stream_of(voidpf stream) {
  return *static_cast<Stream*>(stream);
}

zlib_filefunc64_def memory_functions(Stream& stream) {
  zlib_filefunc64_def functions = {};
  functions.opaque = &stream;
  functions.zopen64_file = [](voidpf opaque, const void*, int) -> voidpf { return opaque; };
  functions.zread_file = [](voidpf, voidpf file, void* to, uLong size) -> uLong {
    Stream& from = stream_of(file);
    const std::string_view taken = from.bytes.substr(from.at, size);
    std::memcpy(to, taken.data(), taken.size());
    from.at += taken.size();
    return taken.size();
  };
  functions.ztell64_file = [](voidpf, voidpf file) -> ZPOS64_T { return stream_of(file).at; };
  functions.zseek64_file = [](voidpf, voidpf file, ZPOS64_T offset, int origin) -> long {
    Stream& in = stream_of(file);
    const std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                               : origin == ZLIB_FILEFUNC_SEEK_CUR ? in.at
                                                                  : in.bytes.size();
    const std::uint64_t to = base + offset;  // may wrap around; what is beyond is refused either way
    if (to > in.bytes.size()) return -1;
    in.at = to;
    return 0;
  };
  functions.zclose_file = [](voidpf, voidpf) { return 0; };
  functions.zerror_file = [](voidpf, voidpf) { return 0; };
  return functions;
}

struct Closer {
  void operator()(void* archive) const { unzClose(archive); }
};

class Archive {
 public:
  Archive(std::string_view bytes, const base::Location& whole) : stream_{bytes}, whole_(whole) {
    zlib_filefunc64_def functions = memory_functions(stream_);
    archive_.reset(unzOpen2_64(nullptr, &functions));
    if (archive_ == nullptr) refuse("its directory, which stands at its end, is missing: it may have been cut off");
    int status = unzGoToFirstFile(archive_.get());
    for (; status == UNZ_OK; status = unzGoToNextFile(archive_.get())) enter();
    if (status != UNZ_END_OF_LIST_OF_FILE) refuse("its directory is damaged");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    base::fail("O1605", "the archive of this PyTorch checkpoint cannot be read: " + why, whole_,
               "copy it or save it again");
  }

  std::optional<std::string_view> find(const std::string& name) const {
    const auto entry = entries_.find(name);
    return entry == entries_.end() ? std::nullopt : std::optional(entry->second);
  }

  // The folder that holds `data.pkl`, with its slash.
  std::string root() const {
    for (const auto& [name, bytes] : entries_)
      if (const std::size_t slash = name.rfind('/'); slash != std::string::npos && name.substr(slash + 1) == "data.pkl")
        return name.substr(0, slash + 1);
    refuse("it holds no data.pkl, so it is another kind of archive");
  }

 private:
  void enter() {
    unz_file_info64 facts = {};
    char name[512] = {};
    if (unzGetCurrentFileInfo64(archive_.get(), &facts, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) != UNZ_OK)
      refuse("its directory is damaged");
    if (facts.size_filename >= sizeof(name)) refuse("a name in it is longer than 511 bytes");
    if (facts.compression_method != 0 || (facts.flag & 1U) != 0)
      refuse(fmt::format("`{}` is {}, which torch.save does not do", name,
                         (facts.flag & 1U) != 0 ? "encrypted" : "compressed"));
    if (unzOpenCurrentFile(archive_.get()) != UNZ_OK) refuse(fmt::format("the entry `{}` is damaged", name));
    const std::uint64_t begin = unzGetCurrentFileZStreamPos64(archive_.get());
    const std::uint64_t size = facts.uncompressed_size;
    unzCloseCurrentFile(archive_.get());
    if (begin > stream_.bytes.size() || size > stream_.bytes.size() - begin || facts.compressed_size != size)
      refuse(fmt::format("the entry `{}` of {} bytes leaves the file", name, size));
    if (!entries_.emplace(name, stream_.bytes.substr(begin, size)).second)
      refuse(fmt::format("it holds `{}` twice", name));
  }

  Stream stream_;
  const base::Location& whole_;
  std::unique_ptr<void, Closer> archive_;
  std::map<std::string, std::string_view> entries_;
};

}  // namespace

std::vector<Tensor> torch_archive(const Source& file, base::Diagnostics& found) {
  const Archive archive(file.bytes, file.whole);
  const std::string root = archive.root();
  if (archive.find(root + "constants.pkl")) archive.refuse("it is TorchScript, which holds code");
  if (archive.find(root + "byteorder").value_or("little") != "little") archive.refuse("its numbers are big-endian");
  const Pickle pickle = read_pickle(*archive.find(root + "data.pkl"), 0, is_torch_call, file.whole);
  const auto bytes_of = [&](const StorageRef& ref) { return archive.find(root + "data/" + std::string(ref.key)); };
  std::vector<Tensor> tensors = torch_tensors(pickle, bytes_of, file, found);
  found.throw_if_errors();
  return tensors;
}

}  // namespace orrery::formats::checkpoint
