// Rounds of two functions, of which "parse" does twice the work of "render" unless it is told otherwise.
//
//   java Rounds SECONDS SHARE-OF-PARSE
import java.io.FileOutputStream;
import java.io.IOException;

class Rounds {
  static int parse(int x, int steps) {
    for (int i = 0; i < steps; ++i) x = x * 1664525 + 1013904223 ^ i;
    return x;
  }

  static int render(int x, int steps) {
    for (int i = 0; i < steps; ++i) x = x * 22695477 + 1 ^ i;
    return x;
  }

  public static void main(String[] words) throws IOException {
    double seconds = Double.parseDouble(words[0]);
    double share = Double.parseDouble(words[1]);
    long start = System.nanoTime();
    long rounds = 0;
    int x = 1;
    try (FileOutputStream sink = new FileOutputStream("/dev/null")) {
      for (; System.nanoTime() < start + 1e9 * seconds; ++rounds) {
        x = render(parse(x, (int) Math.round(600000 * share)), 300000);
        sink.write(x);
      }
    }
    System.out.printf("rounds per second: %.1f%n", 1e9 * rounds / (System.nanoTime() - start));
  }
}
