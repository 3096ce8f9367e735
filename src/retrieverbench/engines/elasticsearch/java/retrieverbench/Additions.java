package retrieverbench;

import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.ar.ArabicAnalyzer;
import org.apache.lucene.analysis.cjk.CJKAnalyzer;
import org.apache.lucene.analysis.da.DanishAnalyzer;
import org.apache.lucene.analysis.de.GermanAnalyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.es.SpanishAnalyzer;
import org.apache.lucene.analysis.fi.FinnishAnalyzer;
import org.apache.lucene.analysis.fr.FrenchAnalyzer;
import org.apache.lucene.analysis.it.ItalianAnalyzer;
import org.apache.lucene.analysis.nl.DutchAnalyzer;
import org.apache.lucene.analysis.no.NorwegianAnalyzer;
import org.apache.lucene.analysis.pt.PortugueseAnalyzer;
import org.apache.lucene.analysis.ru.RussianAnalyzer;
import org.apache.lucene.analysis.sv.SwedishAnalyzer;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.cluster.service.ClusterService;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.analysis.PreBuiltAnalyzerProviderFactory;
import org.elasticsearch.indices.analysis.PreBuiltCacheFactory.CachingStrategy;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.RestChannel;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** What the vendor ships as modules that are not published: language analyzers and {@code GET /}. */
public final class Additions extends Plugin implements AnalysisPlugin, ActionPlugin {
    private static final Map<String, Supplier<Analyzer>> ANALYZERS = Map.ofEntries(
        Map.entry("arabic", ArabicAnalyzer::new),
        Map.entry("cjk", CJKAnalyzer::new),
        Map.entry("danish", DanishAnalyzer::new),
        Map.entry("dutch", DutchAnalyzer::new),
        Map.entry("english", EnglishAnalyzer::new),
        Map.entry("finnish", FinnishAnalyzer::new),
        Map.entry("french", FrenchAnalyzer::new),
        Map.entry("german", GermanAnalyzer::new),
        Map.entry("italian", ItalianAnalyzer::new),
        Map.entry("norwegian", NorwegianAnalyzer::new),
        Map.entry("portuguese", PortugueseAnalyzer::new),
        Map.entry("russian", RussianAnalyzer::new),
        Map.entry("spanish", SpanishAnalyzer::new),
        Map.entry("swedish", SwedishAnalyzer::new));

    private ClusterService cluster;

    @Override
    public Collection<?> createComponents(PluginServices services) {
        cluster = services.clusterService();
        return List.of();
    }

    @Override
    public List<PreBuiltAnalyzerProviderFactory> getPreBuiltAnalyzerProviderFactories() {
        return ANALYZERS.entrySet().stream()
            .map(entry -> new PreBuiltAnalyzerProviderFactory(entry.getKey(), CachingStrategy.ONE, entry.getValue()))
            .toList();
    }

    @Override
    public Collection<RestHandler> getRestHandlers(
        RestHandlersServices services, Supplier<DiscoveryNodes> nodes, Predicate<NodeFeature> features
    ) {
        return List.of(new Root());
    }

    /** Says who answers; official clients ask it. The build type tells that this is not the vendor's server. */
    private final class Root implements RestHandler {
        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
        }

        @Override
        public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws IOException {
            Build build = Build.current();
            XContentBuilder answer = channel.newBuilder().startObject();
            answer.field("name", Node.NODE_NAME_SETTING.get(cluster.getSettings()));
            answer.field("cluster_name", cluster.getClusterName().value());
            answer.field("cluster_uuid", cluster.state().metadata().clusterUUID());
            answer.startObject("version");
            answer.field("number", build.version());
            answer.field("build_flavor", build.flavor());
            answer.field("build_type", "embedded");
            answer.field("build_hash", build.hash());
            answer.field("build_date", build.date());
            answer.field("build_snapshot", build.isSnapshot());
            answer.field("lucene_version", org.apache.lucene.util.Version.LATEST.toString());
            answer.field("minimum_wire_compatibility_version", build.minWireCompatVersion());
            answer.field("minimum_index_compatibility_version", build.minIndexCompatVersion());
            answer.endObject();
            answer.field("tagline", "You Know, for Search");
            channel.sendResponse(new RestResponse(RestStatus.OK, answer.endObject()));
        }
    }
}
