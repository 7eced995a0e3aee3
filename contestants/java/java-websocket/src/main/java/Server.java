import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.java_websocket.WebSocket;
import org.java_websocket.framing.CloseFrame;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.server.WebSocketServer;

/** Java-WebSocket as a server: ws.echo, ws.count. */
public final class Server extends WebSocketServer {
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Request(long c) {}

    record Reply(long c, long ts) {}

    private final ObjectMapper json = new ObjectMapper();
    private final boolean isEcho;

    Server(InetSocketAddress address, int decoders, boolean isEcho) {
        super(address, decoders);
        this.isEcho = isEcho;
    }

    @Override
    public void onMessage(WebSocket socket, String message) {
        if (isEcho) {
            socket.send(message);
            return;
        }
        try {
            long c = json.readValue(message, Request.class).c();
            socket.send(json.writeValueAsString(new Reply(c, System.currentTimeMillis() / 1000)));
        } catch (JsonProcessingException error) {
            socket.close(CloseFrame.NO_UTF8, "expected JSON");
        }
    }

    @Override
    public void onMessage(WebSocket socket, ByteBuffer message) {
        socket.send(message);
    }

    @Override
    public void onOpen(WebSocket socket, ClientHandshake handshake) {}

    @Override
    public void onClose(WebSocket socket, int code, String reason, boolean remote) {}

    @Override
    public void onStart() {}

    /** Without a socket the server itself has failed, as when its port is taken. */
    @Override
    public void onError(WebSocket socket, Exception error) {
        if (socket == null) {
            System.err.println(error);
            System.exit(1);
        }
    }

    /**
     * Java-WebSocket 1.6.0 can forget to write a reply (the manifest's note says how), which then waits for the connection's next one.
     * Asking again for what is still queued bounds that wait.
     */
    private void writeForgotten() {
        getConnections().stream().filter(WebSocket::hasBufferedData).forEach(this::onWriteDemand);
    }

    public static void main(String[] arguments) {
        String host = System.getenv("WIREBENCH_HOST");
        int port = Integer.parseInt(System.getenv("WIREBENCH_PORT"));
        int threads = Integer.parseInt(System.getenv().getOrDefault("WIREBENCH_THREADS", "1"));
        boolean isEcho = "ws.echo".equals(System.getenv("WIREBENCH_WORKLOAD"));
        Server server = new Server(new InetSocketAddress(host, port), threads, isEcho);
        server.setReuseAddr(true);
        server.setTcpNoDelay(true);
        server.setMaxPendingConnections(4096);
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        timer.scheduleWithFixedDelay(server::writeForgotten, 10, 10, TimeUnit.MILLISECONDS);
        server.run();
    }
}
