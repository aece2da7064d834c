#include "coz/sourcemap/binary_info.h"

#include <string>

#include "coz/sourcemap/testing/fixture_files.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

BinaryInfo Describe(const std::string& path, const std::string& search_path = "") {
  const auto info = DescribeBinary(path, search_path);
  EXPECT_TRUE(info.ok()) << info.status();
  return info.ok() ? *info : BinaryInfo();
}

std::string Problem(const BinaryInfo& info) { return std::string(CheckProfilable(info).message()); }

std::string FileWith(const std::string& bytes) {
  std::string path = NewTestFolder() + "/file";
  WriteFileBytes(path, bytes);
  return path;
}

TEST(BinaryInfoTest, ADebugBuildIsProfilable) {
  const BinaryInfo info = Describe(FixturePath("dwarf5"));
  EXPECT_EQ(info.kind, BinaryInfo::Kind::kElf);
  EXPECT_TRUE(info.is_position_independent);
  EXPECT_FALSE(info.is_static);
  EXPECT_TRUE(info.has_symbols);
  EXPECT_TRUE(info.has_debug_info);
  EXPECT_EQ(info.build_id.size(), 40u);
  EXPECT_EQ(info.debug_path, FixturePath("dwarf5"));
  EXPECT_EQ(info.description, "a position-independent executable");
  EXPECT_TRUE(CheckProfilable(info).ok());
}

// As Debian's servers are, for their modules.
TEST(BinaryInfoTest, AStrippedProgramMayExportFunctions) {
  BinaryInfo info = Describe(FixturePath("debuglink"));
  EXPECT_FALSE(info.has_function_names());
  info.exported_functions = 500;
  EXPECT_TRUE(info.has_function_names());
  EXPECT_GT(Describe("/lib/x86_64-linux-gnu/libc.so.6").exported_functions, 1000u);
}

TEST(BinaryInfoTest, PositionDependentExecutablesAreProfilable) {
  const BinaryInfo info = Describe(FixturePath("no_pie"));
  EXPECT_FALSE(info.is_position_independent);
  EXPECT_FALSE(info.is_static);
  EXPECT_TRUE(CheckProfilable(info).ok());
}

TEST(BinaryInfoTest, SeparateDebugFilesAreFound) {
  const BinaryInfo by_link = Describe(FixturePath("debuglink"));
  EXPECT_FALSE(by_link.has_debug_info);
  EXPECT_FALSE(by_link.has_symbols);
  EXPECT_EQ(by_link.build_id, "");
  EXPECT_NE(by_link.debug_path.find("fixture.debug"), std::string::npos);
  EXPECT_TRUE(CheckProfilable(by_link).ok());

  const BinaryInfo by_id =
      Describe(FixturePath("build_id"), AbsolutePath("coz/sourcemap/testdata/build_id/debug"));
  EXPECT_EQ(by_id.build_id, "0123456789abcdef");
  EXPECT_NE(by_id.debug_path.find("23456789abcdef.debug"), std::string::npos);
}

TEST(BinaryInfoTest, WithoutDebugInformationTheErrorSaysWhereItWasSought) {
  const BinaryInfo info = Describe(FixturePath("stripped"));
  EXPECT_EQ(info.debug_path, "");
  EXPECT_EQ(CheckProfilable(info).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(Problem(info).find("build it with -g"), std::string::npos) << Problem(info);
  EXPECT_NE(Problem(info).find(info.build_id), std::string::npos) << Problem(info);
}

TEST(BinaryInfoTest, ASeparateFileOfAnotherBuildIsNamed) {
  const std::string folder = NewTestFolder();
  WriteFileBytes(folder + "/fixture", ReadFileBytes(FixturePath("debuglink")));
  EXPECT_EQ(Describe(folder + "/fixture").unfit_debug_path, "");
  WriteFileBytes(folder + "/fixture.debug", ReadFileBytes(FixturePath("dwarf5")));
  const BinaryInfo info = Describe(folder + "/fixture");
  EXPECT_EQ(info.debug_path, "");
  EXPECT_EQ(info.unfit_debug_path, folder + "/fixture.debug");
  EXPECT_NE(Problem(info).find("fixture.debug is of another build"), std::string::npos)
      << Problem(info);
}

TEST(BinaryInfoTest, StaticExecutablesAreRefused) {
  for (const std::string name : {"static", "static_pie"}) {
    const BinaryInfo info = Describe(FixturePath(name));
    EXPECT_TRUE(info.is_static) << name;
    EXPECT_EQ(CheckProfilable(info).code(), absl::StatusCode::kFailedPrecondition);
    const std::string option = name == "static" ? "-static" : "-static-pie";
    EXPECT_NE((Problem(info) + "\n").find("; link it without " + option + "\n"), std::string::npos)
        << Problem(info);
  }
}

TEST(BinaryInfoTest, ProgramsOfAnotherCLibraryAreRefused) {
  std::string elf = ReadFileBytes(FixturePath("no_pie"));
  const size_t loader = elf.find("/lib64/ld-linux-x86-64.so.2");
  ASSERT_NE(loader, std::string::npos);
  EXPECT_EQ(Describe(FileWith(elf)).foreign_loader, "");
  elf.replace(loader, 25, std::string("/lib/ld-musl-x86_64.so.1") + '\0');
  const BinaryInfo info = Describe(FileWith(elf));
  EXPECT_EQ(info.foreign_loader, "/lib/ld-musl-x86_64.so.1");
  EXPECT_FALSE(info.can_be_preloaded());
  EXPECT_NE(Problem(info).find("build it for this machine's glibc"), std::string::npos)
      << Problem(info);
}

TEST(BinaryInfoTest, SharedObjectsAreNotStatic) {
  EXPECT_FALSE(Describe("/lib/x86_64-linux-gnu/libm.so.6").is_static);
}

TEST(BinaryInfoTest, ScriptsAreNamedWithTheirInterpreter) {
  const BinaryInfo info = Describe(FileWith("#! /usr/bin/env -S python3 -u\nprint()\n"));
  EXPECT_EQ(info.kind, BinaryInfo::Kind::kScript);
  EXPECT_EQ(info.interpreter, "/usr/bin/env");
  EXPECT_EQ(CheckProfilable(info).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Problem(info).find("script for /usr/bin/env"), std::string::npos);
  EXPECT_EQ(Describe(FileWith("#!/bin/sh")).interpreter, "/bin/sh");
  EXPECT_EQ(Describe(FileWith("#!")).interpreter, "");
}

TEST(BinaryInfoTest, WhatIsNoProgramIsNamed) {
  EXPECT_EQ(Describe(FileWith("")).description, "an empty file");
  EXPECT_EQ(Describe(FileWith("hello")).description, "no ELF file and no script");
  EXPECT_EQ(Describe(NewTestFolder()).description, "a folder");
  EXPECT_EQ(Describe(FileWith("\x7f"
                              "ELF"))
                .kind,
            BinaryInfo::Kind::kOther);
  EXPECT_NE(Problem(Describe(FileWith("hello"))).find("not a 64-bit x86-64 executable"),
            std::string::npos);
}

TEST(BinaryInfoTest, OtherMachinesAndObjectFilesAreNamed) {
  std::string elf = ReadFileBytes(FixturePath("no_pie"));
  elf[18] = static_cast<char>(183);  // EM_AARCH64
  elf[19] = 0;
  const BinaryInfo arm = Describe(FileWith(elf));
  EXPECT_EQ(arm.kind, BinaryInfo::Kind::kForeignElf);
  EXPECT_EQ(arm.description, "an ELF file of 64 bits for machine 183");
  elf[18] = 62;  // EM_X86_64
  elf[16] = 1;   // ET_REL
  EXPECT_EQ(Describe(FileWith(elf)).description, "an object file that is not linked yet");
}

TEST(BinaryInfoTest, AMissingFileIsAnError) {
  EXPECT_EQ(DescribeBinary("/nonexistent").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace coz::sourcemap
