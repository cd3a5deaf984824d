import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.index.reindex.ReindexPlugin;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.transport.Netty4Plugin;

/** One node of OpenSearch in a process of its own, with the modules that tests need: ClusterNode HOME, with HOME/config. */
final class ClusterNode extends Node {
    private ClusterNode(Environment environment) {
        super(
            environment,
            List.of(
                Netty4Plugin.class, MapperExtrasPlugin.class, ReindexPlugin.class, PainlessPlugin.class, KNNPlugin.class),
            false);
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        LogConfigurator.setNodeName(home.getFileName().toString());
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            Settings.EMPTY, Map.of("path.home", home.toString()), home.resolve("config"), () -> "node");
        LogConfigurator.configure(environment);
        Node node = new ClusterNode(environment);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }));
        node.start();
        new CountDownLatch(1).await();
    }
}
