package org.elasticsearch.plugins;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.elasticsearch.Build;

/**
 * Plugins that lie on the class path instead of in folders of their own.
 *
 * <p>It stands in this package because the constructors that it needs are visible only here.
 */
public final class ClassPathPlugins extends PluginsLoader {
    private record Layer(PluginBundle pluginBundle, ClassLoader pluginClassLoader) implements PluginLayer {
        @Override
        public ModuleLayer pluginModuleLayer() {
            return ModuleLayer.boot();
        }
    }

    private final List<PluginLayer> layers = new ArrayList<>();

    /** {@code folder} is any folder without jars. */
    public ClassPathPlugins(Path folder, List<Class<? extends Plugin>> plugins) throws IOException {
        super(Set.of(), Set.of(), Map.of());
        for (Class<? extends Plugin> plugin : plugins) {
            layers.add(new Layer(new PluginBundle(describe(plugin), folder), plugin.getClassLoader()));
        }
    }

    @Override
    public Stream<PluginLayer> pluginLayers() {
        return layers.stream();
    }

    private static PluginDescriptor describe(Class<? extends Plugin> plugin) {
        String version = Build.current().version();
        return new PluginDescriptor(
            plugin.getSimpleName(), "from the class path", version, version, "21", plugin.getName(), null,
            List.of(), false, false, false, false, PluginDescriptor.DeploymentTarget.ALL);
    }
}
