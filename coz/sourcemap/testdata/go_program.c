/* A function of a program of Go and one of Go's library, which is unpacked in a place of its own, and
 * the section that tells such a program. */
__asm__(".section .gopclntab, \"a\", @progbits\n.byte 0\n.text\n");

#line 7 "/opt/go/src/runtime/proc.go"
int library(int x) { return x * 7; }

#line 5 "/home/me/app/main.go"
int program(int x) { return x * 3; }

int main(int argc, char** argv) {
  (void)argv;
  return library(argc) - program(argc);
}
