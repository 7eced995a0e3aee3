import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.timeout.ReadTimeoutHandler;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/** Netty as a server: http.hello, ws.echo, ws.count, ws.broadcast. */
public final class Server extends ChannelInitializer<SocketChannel> {
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Request(long c) {}

    record Reply(long c, long ts) {}

    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final int MAX_BODY_BYTES = 64 * 1024;
    private static final int MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
    private static final int TIMEOUT_S = 60;

    private final String workload;
    private final ChannelGroup everybody = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

    private Server(String workload) {
        this.workload = workload;
    }

    /** Handlers that write what was read and send it once for all that was read together. */
    private abstract static class Handler<T> extends SimpleChannelInboundHandler<T> {
        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }

        /** A timeout, a peer that has gone, or bytes that are no HTTP or WebSocket. */
        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable error) {
            context.close();
        }
    }

    private static final class Hello extends Handler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            if (request.decoderResult().isFailure()) {
                context.writeAndFlush(text(HttpResponseStatus.BAD_REQUEST, "bad request"))
                        .addListener(ChannelFutureListener.CLOSE);
                return;
            }
            context.write(reply(request));
        }

        private static FullHttpResponse reply(FullHttpRequest request) {
            boolean isGet = request.method() == HttpMethod.GET || request.method() == HttpMethod.HEAD;
            String path = new QueryStringDecoder(request.uri()).path();
            if (!path.equals("/route_01") && !path.equals("/route_02")) {
                return text(HttpResponseStatus.NOT_FOUND, "not found");
            }
            return isGet
                    ? text(HttpResponseStatus.OK, "hello from " + path.substring(1))
                    : text(HttpResponseStatus.METHOD_NOT_ALLOWED, "method not allowed");
        }

        private static FullHttpResponse text(HttpResponseStatus status, String body) {
            byte[] bytes = body.getBytes(StandardCharsets.US_ASCII);
            var response =
                    new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(bytes));
            response.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.TEXT_PLAIN)
                    .setInt(HttpHeaderNames.CONTENT_LENGTH, bytes.length);
            return response;
        }
    }

    private abstract static class Messages extends Handler<WebSocketFrame> {
        /** The timeout is that of the handshake: a client may be silent afterwards. */
        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) throws Exception {
            if (event instanceof WebSocketServerProtocolHandler.HandshakeComplete) {
                context.pipeline().remove(ReadTimeoutHandler.class);
            }
            super.userEventTriggered(context, event);
        }
    }

    private static final class Echo extends Messages {
        @Override
        protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
            context.write(message.retain());
        }
    }

    private static final class Count extends Messages {
        @Override
        protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
            try {
                String text = message.content().toString(StandardCharsets.UTF_8);
                long c = JSON.readValue(text, Request.class).c();
                Reply reply = new Reply(c, System.currentTimeMillis() / 1000);
                context.write(new TextWebSocketFrame(JSON.writeValueAsString(reply)));
            } catch (JsonProcessingException error) {
                var close = new CloseWebSocketFrame(WebSocketCloseStatus.INVALID_PAYLOAD_DATA, "expected JSON");
                context.writeAndFlush(close).addListener(ChannelFutureListener.CLOSE);
            }
        }
    }

    private static final class Broadcast extends Messages {
        private final ChannelGroup everybody;

        Broadcast(ChannelGroup everybody) {
            this.everybody = everybody;
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) throws Exception {
            if (event instanceof WebSocketServerProtocolHandler.HandshakeComplete) {
                everybody.add(context.channel()); // which leaves it when it closes
            }
            super.userEventTriggered(context, event);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
            everybody.writeAndFlush(message.retain(), Channel::isWritable);
        }
    }

    private Handler<WebSocketFrame> messages() {
        return switch (workload) {
            case "ws.echo" -> new Echo();
            case "ws.count" -> new Count();
            default -> new Broadcast(everybody);
        };
    }

    @Override
    protected void initChannel(SocketChannel channel) {
        ChannelPipeline pipeline = channel.pipeline();
        pipeline.addLast(new ReadTimeoutHandler(TIMEOUT_S))
                .addLast(new HttpServerCodec())
                .addLast(new HttpObjectAggregator(MAX_BODY_BYTES));
        if (!workload.startsWith("ws.")) {
            pipeline.addLast(new HttpServerKeepAliveHandler()).addLast(new Hello());
            return;
        }
        WebSocketServerProtocolConfig options =
                WebSocketServerProtocolConfig.newBuilder()
                        .websocketPath("/")
                        .maxFramePayloadLength(MAX_MESSAGE_BYTES)
                        .build();
        pipeline.addLast(new WebSocketServerProtocolHandler(options))
                .addLast(new WebSocketFrameAggregator(MAX_MESSAGE_BYTES))
                .addLast(messages());
    }

    public static void main(String[] arguments) throws InterruptedException {
        LogManager.getLogManager().reset(); // no log
        int threads = Integer.parseInt(System.getenv().getOrDefault("WIREBENCH_THREADS", "1"));
        var acceptor = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        var loops = new MultiThreadIoEventLoopGroup(threads, NioIoHandler.newFactory());
        new ServerBootstrap()
                .group(acceptor, loops)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 4096)
                .childHandler(new Server(System.getenv("WIREBENCH_WORKLOAD")))
                .bind(System.getenv("WIREBENCH_HOST"), Integer.parseInt(System.getenv("WIREBENCH_PORT")))
                .sync()
                .channel()
                .closeFuture()
                .sync();
    }
}
