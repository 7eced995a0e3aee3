import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.function.Supplier;
import java.util.logging.LogManager;

/** Vert.x as a server: http.hello, ws.echo, ws.count. */
public final class Server extends VerticleBase {
    private static final int MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
    private static final short INVALID_DATA = 1007; // RFC 6455, section 7.4.1

    private static int number(String name, String otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, otherwise));
    }

    private static Handler<RoutingContext> text(String body) {
        return context -> context.response().putHeader("Content-Type", "text/plain").end(body);
    }

    private static void echo(ServerWebSocket socket) {
        socket.textMessageHandler(socket::writeTextMessage);
        socket.binaryMessageHandler(socket::writeBinaryMessage);
    }

    private static void count(ServerWebSocket socket) {
        socket.textMessageHandler(
                message -> {
                    Long c = countOf(message);
                    if (c == null) {
                        socket.close(INVALID_DATA, "expected a count");
                        return;
                    }
                    long now = System.currentTimeMillis() / 1000;
                    socket.writeTextMessage(new JsonObject().put("c", c).put("ts", now).encode());
                });
    }

    /** Null if there is none. */
    private static Long countOf(String message) {
        try {
            return new JsonObject(message).getLong("c");
        } catch (DecodeException | ClassCastException error) {
            return null;
        }
    }

    @Override
    public Future<?> start() {
        String workload = System.getenv("WIREBENCH_WORKLOAD");
        HttpServerOptions options =
                new HttpServerOptions()
                        .setHost(System.getenv("WIREBENCH_HOST"))
                        .setPort(number("WIREBENCH_PORT", "8080"))
                        .setAcceptBacklog(4096);
        if (workload.startsWith("ws.")) {
            options.setMaxWebSocketFrameSize(MAX_MESSAGE_BYTES);
            options.setMaxWebSocketMessageSize(MAX_MESSAGE_BYTES);
            return vertx.createHttpServer(options)
                    .webSocketHandler(workload.equals("ws.echo") ? Server::echo : Server::count)
                    .listen();
        }
        Router router = Router.router(vertx);
        router.get("/route_01").handler(text("hello from route_01"));
        router.get("/route_02").handler(text("hello from route_02"));
        return vertx.createHttpServer(options.setIdleTimeout(75)).requestHandler(router).listen();
    }

    public static void main(String[] arguments) {
        LogManager.getLogManager().reset(); // no log
        int threads = number("WIREBENCH_THREADS", "1");
        Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(threads));
        Supplier<Deployable> servers = Server::new;
        vertx.deployVerticle(servers, new DeploymentOptions().setInstances(threads))
                .onFailure(
                        error -> {
                            System.err.println(error.getMessage());
                            System.exit(1);
                        });
    }
}
