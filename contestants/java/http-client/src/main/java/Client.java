import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** java.net.http.HttpClient as a client: http, https, ws, wss. */
public final class Client {
    private static final URI TARGET = URI.create(Trial.URL);
    private static final boolean IS_WEBSOCKET = Trial.URL.startsWith("ws");

    private static HttpClient newClient() throws Exception {
        var builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofSeconds(10));
        if (!Trial.CA_FILE.isEmpty()) {
            builder.sslContext(Trial.tls());
        }
        return builder.build();
    }

    private static boolean ask(HttpClient client) throws Exception {
        var request = HttpRequest.newBuilder(TARGET).timeout(Duration.ofSeconds(10));
        if (Trial.POSTS) {
            request.header("Content-Type", "application/octet-stream")
                    .POST(HttpRequest.BodyPublishers.ofByteArray(Trial.EXPECTED));
        }
        if (Trial.POLICY.equals("new")) {
            request.header("Connection", "close");
        }
        var response = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
        return response.statusCode() == 200 && Arrays.equals(response.body(), Trial.EXPECTED);
    }

    /** Puts messages together, which come in parts, and hands them to the thread that waits. */
    private static final class Messages implements WebSocket.Listener {
        private final StringBuilder parts = new StringBuilder();
        private final BlockingQueue<String> events = new ArrayBlockingQueue<>(16);

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            parts.append(data);
            if (last) {
                events.add(parts.toString());
                parts.setLength(0);
            }
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            events.add("closed");
            return null;
        }

        @Override
        public void onError(WebSocket socket, Throwable error) {
            events.add(error.toString());
        }

        String next() throws InterruptedException, TimeoutException {
            String event = events.poll(10, TimeUnit.SECONDS);
            if (event == null) {
                throw new TimeoutException("nothing received");
            }
            return event;
        }
    }

    private record Connection(WebSocket socket, Messages messages) {
        static Connection open(HttpClient client) {
            Messages messages = new Messages();
            return new Connection(client.newWebSocketBuilder().buildAsync(TARGET, messages).join(), messages);
        }

        boolean exchange() throws Exception {
            socket.sendText(Trial.MESSAGE, true).join();
            return messages.next().equals(Trial.MESSAGE);
        }

        boolean close() throws Exception {
            socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
            return messages.next().equals("closed");
        }
    }

    private static boolean exchangeOnce(HttpClient client) throws Exception {
        Connection connection = Connection.open(client);
        return connection.exchange() && connection.close();
    }

    private static boolean once(HttpClient client) throws Exception {
        return IS_WEBSOCKET ? exchangeOnce(client) : ask(client);
    }

    private static boolean onceCold() throws Exception {
        HttpClient client = newClient();
        try {
            return once(client);
        } finally {
            // Since Java 21; before, a client gives up its connections and threads when it is collected.
            if (client instanceof AutoCloseable closeable) {
                closeable.close();
            }
        }
    }

    private static Callable<Boolean> operation() throws Exception {
        if (Trial.POLICY.equals("cold")) {
            return Client::onceCold;
        }
        HttpClient client = newClient();
        if (IS_WEBSOCKET && Trial.POLICY.equals("reuse")) {
            return Connection.open(client)::exchange;
        }
        return () -> once(client);
    }

    public static void main(String[] arguments) throws Exception {
        Trial.run(operation(), CountingSelectorProvider.CONNECTIONS::get);
    }
}
