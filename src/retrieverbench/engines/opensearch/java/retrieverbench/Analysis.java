package retrieverbench;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.PreBuiltAnalyzerProviderFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;

/**
 * The vendor's analysis without the analyzer {@code thai}, with which no index could be made.
 *
 * <p>The server tries every analyzer on each new index, and this one needs word boundaries of a
 * language that the small JVM of the wheel does not have.
 */
public final class Analysis extends CommonAnalysisPlugin {
    private static final String ABSENT = "thai";

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> all = new HashMap<>(super.getAnalyzers());
        all.remove(ABSENT);
        return all;
    }

    @Override
    public List<PreBuiltAnalyzerProviderFactory> getPreBuiltAnalyzerProviderFactories() {
        return super.getPreBuiltAnalyzerProviderFactories().stream()
            .filter(factory -> !factory.getName().equals(ABSENT))
            .toList();
    }
}
