package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;

/** Members of a group come and go while messages arrive. */
final class RebalanceScenarios {
    private static final int QUEUES = 8;

    private RebalanceScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("rebalance", RebalanceScenarios::rebalance);
    }

    private static void rebalance(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("rebalance", QUEUES);
        Seen.Ledger ledger = new Seen.Ledger();
        List<Map<String, Object>> sent = new ArrayList<>();
        AtomicBoolean stop = new AtomicBoolean();
        List<String> failures = new ArrayList<>();
        Thread sender = new Thread(() -> {
            try {
                while (!stop.get()) {
                    sent.addAll(scene.fill(topic, sent.size(), QUEUES));
                    Thread.sleep(20);
                }
            } catch (Exception e) {
                failures.add(e.toString());
            }
        });
        sender.start();
        int queues = QUEUES * scene.brokers().size();
        List<Object> stages = new ArrayList<>();
        Map<String, DefaultMQPushConsumer> members = new LinkedHashMap<>();
        for (String change : List.of("+one", "+two", "+three", "-one", "-three", "+four", "-two")) {
            String member = change.substring(1);
            if (change.charAt(0) == '+') {
                members.put(member, join(scene, topic, member, ledger));
            } else {
                members.remove(member).shutdown();
            }
            Scene.until(() -> settled(topic, queues, members));
            stages.add(Map.of("change", change, "queues", queues, "assigned", assigned(topic, members)));
        }
        stop.set(true);
        sender.join();
        Scene.until(() -> ledger.distinct() >= sent.size());
        saw.put("failures", failures);
        saw.put("stages", stages);
        saw.put("sent", sent);
        saw.put("received", ledger.list());
        saw.put("diffAtEnd", OffsetScenarios.drained(scene, scene.name("rebalance"), topic));
    }

    private static DefaultMQPushConsumer join(Scene scene, String topic, String member, Seen.Ledger ledger) throws Exception {
        DefaultMQPushConsumer consumer = scene.consumer(scene.name("rebalance"), "rebalance-" + member);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(PushScenarios.into(ledger));
        consumer.start();
        return consumer;
    }

    private static Map<String, List<String>> assigned(String topic, Map<String, DefaultMQPushConsumer> members) {
        Map<String, List<String>> assigned = new TreeMap<>();
        members.forEach((member, consumer) -> assigned.put(member,
            consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
                .filter(queue -> queue.getTopic().equals(topic)).map(Seen::queue).sorted().toList()));
        return assigned;
    }

    /** Whether every queue has one owner and no member waits for its share. */
    static boolean settled(String topic, int queues, Map<String, DefaultMQPushConsumer> members) {
        Map<String, List<String>> assigned = assigned(topic, members);
        long owned = assigned.values().stream().mapToLong(List::size).sum();
        long distinct = assigned.values().stream().flatMap(List::stream).distinct().count();
        int share = queues / members.size();
        return owned == queues && distinct == queues && assigned.values().stream().allMatch(list -> list.size() >= share);
    }
}
