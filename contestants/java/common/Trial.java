import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The client contract: runs the operations, writes the samples, prints the JSON line. */
final class Trial {
    static final String URL = System.getenv("WIREBENCH_URL");
    static final String POLICY = System.getenv("WIREBENCH_POLICY");
    /** Whether each operation is a POST of EXPECTED as octets, not a GET. */
    static final boolean POSTS = "POST".equals(System.getenv("WIREBENCH_METHOD"));
    static final String CA_FILE = System.getenv().getOrDefault("WIREBENCH_CA_FILE", "");
    static final byte[] EXPECTED = pattern(Integer.parseInt(System.getenv("WIREBENCH_PAYLOAD_BYTES")));
    static final String MESSAGE = new String(EXPECTED, StandardCharsets.US_ASCII);

    private static byte[] pattern(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) ('a' + i % 26);
        }
        return bytes;
    }

    /** Trusts the authorities of CA_FILE and no others. For libraries that take the platform's own context. */
    static SSLContext tls() throws IOException, GeneralSecurityException {
        KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
        authorities.load(null);
        try (InputStream file = Files.newInputStream(Path.of(CA_FILE))) {
            for (Certificate authority : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                authorities.setCertificateEntry("authority " + authorities.size(), authority);
            }
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(authorities);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    /** User and system time of this process so far, in Linux's steps of 10 ms. */
    private static long[] cpuNs() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        // From the third field on: the second one, a name in brackets, may have spaces.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return new long[] {Long.parseLong(fields[11]) * 10_000_000, Long.parseLong(fields[12]) * 10_000_000};
    }

    /** The operation says whether the reply was right. Ends the program. */
    static void run(Callable<Boolean> operation, LongSupplier connections) throws IOException {
        int warmup = Integer.parseInt(System.getenv("WIREBENCH_WARMUP"));
        int operations = Integer.parseInt(System.getenv("WIREBENCH_OPERATIONS"));
        ByteBuffer samples = ByteBuffer.allocate(8 * operations).order(ByteOrder.LITTLE_ENDIAN);
        int errors = 0;
        long[] before = cpuNs();
        long began = System.nanoTime();
        for (int i = -warmup; i < operations; i++) {
            if (i == 0) {
                before = cpuNs();
                began = System.nanoTime();
            }
            long start = System.nanoTime();
            boolean right = false;
            try {
                right = operation.call();
            } catch (Exception error) {
                if (errors == 0) {
                    System.err.println("first error: " + error);
                }
            }
            if (i >= 0) {
                samples.putLong(System.nanoTime() - start);
            }
            errors += right ? 0 : 1;
        }
        long wall = System.nanoTime() - began;
        long[] after = cpuNs();
        Files.write(Path.of(System.getenv("WIREBENCH_SAMPLES")), samples.array());
        System.out.printf(
                "{\"operations\":%d,\"errors\":%d,\"connections\":%d,\"wall_ns\":%d,\"cpu_user_ns\":%d,\"cpu_system_ns\":%d}%n",
                operations, errors, connections.getAsLong(), wall, after[0] - before[0], after[1] - before[1]);
        System.exit(errors == 0 ? 0 : 1); // whatever threads the library keeps
    }
}
