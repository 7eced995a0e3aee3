import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.javalin.Javalin;
import io.javalin.http.Context;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Javalin as a server: http.hello, rest. */
public final class Server {
    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final int ACCEPTORS = 1;
    private static final int SELECTORS = 1;
    private static final int MAX_BODY_BYTES = 16 * 1024 * 1024;

    private static int number(String name, String otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, otherwise));
    }

    /** Javalin's own limit is for bodies that announce their length: one in chunks may have any. */
    private static void post(Context context, int delayMs) throws InterruptedException, IOException {
        byte[] body = context.bodyInputStream().readNBytes(MAX_BODY_BYTES + 1);
        if (body.length > MAX_BODY_BYTES) {
            context.status(413).result("too large");
            return;
        }
        try {
            if (JSON.readTree(body).isMissingNode()) { // of an empty text
                throw new IOException("no JSON");
            }
        } catch (IOException error) {
            context.status(400).result("expected JSON");
            return;
        }
        if (delayMs > 0) {
            Thread.sleep(delayMs);
        }
        context.result("Sending response: " + new String(body, StandardCharsets.UTF_8));
    }

    public static void main(String[] arguments) {
        int threads = number("WIREBENCH_THREADS", "1");
        int delayMs = number("WIREBENCH_DELAY_MS", "0");
        QueuedThreadPool pool = new QueuedThreadPool(ACCEPTORS + SELECTORS + threads);
        pool.setReservedThreads(0); // which would come out of these
        Javalin.create(config -> {
            config.startup.showJavalinBanner = false;
            config.http.prefer405over404 = true;
            config.jetty.threadPool = pool;
            config.jetty.addConnector((server, http) -> {
                ServerConnector connector = new ServerConnector(server, ACCEPTORS, SELECTORS);
                connector.setHost(System.getenv("WIREBENCH_HOST"));
                connector.setPort(number("WIREBENCH_PORT", "8080"));
                connector.setAcceptQueueSize(4096);
                connector.setIdleTimeout(60_000);
                return connector;
            });
            if ("rest".equals(System.getenv("WIREBENCH_WORKLOAD"))) {
                config.routes.post("/test", context -> post(context, delayMs));
                config.routes.get("/test/status", context -> context.result("OK"));
                config.routes.get("/test/labels/{label}", context ->
                        context.result("label: " + context.pathParam("label")));
            } else {
                config.routes.get("/route_01", context -> context.result("hello from route_01"));
                config.routes.get("/route_02", context -> context.result("hello from route_02"));
            }
        }).start();
    }
}
