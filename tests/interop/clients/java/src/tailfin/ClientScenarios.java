package tailfin;

import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs every scenario against a nameserver's cluster and prints one JSON line for each: what was sent, what was seen.
 * It judges nothing; the tests do. Usage: NAMESRV PREFIX [SCENARIO,...]
 */
public final class ClientScenarios {
    private static final int AT_ONCE = 8;

    interface Scenario {
        void run(Scene scene, Map<String, Object> saw) throws Exception;
    }

    private ClientScenarios() {
    }

    private static Map<String, Scenario> all() {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        RebalanceScenarios.addTo(scenarios);
        DelayScenarios.addTo(scenarios);
        RetryScenarios.addTo(scenarios);
        OrderScenarios.addTo(scenarios);
        ExchangeScenarios.addTo(scenarios);
        OperatorScenarios.addTo(scenarios);
        PushScenarios.addTo(scenarios);
        OffsetScenarios.addTo(scenarios);
        PullScenarios.addTo(scenarios);
        FilterScenarios.addTo(scenarios);
        ProducerScenarios.addTo(scenarios);
        AdminScenarios.addTo(scenarios);
        return scenarios;
    }

    /** Those that want a cluster of their own, and run only by name. */
    private static Map<String, Scenario> apart() {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        TransactionScenarios.addTo(scenarios);
        return scenarios;
    }

    public static void main(String[] args) throws Exception {
        // Libraries print to standard output as they like: keep it for the lines.
        PrintStream lines = new PrintStream(new FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Map<String, Scenario> scenarios = all();
        if (args.length > 2) {
            scenarios.putAll(apart());
            scenarios.keySet().retainAll(Set.of(args[2].split(",")));
        }
        ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
        try (Scene scene = new Scene(args[0], args[1])) {
            scenarios.forEach((name, scenario) -> pool.execute(() -> lines.println(Json.text(run(scene, name, scenario)))));
            pool.shutdown();
            pool.awaitTermination(10, TimeUnit.MINUTES);
        }
        System.exit(0);
    }

    private static Map<String, Object> run(Scene scene, String name, Scenario scenario) {
        Map<String, Object> saw = new LinkedHashMap<>();
        saw.put("scenario", name);
        long start = System.nanoTime();
        try {
            scenario.run(scene, saw);
        } catch (Throwable e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            saw.put("error", trace.toString());
        }
        saw.put("seconds", (System.nanoTime() - start) / 1e9);
        return saw;
    }
}
