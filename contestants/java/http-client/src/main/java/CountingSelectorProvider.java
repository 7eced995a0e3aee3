import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The platform's provider of channels, counting: HttpClient tells nobody of its connections, but opens a channel for each. The system property
 * java.nio.channels.spi.SelectorProvider names it.
 */
public final class CountingSelectorProvider extends SelectorProvider {
    static final AtomicLong CONNECTIONS = new AtomicLong();

    private final SelectorProvider platform;

    public CountingSelectorProvider() throws ReflectiveOperationException {
        // No public name leads to it while another provider is set (needs --add-exports java.base/sun.nio.ch=ALL-UNNAMED).
        platform = (SelectorProvider)
                Class.forName("sun.nio.ch.DefaultSelectorProvider").getMethod("get").invoke(null);
    }

    @Override
    public SocketChannel openSocketChannel() throws IOException {
        CONNECTIONS.incrementAndGet();
        return platform.openSocketChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel() throws IOException {
        return platform.openDatagramChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
        return platform.openDatagramChannel(family);
    }

    @Override
    public Pipe openPipe() throws IOException {
        return platform.openPipe();
    }

    @Override
    public AbstractSelector openSelector() throws IOException {
        return platform.openSelector();
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() throws IOException {
        return platform.openServerSocketChannel();
    }
}
