/*
 * Spends its time in code that has no call frame information and no line, as a library of Go's has,
 * and that Go's table of functions describes.
 *   go_library SECONDS
 *
 * Visits "rounds" after each call. Prints "done" last, and ends with status 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coz.h"

/* The table is of Go 1.20: a function, how deep its stack is from which byte on, and its record. */
__asm__(
    ".text\n"
    ".globl go_code\n"
    ".type go_code, @function\n"
    "go_code:\n"
    "  sub $24, %rsp\n"
    "go_code_deep:\n"
    "  mov $100000, %ecx\n"
    "1: dec %ecx\n"
    "  jnz 1b\n"
    "  add $24, %rsp\n"
    "go_code_flat:\n"
    "  ret\n"
    "go_code_end:\n"
    ".size go_code, . - go_code\n"
    ".section .gopclntab, \"aw\", @progbits\n"
    ".p2align 3\n"
    ".globl go_table\n"
    "go_table:\n"
    "  .long 0xfffffff1\n"
    "  .byte 0, 0, 1, 8\n"
    "  .quad 1, 0, go_code, 0, 0, 0\n"
    "  .quad go_depths - go_table, go_functions - go_table\n"
    "go_depths:\n"
    "  .byte 0\n"
    "go_list:\n"
    "  .byte 2, go_code_deep - go_code\n"
    "  .byte 48, go_code_flat - go_code_deep\n"
    "  .byte 47, go_code_end - go_code_flat\n"
    "  .byte 0\n"
    "  .p2align 3\n"
    "go_functions:\n"
    "  .long 0, go_record - go_functions, go_code_end - go_code\n"
    "go_record:\n"
    "  .long 0, 0, 0, 0, go_list - go_depths\n"
    "  .zero 24\n"
    ".text\n");

void go_code(void);
extern const char go_table[];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  if (go_table[0] == 0) return 1; /* else the linker leaves it out */
  const double end = now() + (argc > 1 ? atof(argv[1]) : 1);
  while (now() < end) {
    go_code();
    COZ_PROGRESS_NAMED("rounds");
  }
  puts("done");
  return 0;
}
