// No debug information knows this code.
int library_work(int x);

__attribute__((noipa)) int own_work(int x) { return library_work(x) + 2; }

int main(int argc, char** argv) {
  (void)argv;
  return own_work(argc);
}
