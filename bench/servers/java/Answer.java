import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Answers each line with its SHA-256 in hexadecimal digits; a thread for each client. */
public class Answer {
  public static void main(String[] arguments) throws IOException {
    int port = Integer.parseInt(arguments[0]);
    try (ServerSocket server = new ServerSocket(port, 50, InetAddress.getByName("127.0.0.1"))) {
      while (true) {
        Socket client = server.accept();
        Thread thread = new Thread(() -> serve(client));
        thread.setDaemon(true);
        thread.start();
      }
    }
  }

  private static String hash(String line) throws NoSuchAlgorithmException {
    StringBuilder digits = new StringBuilder();
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(line.getBytes(StandardCharsets.UTF_8));
    for (byte part : digest) {
      digits.append(String.format("%02x", part));
    }
    return digits.toString();
  }

  private static void serve(Socket client) {
    try (client;
        BufferedReader lines = new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
        OutputStream answers = client.getOutputStream()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        answers.write((hash(line) + "\n").getBytes(StandardCharsets.UTF_8));
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }
}
