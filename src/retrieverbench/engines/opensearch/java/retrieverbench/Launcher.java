package retrieverbench;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CountDownLatch;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.index.reindex.ReindexPlugin;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.neuralsearch.plugin.NeuralSearch;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.plugins.ExtensiblePlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * One OpenSearch node on a free port of 127.0.0.1: {@code Launcher FOLDER NAME}.
 *
 * <p>It ends when its standard input ends, at once: its data is temporary. All that it writes is
 * below FOLDER. The server itself writes {@code FOLDER/logs/http.ports} when it answers. NAME comes
 * back in {@code GET /}, so that the parent knows that its own node answers on that port.
 */
public final class Launcher extends Node {
    private static final List<Class<? extends Plugin>> PLUGINS = List.of(
        Netty4Plugin.class, Analysis.class, MapperExtrasPlugin.class, ReindexPlugin.class,
        PainlessPlugin.class, KNNPlugin.class, NeuralSearch.class);

    /** A subclass, because the constructor that takes plugins from the class path is protected. */
    private Launcher(Settings settings) {
        super(new Environment(settings, null), PLUGINS, true);
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]).toAbsolutePath();
        Thread watch = new Thread(Launcher::endWithStandardInput, "standard-input");
        watch.setDaemon(true);
        watch.start();
        // As in the server: after an error such as a missing native library the data may be broken.
        Thread.setDefaultUncaughtExceptionHandler(Launcher::endWithError);
        LogConfigurator.configureWithoutConfig(Settings.EMPTY);
        Configurator.setRootLevel(Level.WARN);

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
        introducePlugins();
        new Launcher(settings).start();
        new CountDownLatch(1).await();  // every thread of a node is a daemon
    }

    /** Plugins from the class path are not introduced to each other: scripts need those of k-NN. */
    private static void introducePlugins() {
        new PainlessPlugin().loadExtensions(new ExtensiblePlugin.ExtensionLoader() {
            @Override
            public <T> List<T> loadExtensions(Class<T> type) {
                List<T> found = new ArrayList<>();
                ServiceLoader.load(type, Launcher.class.getClassLoader()).forEach(found::add);
                return found;
            }
        });
    }

    private static void endWithError(Thread thread, Throwable error) {
        error.printStackTrace();
        if (error instanceof Error) {
            Runtime.getRuntime().halt(1);
        }
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
