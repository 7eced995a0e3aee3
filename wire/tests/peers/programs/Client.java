// Java's HttpClient and its WebSocket against wire's server: Client BASE [CA]. Prints "ok".
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Client {
    static HttpClient client;
    static String base;

    static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    static SSLContext trusting(String file) throws Exception {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (var pem = Files.newInputStream(Path.of(file))) {
            var factory = CertificateFactory.getInstance("X.509");
            store.setCertificateEntry("ca", factory.generateCertificate(pem));
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        var context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    static byte[] send(HttpRequest.Builder request) throws Exception {
        var response = client.send(request.build(), BodyHandlers.ofByteArray());
        check(response.statusCode() == 200, request.build() + ": " + response.statusCode());
        return response.body();
    }

    static HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create(base + path));
    }

    public static void main(String[] arguments) throws Exception {
        base = arguments[0];
        // By default its first request offers h2c as an upgrade, which wire passes over.
        var builder = HttpClient.newBuilder();
        if (arguments.length > 1) builder.sslContext(trusting(arguments[1]));
        client = builder.build();
        check(new String(send(to("/hello"))).equals("hello\n"), "hello");
        var peer = new String(send(to("/peer")));
        for (int i = 0; i < 20; i++)
            check(new String(send(to("/peer"))).equals(peer), "another connection");
        var body = send(to("/chunks/300000"));
        check(body.length == 300000, "chunks");
        check(Arrays.equals(send(to("/whole").POST(BodyPublishers.ofByteArray(body))), body), "length");
        var chunked = BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body));
        check(Arrays.equals(send(to("/echo").POST(chunked)), body), "chunked");
        for (var path : new String[] {"/whole", "/echo"}) {
            var expecting = to(path).expectContinue(true).POST(BodyPublishers.ofByteArray(body));
            check(Arrays.equals(send(expecting), body), "expect " + path);
        }
        var none = BodyPublishers.noBody();
        check(send(to("/bytes/1000").method("HEAD", none)).length == 0, "HEAD");
        webSocket();
        System.out.println("ok");
    }

    static void webSocket() throws Exception {
        var echo = new CompletableFuture<String>();
        var closed = new CompletableFuture<Integer>();
        var listener = new WebSocket.Listener() {
            final StringBuilder text = new StringBuilder();

            @Override
            public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
                text.append(data);
                if (last) echo.complete(text.toString());
                return WebSocket.Listener.super.onText(socket, data, last);
            }

            @Override
            public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
                closed.complete(code);
                return null;
            }
        };
        var url = URI.create(base.replaceFirst("^http", "ws") + "/ws");
        var socket = client.newWebSocketBuilder().buildAsync(url, listener).get(10, TimeUnit.SECONDS);
        socket.sendText("hel", false).get(10, TimeUnit.SECONDS);
        socket.sendText("lo", true).get(10, TimeUnit.SECONDS);
        check(echo.get(10, TimeUnit.SECONDS).equals("hello"), "echo");
        socket.sendClose(1000, "bye").get(10, TimeUnit.SECONDS);
        check(closed.get(10, TimeUnit.SECONDS) == 1000, "close");
    }
}
