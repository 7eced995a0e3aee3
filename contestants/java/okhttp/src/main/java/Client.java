import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.EventListener;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import okhttp3.tls.HandshakeCertificates;

/** OkHttp as a client: http, https, ws, wss. */
public final class Client {
    private static final Request REQUEST = request();
    private static final boolean IS_WEBSOCKET = Trial.URL.startsWith("ws");
    private static final AtomicLong CONNECTIONS = new AtomicLong();

    private static final class Counter extends EventListener {
        @Override
        public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol) {
            CONNECTIONS.incrementAndGet();
        }
    }

    private static Request request() {
        var builder = new Request.Builder().url(Trial.URL);
        if (Trial.POSTS) {
            builder.post(RequestBody.create(Trial.EXPECTED, MediaType.get("application/octet-stream")));
        }
        return builder.build();
    }

    /** The authorities of the file and no others. */
    private static HandshakeCertificates authorities() throws Exception {
        var trusted = new HandshakeCertificates.Builder();
        try (InputStream file = Files.newInputStream(Path.of(Trial.CA_FILE))) {
            for (Certificate authority : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                trusted.addTrustedCertificate((X509Certificate) authority);
            }
        }
        return trusted.build();
    }

    private static OkHttpClient newClient() throws Exception {
        var builder = new OkHttpClient.Builder().eventListener(new Counter());
        if (Trial.POLICY.equals("new")) {
            builder.connectionPool(new ConnectionPool(0, 1, TimeUnit.MINUTES));
        }
        if (!Trial.CA_FILE.isEmpty()) {
            HandshakeCertificates trusted = authorities();
            builder.sslSocketFactory(trusted.sslSocketFactory(), trusted.trustManager());
        }
        return builder.build();
    }

    private static boolean ask(OkHttpClient client) throws IOException {
        try (Response response = client.newCall(REQUEST).execute()) {
            return response.code() == 200 && Arrays.equals(response.body().bytes(), Trial.EXPECTED);
        }
    }

    /** Hands what comes to the thread that waits. */
    private static final class Messages extends WebSocketListener {
        private final BlockingQueue<String> events = new ArrayBlockingQueue<>(16);

        @Override
        public void onOpen(WebSocket socket, Response response) {
            CONNECTIONS.incrementAndGet(); // OkHttp gives a WebSocket's call no EventListener
            events.add("open");
        }

        @Override
        public void onMessage(WebSocket socket, String message) {
            events.add(message);
        }

        @Override
        public void onClosed(WebSocket socket, int code, String reason) {
            events.add("closed");
        }

        @Override
        public void onFailure(WebSocket socket, Throwable error, Response response) {
            events.add(error.toString());
        }

        void expect(String expected) throws IOException, InterruptedException, TimeoutException {
            String event = events.poll(10, TimeUnit.SECONDS);
            if (event == null) {
                throw new TimeoutException("nothing received");
            }
            if (!event.equals(expected)) {
                throw new IOException("wrong reply: " + event.substring(0, Math.min(100, event.length())));
            }
        }
    }

    private record Conversation(WebSocket socket, Messages messages) {
        static Conversation open(OkHttpClient client) throws Exception {
            Messages messages = new Messages();
            Conversation opened = new Conversation(client.newWebSocket(REQUEST, messages), messages);
            messages.expect("open");
            return opened;
        }

        boolean exchange() throws Exception {
            socket.send(Trial.MESSAGE);
            messages.expect(Trial.MESSAGE);
            return true;
        }

        void close() throws Exception {
            socket.close(1000, null);
            messages.expect("closed");
        }
    }

    private static boolean once(OkHttpClient client) throws Exception {
        if (!IS_WEBSOCKET) {
            return ask(client);
        }
        Conversation conversation = Conversation.open(client);
        boolean right = conversation.exchange();
        conversation.close();
        return right;
    }

    private static boolean onceCold() throws Exception {
        OkHttpClient client = newClient();
        try {
            return once(client);
        } finally {
            client.dispatcher().executorService().shutdown();
            client.connectionPool().evictAll();
        }
    }

    private static Callable<Boolean> operation() throws Exception {
        if (Trial.POLICY.equals("cold")) {
            return Client::onceCold;
        }
        OkHttpClient client = newClient();
        if (IS_WEBSOCKET && Trial.POLICY.equals("reuse")) {
            return Conversation.open(client)::exchange;
        }
        return () -> once(client);
    }

    public static void main(String[] arguments) {
        try {
            Trial.run(operation(), CONNECTIONS::get);
        } catch (Exception error) {
            System.err.println(error);
            System.exit(1); // else the library's threads keep it running
        }
    }
}
