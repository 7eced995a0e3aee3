import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.RoutingHandler;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.util.Headers;
import io.undertow.websockets.core.AbstractReceiveListener;
import io.undertow.websockets.core.BufferedBinaryMessage;
import io.undertow.websockets.core.BufferedTextMessage;
import io.undertow.websockets.core.CloseMessage;
import io.undertow.websockets.core.WebSocketChannel;
import io.undertow.websockets.core.WebSockets;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import java.util.logging.LogManager;
import org.xnio.Options;

/** Undertow as a server: http.hello, rest, ws.echo, ws.count, ws.broadcast. */
public final class Server {
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Request(long c) {}

    record Reply(long c, long ts) {}

    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final int MAX_BYTES = 16 * 1024 * 1024;
    private static final byte[] PREFIX = "Sending response: ".getBytes(StandardCharsets.UTF_8);

    private static int number(String name, String otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, otherwise));
    }

    private static HttpHandler text(String body) {
        return exchange -> send(exchange, body);
    }

    private static void send(HttpServerExchange exchange, String body) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
        exchange.getResponseSender().send(body);
    }

    /** The receiver makes room for all that a request announces, so that is looked at first. */
    private static void receive(HttpServerExchange exchange, int delayMs) {
        if (exchange.getRequestContentLength() > MAX_BYTES) {
            exchange.setStatusCode(413);
            send(exchange, "too large");
            return;
        }
        exchange.getRequestReceiver().receiveFullBytes((received, body) -> post(received, body, delayMs));
    }

    /** In a worker thread, which it may block. */
    private static void post(HttpServerExchange exchange, byte[] body, int delayMs) {
        try {
            if (JSON.readTree(body).isMissingNode()) { // of an empty text
                throw new IOException("no JSON");
            }
        } catch (IOException error) {
            exchange.setStatusCode(400);
            send(exchange, "expected JSON");
            return;
        }
        if (delayMs > 0) {
            try {
                Thread.sleep(delayMs);
            } catch (InterruptedException end) {
                return;
            }
        }
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
        exchange.getResponseSender()
                .send(ByteBuffer.allocate(PREFIX.length + body.length).put(PREFIX).put(body).flip());
    }

    private static HttpHandler rest(int delayMs) {
        RoutingHandler routes =
                Handlers.routing()
                        .post("/test", exchange -> receive(exchange, delayMs))
                        .get("/test/status", text("OK"))
                        .get("/test/labels/{label}", exchange ->
                                send(exchange, "label: " + exchange.getQueryParameters().get("label").getFirst()));
        return new BlockingHandler(routes);
    }

    private abstract static class Messages extends AbstractReceiveListener {
        @Override
        protected long getMaxTextBufferSize() {
            return MAX_BYTES;
        }

        @Override
        protected long getMaxBinaryBufferSize() {
            return MAX_BYTES;
        }
    }

    private static final class Echo extends Messages {
        @Override
        protected void onFullTextMessage(WebSocketChannel channel, BufferedTextMessage message) {
            WebSockets.sendText(message.getData(), channel, null);
        }

        @Override
        protected void onFullBinaryMessage(WebSocketChannel channel, BufferedBinaryMessage message) {
            var data = message.getData();
            try {
                WebSockets.sendBinary(WebSockets.mergeBuffers(data.getResource()), channel, null);
            } finally {
                data.free(); // mergeBuffers has copied it
            }
        }
    }

    private static final class Count extends Messages {
        @Override
        protected void onFullTextMessage(WebSocketChannel channel, BufferedTextMessage message) {
            try {
                Request request = JSON.readValue(message.getData(), Request.class);
                if (request != null) {
                    Reply reply = new Reply(request.c(), System.currentTimeMillis() / 1000);
                    WebSockets.sendText(JSON.writeValueAsString(reply), channel, null);
                    return;
                }
            } catch (JsonProcessingException error) {
                // refused below, like null
            }
            WebSockets.sendClose(CloseMessage.MSG_CONTAINS_INVALID_DATA, "expected a count", channel, null);
        }
    }

    private static final class Broadcast extends Messages {
        @Override
        protected void onFullTextMessage(WebSocketChannel channel, BufferedTextMessage message) {
            String text = message.getData();
            for (WebSocketChannel peer : channel.getPeerConnections()) {
                WebSockets.sendText(text, peer, null);
            }
        }
    }

    private static HttpHandler websocket(Supplier<Messages> listener) {
        return Handlers.websocket((exchange, channel) -> {
            channel.getReceiveSetter().set(listener.get());
            channel.resumeReceives();
        });
    }

    public static void main(String[] arguments) {
        LogManager.getLogManager().reset(); // no log
        int threads = number("WIREBENCH_THREADS", "1");
        HttpHandler handler =
                switch (System.getenv("WIREBENCH_WORKLOAD")) {
                    case "rest" -> rest(number("WIREBENCH_DELAY_MS", "0"));
                    case "ws.echo" -> websocket(Echo::new);
                    case "ws.count" -> websocket(Count::new);
                    case "ws.broadcast" -> websocket(Broadcast::new);
                    default -> Handlers.routing()
                            .get("/route_01", text("hello from route_01"))
                            .get("/route_02", text("hello from route_02"));
                };
        Undertow.builder()
                .addHttpListener(number("WIREBENCH_PORT", "8080"), System.getenv("WIREBENCH_HOST"), handler)
                .setIoThreads(threads)
                .setWorkerThreads(threads)
                .setSocketOption(Options.BACKLOG, 4096)
                .setServerOption(UndertowOptions.REQUEST_PARSE_TIMEOUT, 60_000)
                .setServerOption(UndertowOptions.NO_REQUEST_TIMEOUT, 75_000)
                .setServerOption(UndertowOptions.MAX_ENTITY_SIZE, (long) MAX_BYTES)
                .build()
                .start();
    }
}
