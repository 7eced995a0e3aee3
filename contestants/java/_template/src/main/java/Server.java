import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.java_websocket.WebSocket; // EDIT: these three
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.server.WebSocketServer;

/**
 * @NAME@: ws.echo and ws.count.
 *
 * <p>The lines to edit are marked EDIT. The lab gives the workload, the address and the number of threads in the environment, takes the
 * server for ready when it accepts, and ends it with SIGTERM.
 */
public final class Server extends WebSocketServer { // EDIT
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Request(long c) {}

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, String> ENV = System.getenv();
    private static final boolean IS_ECHO = "ws.echo".equals(ENV.get("WIREBENCH_WORKLOAD"));

    private static String count(String message) throws JsonProcessingException {
        long c = JSON.readValue(message, Request.class).c();
        return JSON.writeValueAsString(Map.of("c", c, "ts", System.currentTimeMillis() / 1000));
    }

    @Override
    public void onMessage(WebSocket socket, String message) { // EDIT: text
        try {
            socket.send(IS_ECHO ? message : count(message)); // EDIT
        } catch (JsonProcessingException error) {
            socket.close(); // EDIT
        }
    }

    @Override
    public void onMessage(WebSocket socket, ByteBuffer message) { // EDIT: binary
        socket.send(message);
    }

    @Override
    public void onOpen(WebSocket socket, ClientHandshake handshake) {}

    @Override
    public void onClose(WebSocket socket, int code, String reason, boolean remote) {}

    @Override
    public void onStart() {}

    @Override
    public void onError(WebSocket socket, Exception error) {
        if (socket == null) {
            System.exit(1); // the server itself, as when its port is taken
        }
    }

    private Server(InetSocketAddress address, int threads) {
        super(address, threads); // EDIT
    }

    private void writeForgotten() {
        getConnections().stream().filter(WebSocket::hasBufferedData).forEach(this::onWriteDemand);
    }

    public static void main(String[] arguments) {
        InetSocketAddress address =
                new InetSocketAddress(ENV.get("WIREBENCH_HOST"), Integer.parseInt(ENV.get("WIREBENCH_PORT")));
        Server server = new Server(address, Integer.parseInt(ENV.getOrDefault("WIREBENCH_THREADS", "1"))); // EDIT: from here
        server.setReuseAddr(true);
        server.setTcpNoDelay(true);
        // Java-WebSocket 1.6.0 can forget to write a reply (see ../java-websocket): ask again for what is still queued.
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        timer.scheduleWithFixedDelay(server::writeForgotten, 10, 10, TimeUnit.MILLISECONDS);
        server.run();
    }
}
