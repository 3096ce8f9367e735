package retrieverbench;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.ClassPathPlugins;
import org.elasticsearch.transport.netty4.Netty4Plugin;

/**
 * One Elasticsearch node on a free port of 127.0.0.1: {@code Launcher FOLDER NAME}.
 *
 * <p>It ends when its standard input ends, at once: its data is temporary. All that it writes is
 * below FOLDER. The server itself writes {@code FOLDER/logs/http.ports} when it answers. NAME comes
 * back in {@code GET /}, so that the parent knows that its own node answers on that port.
 */
public final class Launcher {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]).toAbsolutePath();
        Thread.ofPlatform().daemon().name("standard-input").start(Launcher::endWithStandardInput);
        LogConfigurator.configureWithoutConfig(Settings.EMPTY);
        LogConfigurator.configureESLogging();
        Configurator.setRootLevel(Level.WARN);
        // The native libraries are not published; the server does without, with a stack trace at WARN.
        Configurator.setLevel("org.elasticsearch.nativeaccess", Level.ERROR);

        Settings settings = Settings.builder()
            .put("path.home", folder)
            .put("node.name", arguments[1])
            .put("cluster.name", "retrieverbench")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", 0)
            .put("transport.port", 0)
            .put("node.portsfile", true)
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("indices.breaker.total.use_real_memory", false)
            .build();
        Files.createDirectories(folder.resolve("logs"));
        ClassPathPlugins plugins = new ClassPathPlugins(folder, List.of(Netty4Plugin.class, Additions.class));
        new Node(new Environment(settings, null), plugins).start();
        new CountDownLatch(1).await();  // every thread of a node is a daemon
    }

    private static void endWithStandardInput() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            System.err.println("standard input: " + e);
        }
        Runtime.getRuntime().halt(0);
    }
}
