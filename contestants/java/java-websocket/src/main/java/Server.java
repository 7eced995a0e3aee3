import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.java_websocket.WebSocket;
import org.java_websocket.drafts.Draft_6455;
import org.java_websocket.framing.CloseFrame;
import org.java_websocket.framing.Framedata;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.server.WebSocketServer;

/** Java-WebSocket as a server: ws.echo, ws.count, ws.broadcast. */
public final class Server extends WebSocketServer {
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Request(long c) {}

    record Reply(long c, long ts) {}

    private static final int MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

    private final ObjectMapper json =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final String workload;

    Server(InetSocketAddress address, int decoders, String workload) {
        // Its own draft takes frames of up to 2 GiB, and makes room for one as soon as its head is there.
        super(address, decoders, List.of(new Draft_6455(List.of(), MAX_MESSAGE_BYTES)));
        this.workload = workload;
    }

    @Override
    public void onMessage(WebSocket socket, String message) {
        if (workload.equals("ws.echo")) {
            socket.send(message);
            expectWritten(socket);
            return;
        }
        if (workload.equals("ws.broadcast")) {
            broadcast(message);
            getConnections().forEach(this::expectWritten);
            return;
        }
        try {
            Request request = json.readValue(message, Request.class);
            if (request != null) {
                socket.send(json.writeValueAsString(new Reply(request.c(), System.currentTimeMillis() / 1000)));
                expectWritten(socket);
                return;
            }
        } catch (JsonProcessingException error) {
            // refused below, like null
        }
        socket.close(CloseFrame.NO_UTF8, "expected a count");
    }

    @Override
    public void onMessage(WebSocket socket, ByteBuffer message) {
        socket.send(message);
        expectWritten(socket);
    }

    @Override
    public void onWebsocketPing(WebSocket socket, Framedata frame) {
        super.onWebsocketPing(socket, frame); // sends the pong
        expectWritten(socket);
    }

    /** The attachment: whether the connection's next look is due already. */
    @Override
    public void onOpen(WebSocket socket, ClientHandshake handshake) {
        socket.setAttachment(new AtomicBoolean());
        expectWritten(socket); // the reply to the handshake
    }

    @Override
    public void onClosing(WebSocket socket, int code, String reason, boolean remote) {
        expectWritten(socket); // the close frame
    }

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
     * So one look at the connection, 10 ms after it has sent, asks again for what is still queued. A connection that sends nothing has no timer.
     */
    private void expectWritten(WebSocket socket) {
        AtomicBoolean isDue = socket.getAttachment();
        if (isDue != null && isDue.compareAndSet(false, true)) {
            timer.schedule(() -> writeForgotten(socket, isDue), 10, TimeUnit.MILLISECONDS);
        }
    }

    private void writeForgotten(WebSocket socket, AtomicBoolean isDue) {
        isDue.set(false); // before the look: what is sent after it gets a look of its own
        if (!socket.isClosed() && socket.hasBufferedData()) {
            onWriteDemand(socket);
            expectWritten(socket);
        }
    }

    public static void main(String[] arguments) {
        String host = System.getenv("WIREBENCH_HOST");
        int port = Integer.parseInt(System.getenv("WIREBENCH_PORT"));
        int threads = Integer.parseInt(System.getenv().getOrDefault("WIREBENCH_THREADS", "1"));
        String workload = System.getenv("WIREBENCH_WORKLOAD");
        Server server = new Server(new InetSocketAddress(host, port), threads, workload);
        server.setReuseAddr(true);
        server.setTcpNoDelay(true);
        server.setMaxPendingConnections(4096);
        server.run();
    }
}
