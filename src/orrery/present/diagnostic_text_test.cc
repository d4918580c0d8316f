#include "orrery/present/diagnostic_text.h"

#include <gtest/gtest.h>

#include <memory>

namespace orrery::verbs {
namespace {

using base::Diagnostic;
using base::Diagnostics;
using base::Location;
using base::SourceFile;

std::shared_ptr<const SourceFile> file(std::string name, std::string text) {
  return std::make_shared<const SourceFile>(SourceFile{std::move(name), std::move(text)});
}

TEST(DiagnosticText, ShowsPlaceLineCaretsSecondPlaceFactsAndWaysOut) {
  const auto mapping = file("mappings/attn.yaml", "a: 1\n  K: 4096\n");
  const auto arch = file("archs/edge.yaml", "size: 256KiB\n");
  Diagnostics found;
  found.error("O0710", "the tile of `K` does not fit in `l1`", Location{mapping, 2, 6, 4})
      .label("524288 bytes")
      .also(Location{arch, 1, 7, 6}, "262144 bytes here")
      .note("524288 > 262144")
      .hint("try K=2048");
  EXPECT_EQ(diagnostic_text(found.all()[0]),
            "error[O0710]: the tile of `K` does not fit in `l1`\n"
            "  --> mappings/attn.yaml:2:6\n"
            "   |\n"
            " 2 |   K: 4096\n"
            "   |      ^^^^ 524288 bytes\n"
            "   |\n"
            "  ::: archs/edge.yaml:1:7\n"
            "   |\n"
            " 1 | size: 256KiB\n"
            "   |       ------ 262144 bytes here\n"
            "   |\n"
            "   = note: 524288 > 262144\n"
            "   = help: try K=2048\n"
            "   = note: run `orrery explain O0710`\n");
}

TEST(DiagnosticText, PutsCaretsUnderCharactersBehindTabsAndUmlauts) {
  const auto source = file("x.yaml", "\tnäme: ö\n");
  Diagnostics found;
  found.error("O0101", "bad", Location{source, 1, 9, 2});
  const std::string text = diagnostic_text(found.all()[0]);
  EXPECT_NE(text.find("--> x.yaml:1:8\n"), std::string::npos) << "the ö is the eighth character" << text;
  EXPECT_NE(text.find(" 1 |     näme: ö\n"), std::string::npos) << text;
  EXPECT_NE(text.find("   |           ^\n"), std::string::npos) << text;
}

TEST(DiagnosticText, StandsPlacesBeyondTheLineOrFileAndControlCharacters) {
  const auto source = file("x.yaml", "a\x1b[31m: 1\r\n");
  for (const Location& where : {Location{source, 1, 900, 50}, Location{source, 77, 3, 2}, Location{source, 0, 0, 1},
                                Location{source, 1, 0, 0}}) {
    Diagnostics found;
    found.error("O0101", "bad", where).label("here");
    const std::string text = diagnostic_text(found.all()[0]);
    EXPECT_NE(text.find("--> x.yaml"), std::string::npos);
    EXPECT_NE(text.find("here"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << "the file's escapes must not reach the terminal";
  }
}

TEST(DiagnosticText, ShowsControlCharactersOfATextToo) {
  EXPECT_EQ(printable_text("a\x1b[31m\tb\n\r\x7f\xc2\x9b\xffö\n"), "a?[31m\tb\n????ö\n");
}

// Files on a single line: what is meant must be seen, whatever stands before it.
TEST(DiagnosticText, CutsALongLineSoThatThePlaceIsSeen) {
  std::string line = "{";
  for (int i = 0; i < 100; ++i) line += "\"key_" + std::to_string(i) + "\": \"ö\", ";
  const std::size_t at = line.size();
  const auto source = file("x.json", line + "\"wrong\": 1, " + std::string(500, ' ') + "}");
  Diagnostics found;
  found.error("O0916", "unknown", Location{source, 1, static_cast<int>(at) + 1, 7});
  const std::string text = diagnostic_text(found.all()[0]);
  const std::size_t shown = text.find(" 1 | ... "), caret = text.find("^^^^^^^");
  ASSERT_NE(shown, std::string::npos) << text;
  ASSERT_NE(caret, std::string::npos) << text;
  const std::string excerpt = text.substr(shown, text.find('\n', shown) - shown);
  EXPECT_NE(excerpt.find("\"wrong\""), std::string::npos) << text;
  // Umlauts before it are two bytes each, and one cell.
  const std::string before = excerpt.substr(0, excerpt.find("\"wrong\""));
  const auto cells = static_cast<std::size_t>(std::count_if(
      before.begin(), before.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  EXPECT_EQ(caret - text.rfind('\n', caret) - 1, cells) << text;
}

TEST(DiagnosticText, ShowsCharactersAndNoOtherBytes) {
  // 0xFF is no UTF-8; U+009B is the one-character form of ESC [; a lone 0x9B may be as well.
  const auto source = file("x.yaml", "\xC3\xA9 \xFF \xC2\x9B 31m \x9B \xF0\x9F\x99\x82 \xE2\x82\n");
  Diagnostics found;
  found.error("O0101", "bad", {source, 1, 1, 1});
  const std::string text = diagnostic_text(found.all()[0]);
  EXPECT_NE(text.find("| \xC3\xA9 ? ? 31m? "), std::string::npos) << text;
  EXPECT_NE(text.find("\xF0\x9F\x99\x82 ?\n"), std::string::npos) << text;
}

TEST(DiagnosticText, WithoutPlaceHasNoGutter) {
  Diagnostics found;
  found.warning("O1100", "odd").hint("do this");
  EXPECT_EQ(diagnostic_text(found.all()[0]),
            "warning[O1100]: odd\n   = help: do this\n   = note: run `orrery explain O1100`\n");
}

TEST(DiagnosticText, ColoursOnlyWhenAsked) {
  Diagnostics found;
  found.error("O1100", "odd");
  DiagnosticStyle colour;
  colour.colour = true;
  EXPECT_NE(diagnostic_text(found.all()[0], colour).find("\x1b["), std::string::npos);
  EXPECT_EQ(diagnostic_text(found.all()[0]).find("\x1b["), std::string::npos);
}

TEST(DiagnosticText, WhatAMessageQuotesFromAFileCannotReachTheTerminalRaw) {
  Diagnostics found;
  found.error("O0900", "last read: '\x1b[2J\xff\xc3\xa9\n'").note("a\x07").hint("b\xc2\x9b");
  const std::string text = diagnostic_text(found.all()[0]);
  EXPECT_NE(text.find("last read: '?[2J?\xc3\xa9 '\n"), std::string::npos) << text;
  EXPECT_NE(text.find("note: a?\n"), std::string::npos) << text;
  EXPECT_NE(text.find("help: b?\n"), std::string::npos) << text;
}

TEST(DiagnosticsText, CapsErrorsCountsTheRestAndShowsTwinsOnce) {
  Diagnostics found;
  for (int i = 0; i < 25; ++i) found.error("O0101", "number " + std::to_string(i));
  found.error("O0101", "number 3");
  const std::string text = diagnostics_text(found.all());
  EXPECT_NE(text.find("number 19\n"), std::string::npos);
  EXPECT_EQ(text.find("number 20\n"), std::string::npos);
  EXPECT_NE(text.find("and 5 more errors\n"), std::string::npos) << text;
}

TEST(DiagnosticsText, HidesWarningsWhenQuiet) {
  Diagnostics found;
  found.warning("O0102", "twice");
  found.error("O0101", "bad");
  DiagnosticStyle quiet;
  quiet.hide_warnings = true;
  EXPECT_EQ(diagnostics_text(found.all(), quiet).find("twice"), std::string::npos);
  EXPECT_NE(diagnostics_text(found.all()).find("twice"), std::string::npos);
}

}  // namespace
}  // namespace orrery::verbs
