package tailfin;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Writes JSON lines, to a file or to standard output ({@code -}). */
final class Lines implements AutoCloseable {
    private final Writer out;

    Lines(String target) throws IOException {
        this.out = target.equals("-")
            ? new BufferedWriter(new java.io.OutputStreamWriter(System.out, StandardCharsets.UTF_8))
            : Files.newBufferedWriter(Path.of(target), StandardCharsets.UTF_8);
    }

    void add(Json line) throws IOException {
        out.write(line.toString());
        out.write('\n');
    }

    void flush() throws IOException {
        out.flush();
    }

    @Override
    public void close() throws IOException {
        out.close();
    }

    static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** {@code 10.0.0.1:1234} or {@code [fd00:0:0:0:0:0:0:1]:1234}. */
    static String host(SocketAddress address) {
        InetSocketAddress inet = (InetSocketAddress) address;
        String ip = inet.getAddress().getHostAddress();
        return (ip.indexOf(':') >= 0 ? "[" + ip + "]" : ip) + ":" + inet.getPort();
    }
}
