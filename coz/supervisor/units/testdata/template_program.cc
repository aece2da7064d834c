// Instances of one template, as of a loop that is given lambdas.
namespace {

template <typename Work>
__attribute__((noinline)) int Rounds(Work work, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += work(i);
  return sum;
}

__attribute__((noinline)) int StepPhysics(int rounds) {
  return Rounds([](int i) { return i * i; }, rounds);
}

__attribute__((noinline)) int Animate(int rounds) {
  return Rounds([](int i) { return i / 3; }, rounds);
}

template <int kDepth>
__attribute__((noinline)) int Deepen(int rounds) {
  return rounds + kDepth;
}

}  // namespace

int main(int argc, char** argv) {
  (void)argv;
  return StepPhysics(argc) + Animate(argc) + Deepen<3>(argc);
}
