#include "orrery/base/text/file_pieces.h"

#include <gtest/gtest.h>

#include <string>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/files_test_util.h"

namespace orrery::base {
namespace {

TEST(FilePieces, AreTheFileAndItsHash) {
  const Folder folder;
  std::string bytes(700'000, 'x');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 251);
  for (const std::string& content : {std::string(), std::string("a"), bytes}) {
    FilePieces pieces(folder.write("x.bin", content));
    std::string read;
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) read += piece;
    EXPECT_EQ(read, content);
    EXPECT_EQ(pieces.hash(), content_hash(content));
  }
}

TEST(FilePieces, RefuseWhatIsNoFile) {
  EXPECT_EQ(codes_of([] { FilePieces("/nowhere/at/all.onnx"); }), Codes{"O0100"});
  EXPECT_EQ(codes_of([] { FilePieces("/tmp"); }), Codes{"O0100"});
}

}  // namespace
}  // namespace orrery::base
