#include "coz/base/go_note.h"

#include <string>

#include "gtest/gtest.h"

namespace coz {
namespace {

std::string Note(const std::string& name, uint32_t type, const std::string& description) {
  const Elf64_Nhdr head = {static_cast<uint32_t>(name.size()),
                           static_cast<uint32_t>(description.size()), type};
  const auto padded = [](std::string text) {
    text.resize((text.size() + 3) / 4 * 4);
    return text;
  };
  return std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + padded(name) +
         padded(description);
}

bool IsGo(const std::string& notes) { return HasGoNote(notes.data(), notes.size()); }

const std::string kGnuNote = Note({"GNU\0", 4}, 3, "12345678901234567890");
const std::string kGoNote = Note({"Go\0\0", 4}, 4, "abc");

TEST(GoNoteTest, NoteOfGosLinkerIsFoundAmongOthers) {
  EXPECT_TRUE(IsGo(kGoNote));
  EXPECT_TRUE(IsGo(kGnuNote + kGoNote));
  EXPECT_FALSE(IsGo(kGnuNote));
  EXPECT_FALSE(IsGo(""));
  EXPECT_FALSE(IsGo(Note({"Go\0\0", 4}, 1, "abc")));
}

TEST(GoNoteTest, NoteThatEndsBeforeItsLengthIsNone) {
  for (size_t bytes = 0; bytes < kGoNote.size(); ++bytes) {
    EXPECT_FALSE(IsGo(kGoNote.substr(0, bytes))) << bytes;
  }
  std::string huge = kGnuNote + kGoNote;
  huge[0] = huge[1] = huge[2] = huge[3] = '\xff';  // the length of the first name
  EXPECT_FALSE(IsGo(huge));
}

}  // namespace
}  // namespace coz
