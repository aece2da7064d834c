#include "coz/sync/delay/polling_loop.h"

#include <sys/mman.h>

#include <cstring>

#include "gtest/gtest.h"

// Loops as compilers make them. Each lies within one page. Code_NAME is where the loop begins, and
// Jump_NAME is its last instruction.
#define LOOP(name, body, jump)                                                           \
  asm(".pushsection .text\n.p2align 7\nCode_" #name ":\n" body "\nJump_" #name ": " jump \
      " Code_" #name "\nret\n.popsection");                                              \
  extern "C" const char Code_##name[], Jump_##name[]

LOOP(load_test, "movzbl (%rdi), %eax\n test %al, %al", "je");
LOOP(compare_memory, "cmpl $0, 8(%rdi,%rcx,4)", "je");
LOOP(relative, "mov Code_load_test(%rip), %rax\n cmp %r12, %rax", "jne");
LOOP(pointer_to_flag, "mov 8(%rbx), %rax\n mov (%rax), %eax\n test %eax, %eax", "je");
LOOP(masked, "mov (%r8), %eax\n and $1, %eax\n cmp $1, %eax", "je");
LOOP(rotated, "test %eax, %eax\n jne 1f\n mov (%rdi), %eax", "jmp");
asm("1: ret");
LOOP(exchange, "mov %edx, %eax\n xchg %al, (%rdi)\n test %al, %al", "jne");
LOOP(compare_exchange, "xor %eax, %eax\n lock cmpxchg %edx, (%rdi)", "jne");
LOOP(counted, "mov (%rdi), %eax\n test %eax, %eax\n jne 1b\n dec %ecx", "jne");
LOOP(far_jump, "movzbl (%rdi), %eax\n test %al, %al", ".byte 0x0f, 0x84\n.long -11 #");
LOOP(hinted, "pause\n movzbl (%rdi), %eax\n test %al, %al", "je");
// Bounded by a count that is `volatile`, as in PARSEC's barriers.
LOOP(counted_in_frame,
     "mov (%rsp), %rax\n add $1, %rax\n mov %rax, (%rsp)\n mov 96(%rbp), %eax\n test %eax, %eax\n "
     "jne 1b\n mov (%rsp), %rax\n cmp $0x88b7, %rax",
     "jbe");
// Without optimization.
LOOP(unoptimized,
     "mov -8(%rbp), %rax\n mov (%rax), %eax\n mov %eax, -12(%rbp)\n cmpl $0, -12(%rbp)", "je");
LOOP(unoptimized_count,
     "addl $1, -4(%rbp)\n mov -16(%rbp), %rax\n mov (%rax), %eax\n test %eax, %eax\n jne 1b\n "
     "cmpl $999, -4(%rbp)",
     "jle");
LOOP(flag_in_frame, "mov 12(%rsp), %eax\n test %eax, %eax", "je");

LOOP(list, "mov (%rax), %rax\n test %rax, %rax", "jne");
LOOP(rotated_list, "test %rax, %rax\n je 1b\n mov 8(%rax), %rax", "jmp");
LOOP(list_of_two, "mov (%rax), %rbx\n mov %rbx, %rax\n test %rax, %rax", "jne");
LOOP(scan, "inc %rdi\n cmpb $0, (%rdi)", "jne");
LOOP(scan_by_copy, "mov %rcx, %rax\n cmpb $0, (%rdi,%rax)\n lea 1(%rcx), %rcx", "jne");
LOOP(indexed, "cmpl %edx, (%rdi,%rcx,4)\n add $1, %rcx", "jne");
LOOP(list_in_frame,
     "mov -8(%rbp), %rax\n mov (%rax), %rax\n mov %rax, -8(%rbp)\n cmpq $0, -8(%rbp)", "jne");
LOOP(text_in_frame, "addq $1, -8(%rbp)\n mov -8(%rbp), %rax\n movzbl (%rax), %eax\n test %al, %al",
     "jne");

LOOP(sum, "add (%rdi), %eax\n dec %ecx", "jne");
LOOP(stores, "mov (%rdi), %eax\n mov %eax, (%rsi)\n test %eax, %eax", "je");
LOOP(counts_in_memory, "addl $1, (%rdi)\n cmpl $9, (%rdi)", "jne");
LOOP(calls, "mov (%rdi), %eax\n call Code_load_test\n test %eax, %eax", "je");
LOOP(delay, "dec %ecx", "jne");
LOOP(delay_in_frame, "addq $1, -8(%rbp)\n cmpq $999, -8(%rbp)", "jbe");
LOOP(up_to_what_is_loaded, "inc %ecx\n cmp %ecx, (%rdi)", "jne");
LOOP(up_to_what_is_loaded_in_frame, "addl $1, -4(%rbp)\n mov (%rdi), %eax\n cmp %eax, -4(%rbp)",
     "jl");
LOOP(stores_above_the_frame_pointer, "mov (%rdi), %eax\n mov %eax, 8(%rbp)\n test %eax, %eax",
     "je");
LOOP(multiplies, "imul %rax, %rax\n cmp %rax, (%rdi)", "jne");
LOOP(update, "lea 1(%rax), %edx\n lock cmpxchg %edx, (%rdi)", "jne");
LOOP(floats, "movsd (%rdi), %xmm0\n comisd %xmm1, %xmm0", "jne");

namespace coz::delay {
namespace {

bool IsIn(const void* at) { return IsInPollingLoop(reinterpret_cast<uint64_t>(at)); }

#define EXPECT_POLLS(name)                 \
  EXPECT_TRUE(IsIn(Code_##name)) << #name; \
  EXPECT_TRUE(IsIn(Jump_##name)) << #name
#define EXPECT_WORKS(name)                  \
  EXPECT_FALSE(IsIn(Code_##name)) << #name; \
  EXPECT_FALSE(IsIn(Jump_##name)) << #name

TEST(PollingLoopTest, ComputesNothing) {
  EXPECT_POLLS(load_test);
  EXPECT_POLLS(compare_memory);
  EXPECT_POLLS(relative);
  EXPECT_POLLS(pointer_to_flag);
  EXPECT_POLLS(masked);
  EXPECT_POLLS(rotated);
  EXPECT_POLLS(exchange);
  EXPECT_POLLS(compare_exchange);
  EXPECT_POLLS(counted);
  EXPECT_POLLS(far_jump);
  EXPECT_POLLS(hinted);
  EXPECT_POLLS(counted_in_frame);
  EXPECT_POLLS(unoptimized);
  EXPECT_POLLS(unoptimized_count);
  EXPECT_POLLS(flag_in_frame);
}

TEST(PollingLoopTest, WalkIsNone) {
  EXPECT_WORKS(list);
  EXPECT_WORKS(rotated_list);
  EXPECT_WORKS(list_of_two);
  EXPECT_WORKS(scan);
  EXPECT_WORKS(scan_by_copy);
  EXPECT_WORKS(indexed);
  EXPECT_WORKS(list_in_frame);
  EXPECT_WORKS(text_in_frame);
}

TEST(PollingLoopTest, LoopThatComputesIsNone) {
  EXPECT_WORKS(sum);
  EXPECT_WORKS(stores);
  EXPECT_WORKS(counts_in_memory);
  EXPECT_WORKS(calls);
  EXPECT_WORKS(delay);
  EXPECT_WORKS(delay_in_frame);
  EXPECT_WORKS(up_to_what_is_loaded);
  EXPECT_WORKS(up_to_what_is_loaded_in_frame);
  EXPECT_WORKS(stores_above_the_frame_pointer);
  EXPECT_WORKS(multiplies);
  EXPECT_WORKS(update);
  EXPECT_WORKS(floats);
}

TEST(PollingLoopTest, CodeBehindTheLoopIsNotInIt) { EXPECT_FALSE(IsIn(Jump_load_test + 2)); }

// Anything that lies there: no other page is read, and nothing is read beyond the bounds.
TEST(PollingLoopTest, ReadsOnePageWhateverIsThere) {
  constexpr size_t kPage = 4096;
  auto* const pages = static_cast<unsigned char*>(
      mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  unsigned char* const code = pages + kPage;
  ASSERT_EQ(mprotect(code, kPage, PROT_READ | PROT_WRITE), 0);
  uint32_t random = 1;
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < kPage; ++i) {
      random = random * 1664525 + 1013904223;
      // Half of the bytes are those of loops, so that decoding goes far.
      constexpr unsigned char kOften[] = {0x8b, 0x0f, 0x84, 0x75, 0x66, 0x48, 0xeb, 0x80};
      code[i] = (random & 0x100) != 0 ? kOften[(random >> 16) % sizeof(kOften)]
                                      : static_cast<unsigned char>(random >> 24);
    }
    for (size_t i = 0; i < 80; ++i) {
      IsIn(code + i);
      IsIn(code + kPage - 1 - i);
    }
  }
  // A loop that ends with the page, and one that begins before it.
  constexpr unsigned char kLoop[] = {0x0f, 0xb6, 0x07, 0x84, 0xc0, 0x74, 0xf9};
  memcpy(code + kPage - sizeof(kLoop), kLoop, sizeof(kLoop));
  EXPECT_TRUE(IsIn(code + kPage - sizeof(kLoop)));
  memcpy(code, kLoop + 3, sizeof(kLoop) - 3);
  EXPECT_FALSE(IsIn(code));
  munmap(pages, 3 * kPage);
}

}  // namespace
}  // namespace coz::delay
