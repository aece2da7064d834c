#include "coz/points/usdt_notes.h"

#include <cstring>

#include "gtest/gtest.h"

namespace coz::points {
namespace {

template <typename T>
void Append(T value, std::string* bytes) {
  char raw[sizeof(value)];
  memcpy(raw, &value, sizeof(value));
  bytes->append(raw, sizeof(raw));
}

void Pad(std::string* bytes) {
  while (bytes->size() % 4 != 0) bytes->push_back('\0');
}

struct Note {
  uint64_t address = 0x1000;
  uint64_t base = 0x5000;
  uint64_t semaphore = 0x7000;
  std::string names = std::string("server\0request__done\0-4@%edi\0", 29);
  uint32_t type = 3;
  std::string owner = std::string("stapsdt\0", 8);
};

std::string Bytes(const Note& note) {
  std::string description;
  Append(note.address, &description);
  Append(note.base, &description);
  Append(note.semaphore, &description);
  description += note.names;
  std::string bytes;
  Append(static_cast<uint32_t>(note.owner.size()), &bytes);
  Append(static_cast<uint32_t>(description.size()), &bytes);
  Append(note.type, &bytes);
  bytes += note.owner;
  Pad(&bytes);
  bytes += description;
  Pad(&bytes);
  return bytes;
}

TEST(UsdtNotesTest, NotesAreReadInOrder) {
  Note second;
  second.address = 0x2000;
  second.semaphore = 0;
  second.names = std::string("server\0start\0\0", 14);
  const auto places = ReadUsdtNotes(Bytes({}) + Bytes(second), 0x5000);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].provider, "server");
  EXPECT_EQ(places[0].name, "request__done");
  EXPECT_EQ(places[0].address, 0x1000u);
  EXPECT_EQ(places[0].semaphore, 0x7000u);
  EXPECT_EQ(places[1].name, "start");
  EXPECT_EQ(places[1].semaphore, 0u);
}

TEST(UsdtNotesTest, MovedCodeIsFoundByTheBase) {
  Note without;
  without.semaphore = 0;
  const auto places = ReadUsdtNotes(Bytes({}) + Bytes(without), 0x15000);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].address, 0x11000u);
  EXPECT_EQ(places[0].semaphore, 0x17000u);
  EXPECT_EQ(places[1].semaphore, 0u);
  EXPECT_EQ(ReadUsdtNotes(Bytes({}), std::nullopt).at(0).address, 0x1000u);
}

TEST(UsdtNotesTest, OtherNotesAreLeftOut) {
  Note type;
  type.type = 4;
  Note owner;
  owner.owner = std::string("GNU\0", 4);
  Note nameless;
  nameless.names = std::string("\0\0\0", 3);
  Note endless;
  endless.names = "server";
  const auto places =
      ReadUsdtNotes(Bytes(type) + Bytes(owner) + Bytes(nameless) + Bytes(endless) + Bytes({}), {});
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].name, "request__done");
}

// Every cut, and each bit of the first note flipped.
TEST(UsdtNotesTest, DamagedNotesAreSurvived) {
  const std::string bytes = Bytes({}) + Bytes({});
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_LE(ReadUsdtNotes(bytes.substr(0, size), 0x5000).size(), 2u);
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    for (const UsdtPlace& place : ReadUsdtNotes(damaged, 0x5000)) {
      EXPECT_FALSE(place.provider.empty());
      EXPECT_LT(place.name.size(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace coz::points
