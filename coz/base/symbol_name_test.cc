#include "coz/base/symbol_name.h"

#include "gtest/gtest.h"

namespace coz {
namespace {

TEST(SymbolNameTest, VersionsAreNoPartOfAName) {
  EXPECT_EQ(WithoutSymbolVersion("deflate@@ZLIB_1.2"), "deflate");
  EXPECT_EQ(WithoutSymbolVersion("@plt"), "@plt");
}

TEST(SymbolNameTest, NamesOfRustAreAsInTheSource) {
  const char* const hash = "::h0123456789abcdef";
  const auto readable = [hash](const std::string& name) { return ReadableRustName(name + hash); };
  EXPECT_EQ(readable("prog::work"), "prog::work");
  EXPECT_EQ(readable("prog::main::_$u7b$$u7b$closure$u7d$$u7d$"), "prog::main::{{closure}}");
  EXPECT_EQ(readable("_$LT$prog..Tree$LT$T$GT$$u20$as$u20$prog..Visit$GT$::visit_all"),
            "<prog::Tree<T> as prog::Visit>::visit_all");
  EXPECT_EQ(readable("prog::f$C$$RF$$BP$$SP$$LP$$RP$"), "prog::f,&*@()");
}

TEST(SymbolNameTest, WhatCompilersAddIsNoPartOfANameOfRust) {
  const std::string symbol = "_ZN3tcp6handle28_$u7b$$u7b$closure$u7d$$u7d$17h7d5e5f7ec6f844caE";
  for (const char* added : {"", ".llvm.15090708812864467791", ".cold", ".part.0.cold.1"}) {
    EXPECT_EQ(Demangled(symbol + added), "tcp::handle::{{closure}}") << added;
  }
  EXPECT_EQ(Demangled("_Z4workv.part.0"), "work() [clone .part.0]");
  EXPECT_EQ(Demangled("work"), "");
}

TEST(SymbolNameTest, NamesOfRustsNewManglingAreAsInTheSource) {
  EXPECT_EQ(Demangled("_RNvCs5hEy6k7WAEE_4clos4main"), "clos::main");
  EXPECT_EQ(Demangled("_RNCNvCs5hEy6k7WAEE_4clos4main0B3_.llvm.123"), "clos::main::{closure#0}");
  EXPECT_EQ(Demangled("_RINvCsgwiwt6F3Sso_3gen4showyEB2_"), "gen::show::<u64>");
  EXPECT_EQ(Demangled("_RNvMNtCs5hEy6k7WAEE_4clos3cozNtB2_4Mark4find"), "clos::coz::Mark::find");
  EXPECT_EQ(Demangled("_RNvXs1_NtNtCsjrHSEGnQ3l9_3std3net3tcpRNtB5_9TcpStreamNtNtB9_2io4Read4read"),
            "<&std::net::tcp::TcpStream as std::io::Read>::read");
  EXPECT_EQ(Demangled("_Reset"), "") << "a name of C";
}

TEST(SymbolNameTest, WhatIsNoEscapeStays) {
  const std::string hash = "::h0123456789abcdef";
  for (const char* name : {"a$b", "a$XY$b", "a$u7$", "a$u00$", "a$uzz$", "$", "a.b", "_x"}) {
    EXPECT_EQ(ReadableRustName(name + hash), name);
  }
}

// A class of C++ may have any name.
TEST(SymbolNameTest, OtherNamesStay) {
  for (const char* name :
       {"", "std::vector<int>::h", "a$LT$b", "shop::h0123456789abcdeg", "_$LT$"}) {
    EXPECT_EQ(ReadableRustName(name), name);
  }
}

}  // namespace
}  // namespace coz
