package tailfin;

import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** Where a group begins, and where it goes on. */
final class OffsetScenarios {
    private OffsetScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("offsets_restart", OffsetScenarios::restart);
        scenarios.put("offsets_from_where", OffsetScenarios::fromWhere);
        scenarios.put("offsets_reset_while_consuming", OffsetScenarios::resetOnline);
        scenarios.put("offsets_reset_of_a_stopped_group", OffsetScenarios::resetOffline);
    }

    /** Waits until the broker knows that a group has read all of a topic; returns how much is left. */
    static long drained(Scene scene, String group, String topic) throws Exception {
        Scene.until(() -> left(scene, group, topic) == 0);
        return left(scene, group, topic);
    }

    static long left(Scene scene, String group, String topic) {
        try {
            return scene.admin.examineConsumeStats(group, topic).computeTotalDiff();
        } catch (Exception e) {
            return -1;
        }
    }

    private static DefaultMQPushConsumer started(Scene scene, String word, String instance, String topic, Seen.Ledger ledger)
        throws Exception {
        DefaultMQPushConsumer consumer = scene.consumer(scene.name(word), instance);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(PushScenarios.into(ledger));
        consumer.start();
        return consumer;
    }

    private static void restart(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("restart", 4);
        Seen.Ledger before = new Seen.Ledger();
        Seen.Ledger after = new Seen.Ledger();
        saw.put("sentBefore", scene.fill(topic, 0, 50));
        DefaultMQPushConsumer first = started(scene, "restart", "restart-1", topic, before);
        Scene.until(() -> before.distinct() >= 50);
        first.shutdown();
        saw.put("diffAfterStop", left(scene, scene.name("restart"), topic));
        saw.put("sentAfter", scene.fill(topic, 50, 50));
        Scene.until(() -> left(scene, scene.name("restart"), topic) == 50);
        saw.put("diffBeforeStart", left(scene, scene.name("restart"), topic));
        started(scene, "restart", "restart-2", topic, after);
        Scene.until(() -> after.distinct() >= 50);
        saw.put("diffAtEnd", drained(scene, scene.name("restart"), topic));
        saw.put("before", before.list());
        saw.put("after", after.list());
    }

    /** Three new groups on a topic that has messages from before, between and after two moments. */
    private static void fromWhere(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("from-where", 2);
        saw.put("old", scene.fill(topic, 0, 20));
        // A client gives the moment in whole seconds.
        long second = System.currentTimeMillis() / 1000 + 1;
        Scene.until(() -> System.currentTimeMillis() > second * 1000 + 50);
        saw.put("between", scene.fill(topic, 20, 20));
        Map<String, Seen.Ledger> ledgers = new LinkedHashMap<>();
        for (ConsumeFromWhere where : List.of(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, ConsumeFromWhere.CONSUME_FROM_TIMESTAMP)) {
            String word = where.name().substring("CONSUME_FROM_".length()).toLowerCase();
            Seen.Ledger ledger = ledgers.computeIfAbsent(word, w -> new Seen.Ledger());
            DefaultMQPushConsumer consumer = scene.consumer(scene.name("from-" + word), "from-" + word);
            consumer.setConsumeFromWhere(where);
            consumer.setConsumeTimestamp(new SimpleDateFormat("yyyyMMddHHmmss").format(new Date(second * 1000)));
            consumer.subscribe(topic, "*");
            consumer.registerMessageListener(PushScenarios.into(ledger));
            consumer.start();
        }
        // A topic that still has its first message is read from there, whatever a new group asks for.
        Scene.until(() -> ledgers.values().stream().allMatch(ledger -> ledger.distinct() >= 40));
        saw.put("new", scene.fill(topic, 40, 20));
        for (String word : ledgers.keySet()) {
            saw.put("left_" + word, drained(scene, scene.name("from-" + word), topic));
        }
        saw.put("members", PushScenarios.lists(ledgers));
    }

    private static void resetOnline(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("reset-online", 2);
        Seen.Ledger ledger = new Seen.Ledger();
        saw.put("sent", scene.fill(topic, 0, 20));
        started(scene, "reset-online", "reset-online", topic, ledger);
        Scene.until(() -> ledger.distinct() >= 20);
        drained(scene, scene.name("reset-online"), topic);
        var offsets = scene.admin.resetOffsetByTimestamp(topic, scene.name("reset-online"), 0, true);
        Map<String, Object> told = new LinkedHashMap<>();
        offsets.forEach((queue, offset) -> told.put(Seen.queue(queue), offset));
        saw.put("told", told);
        Scene.until(() -> ledger.messages.size() >= 40);
        saw.put("received", ledger.list());
        saw.put("diffAtEnd", drained(scene, scene.name("reset-online"), topic));
    }

    private static void resetOffline(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("reset-offline", 2);
        Seen.Ledger first = new Seen.Ledger();
        Seen.Ledger second = new Seen.Ledger();
        scene.fill(topic, 0, 20);
        long moment = System.currentTimeMillis() + 5;
        Scene.until(() -> System.currentTimeMillis() > moment + 5);
        saw.put("later", scene.fill(topic, 20, 20));
        String group = scene.name("reset-offline");
        DefaultMQPushConsumer consumer = started(scene, "reset-offline", "reset-offline-1", topic, first);
        Scene.until(() -> first.distinct() >= 40);
        consumer.shutdown();
        saw.put("old", scene.admin.resetOffsetByTimestampOld(group, topic, moment, true).stream()
            .map(s -> List.of(s.getBrokerName() + "/" + s.getQueueId(), s.getBrokerOffset(), s.getRollbackOffset())).toList());
        saw.put("diffAfterReset", left(scene, group, topic));
        started(scene, "reset-offline", "reset-offline-2", topic, second);
        Scene.until(() -> second.distinct() >= 20);
        saw.put("diffAtEnd", drained(scene, group, topic));
        saw.put("received", second.list());
    }
}
