import java.net.URI;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.java_websocket.client.WebSocketClient;
import org.java_websocket.drafts.Draft_6455;
import org.java_websocket.enums.ReadyState;
import org.java_websocket.handshake.ServerHandshake;

/** Java-WebSocket as a client: ws, wss. Hands what comes to the thread that waits. */
public final class Client extends WebSocketClient {
    private static final int CONNECT_TIMEOUT_MS = 10_000;
    private static final AtomicLong CONNECTIONS = new AtomicLong();

    private final BlockingQueue<String> messages = new ArrayBlockingQueue<>(16);

    Client() throws Exception {
        super(URI.create(Trial.URL), new Draft_6455(), null, CONNECT_TIMEOUT_MS);
        setTcpNoDelay(true);
        if (!Trial.CA_FILE.isEmpty()) {
            setSocketFactory(Trial.tls().getSocketFactory());
        }
    }

    @Override
    public void onOpen(ServerHandshake handshake) {
        CONNECTIONS.incrementAndGet();
    }

    @Override
    public void onMessage(String message) {
        messages.add(message);
    }

    @Override
    public void onClose(int code, String reason, boolean remote) {
        messages.add(reason); // wakes who waits for a message
    }

    @Override
    public void onError(Exception error) {
        System.err.println(error);
    }

    private boolean exchange() throws InterruptedException {
        send(Trial.MESSAGE);
        return Trial.MESSAGE.equals(messages.poll(10, TimeUnit.SECONDS));
    }

    /** A connection for one message: the first of this object, or another. */
    private boolean once() throws InterruptedException {
        messages.clear(); // the reason why the connection before was closed
        boolean isFirst = getReadyState() == ReadyState.NOT_YET_CONNECTED;
        boolean right = (isFirst ? connectBlocking() : reconnectBlocking()) && exchange();
        closeBlocking();
        return right;
    }

    private static Callable<Boolean> operation() throws Exception {
        if (Trial.POLICY.equals("cold")) {
            return () -> new Client().once();
        }
        Client client = new Client();
        if (Trial.POLICY.equals("new")) {
            return client::once;
        }
        client.connectBlocking();
        return client::exchange;
    }

    public static void main(String[] arguments) throws Exception {
        Trial.run(operation(), CONNECTIONS::get);
    }
}
