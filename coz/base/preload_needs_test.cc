// Programs that libcoz.so can be preloaded into, and those that it would harm.
#include "coz/base/preload_needs.h"

#include <elf.h>
#include <fcntl.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace coz {
namespace {

std::string FileWith(const std::string& name, const std::string& bytes) {
  const char* const folder = getenv("TEST_TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The start of a program of this class and machine with this loader, or with none.
std::string Program(const std::string& loader, unsigned char elf_class = ELFCLASS64,
                    uint16_t machine = EM_X86_64) {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = loader.empty() ? 0 : 1;
  Elf64_Phdr interpreter = {};
  interpreter.p_type = PT_INTERP;
  interpreter.p_offset = sizeof(header) + sizeof(interpreter);
  interpreter.p_filesz = loader.size() + 1;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  if (loader.empty()) return bytes;
  return bytes + std::string(reinterpret_cast<const char*>(&interpreter), sizeof(interpreter)) +
         loader + '\0';
}

bool CanLoad(const std::string& path) { return FindPreloadNeeds(AT_FDCWD, path.c_str()).can_load; }
bool CanLoadInto(const std::string& bytes) { return CanLoad(FileWith("program", bytes)); }

TEST(PreloadNeedsTest, ProgramsOfGlibcAreLoadedInto) {
  for (const char* const loader :
       {"/lib64/ld-linux-x86-64.so.2", "/nix/store/x-glibc-2.38/lib/ld-linux-x86-64.so.2",
        "/lib64/ld-lsb-x86-64.so.3", "/opt/old/lib/ld-2.31.so", "ld-linux-x86-64.so.2"}) {
    EXPECT_TRUE(CanLoadInto(Program(loader))) << loader;
  }
  EXPECT_TRUE(CanLoadInto(Program(""))) << "static: nothing is preloaded";
  EXPECT_TRUE(CanLoad("/proc/self/exe"));
}

TEST(PreloadNeedsTest, ProgramsOfOtherLibrariesAreNot) {
  for (const char* const loader : {"/lib/ld-musl-x86_64.so.1", "/system/bin/linker64",
                                   "/lib/ld64-uClibc.so.0", "/ld-linux/ld-musl-x86_64.so.1"}) {
    EXPECT_FALSE(CanLoadInto(Program(loader))) << loader;
  }
}

TEST(PreloadNeedsTest, ProgramsOfAnOldGlibcAreNot) {
  const std::string before(4090, 'x');  // a version that lies across two parts of the file
  const std::string old =
      FileWith("ld-linux-x86-64.so.2", before + "GLIBC_2.34" + before + "GLIBC_2");
  EXPECT_FALSE(CanLoadInto(Program(old)));
  const std::string other = FileWith("ld-2.35.so", before + "GLIBC_2.35" + before);
  EXPECT_TRUE(CanLoadInto(Program(other)));
}

TEST(PreloadNeedsTest, LoaderThatIsCalledIsOneItself) {
  EXPECT_FALSE(CanLoad(FileWith("ld-musl-x86_64.so.1", Program(""))));
  EXPECT_FALSE(CanLoad(FileWith("ld-linux-x86-64.so.2", Program("") + "GLIBC_2.34")));
  EXPECT_TRUE(CanLoad(FileWith("ld-linux-x86-64.so.2", Program("") + "GLIBC_2.35")));
  EXPECT_TRUE(CanLoad("/lib64/ld-linux-x86-64.so.2"));
}

TEST(PreloadNeedsTest, ProgramsOfOtherMachinesAreNot) {
  EXPECT_FALSE(CanLoadInto(Program("/lib/ld-linux.so.2", ELFCLASS32, EM_386)));
  EXPECT_FALSE(CanLoadInto(Program("/libx32/ld-linux-x32.so.2", ELFCLASS32)));
  EXPECT_FALSE(CanLoadInto(Program("/lib/ld-linux-aarch64.so.1", ELFCLASS64, EM_AARCH64)));
}

TEST(PreloadNeedsTest, ScriptNeedsWhatItsInterpreterNeeds) {
  const std::string musl = FileWith("musl", Program("/lib/ld-musl-x86_64.so.1"));
  const std::string glibc = FileWith("glibc", Program("/lib64/ld-linux-x86-64.so.2"));
  EXPECT_FALSE(CanLoadInto("#!" + musl + "\necho\n"));
  EXPECT_FALSE(CanLoadInto("#! \t" + musl + " -e\necho\n"));
  EXPECT_FALSE(CanLoad(FileWith("outer", "#!" + FileWith("inner", "#!" + musl + "\n") + "\n")));
  EXPECT_TRUE(CanLoadInto("#!" + glibc + "\n"));
  const std::string round = FileWith("round", "");
  EXPECT_TRUE(CanLoad(FileWith("round", "#!" + round + "\n"))) << "the kernel refuses it";
}

TEST(PreloadNeedsTest, WhatIsNoProgramNeedsNothing) {
  const std::string whole = Program("/lib/ld-musl-x86_64.so.1");
  for (const std::string& bytes :
       {std::string(), std::string("#!"), std::string("#!\n"), std::string("text"),
        whole.substr(0, 4), whole.substr(0, sizeof(Elf64_Ehdr)),
        whole.substr(0, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))}) {
    EXPECT_TRUE(CanLoadInto(bytes)) << bytes.size();
  }
  EXPECT_TRUE(CanLoad("/nonexistent"));
  EXPECT_STREQ(FindPreloadNeeds(AT_FDCWD, "/proc/self/exe").sanitizer.name, "");
}

TEST(PreloadNeedsTest, ProgramIsFoundByItsFolderOrDescriptor) {
  const std::string path = FileWith("by_descriptor", Program("/lib/ld-musl-x86_64.so.1"));
  const int folder = open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_FALSE(FindPreloadNeeds(folder, "by_descriptor").can_load);
  FileWith("ld-2.30.so", Program("") + "GLIBC_2.30");
  EXPECT_FALSE(FindPreloadNeeds(folder, "ld-2.30.so").can_load) << "is not in the working folder";
}

}  // namespace
}  // namespace coz
