package tailfin;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.message.MessageExt;

/** Push consumers: concurrent, orderly, broadcasting, filtered by tag. */
final class PushScenarios {
    private PushScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("push_concurrent", PushScenarios::concurrent);
        scenarios.put("push_orderly", PushScenarios::orderly);
        scenarios.put("push_orderly_suspended", PushScenarios::suspended);
        scenarios.put("push_broadcast", PushScenarios::broadcast);
        scenarios.put("push_tags", PushScenarios::tags);
    }

    static MessageListenerConcurrently into(Seen.Ledger ledger) {
        return (messages, context) -> {
            ledger.add(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        };
    }

    private static void concurrent(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("concurrent", 4);
        List<Map<String, Object>> sent = scene.fill(topic, 0, 100);
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = scene.consumer(scene.name("concurrent"), "concurrent");
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(into(ledger));
        consumer.start();
        Scene.until(() -> ledger.distinct() >= 100);
        // These find a consumer that waits in a long poll.
        sent.addAll(scene.fill(topic, 100, 100));
        Scene.until(() -> ledger.distinct() >= 200);
        saw.put("sent", sent);
        saw.put("received", ledger.list());
    }

    private static void orderly(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("orderly", 4);
        List<Map<String, Object>> sent = scene.fill(topic, 0, 100);
        Map<String, Seen.Ledger> ledgers = new LinkedHashMap<>();
        Map<String, DefaultMQPushConsumer> members = new LinkedHashMap<>();
        Map<String, Integer> busy = new ConcurrentHashMap<>();
        Set<String> overlaps = ConcurrentHashMap.newKeySet();
        for (String member : List.of("one", "two")) {
            Seen.Ledger ledger = ledgers.computeIfAbsent(member, m -> new Seen.Ledger());
            DefaultMQPushConsumer consumer = scene.consumer(scene.name("orderly"), "orderly-" + member);
            consumer.subscribe(topic, "*");
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                String queue = Seen.queue(context.getMessageQueue());
                if (busy.merge(queue, 1, Integer::sum) > 1) {
                    overlaps.add(queue);
                }
                ledger.add(messages);
                busy.merge(queue, -1, Integer::sum);
                return ConsumeOrderlyStatus.SUCCESS;
            });
            consumer.start();
            members.put(member, consumer);
        }
        Scene.until(() -> distinct(ledgers) >= 100);
        Scene.until(() -> RebalanceScenarios.settled(topic, 4 * scene.brokers().size(), members));
        sent.addAll(scene.fill(topic, 100, 100));
        Scene.until(() -> distinct(ledgers) >= 200);
        saw.put("sent", sent);
        saw.put("overlaps", overlaps);
        saw.put("members", lists(ledgers));
    }

    /** A listener that refuses each tenth message once: it comes again at once, nothing overtakes it. */
    private static void suspended(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("suspended", 1);
        saw.put("sent", scene.fill(topic, 0, 30));
        Seen.Ledger ledger = new Seen.Ledger();
        List<String> refused = new CopyOnWriteArrayList<>();
        DefaultMQPushConsumer consumer = scene.consumer(scene.name("suspended"), "suspended");
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.setSuspendCurrentQueueTimeMillis(10);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            MessageExt message = messages.get(0);
            String place = Seen.queue(context.getMessageQueue()) + "/" + message.getQueueOffset();
            if (message.getQueueOffset() % 10 == 5 && !refused.contains(place)) {
                refused.add(place);
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            }
            ledger.add(messages);
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        Scene.until(() -> ledger.distinct() >= 30);
        saw.put("refused", refused);
        saw.put("received", ledger.list());
    }

    private static void broadcast(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("broadcast", 4);
        Map<String, Seen.Ledger> ledgers = new LinkedHashMap<>();
        for (String member : List.of("one", "two")) {
            Seen.Ledger ledger = ledgers.computeIfAbsent(member, m -> new Seen.Ledger());
            DefaultMQPushConsumer consumer = scene.consumer(scene.name("broadcast"), "broadcast-" + member);
            // The type lies in another package in each generation of the client.
            consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), "BROADCASTING"));
            consumer.subscribe(topic, "*");
            consumer.registerMessageListener(into(ledger));
            consumer.start();
        }
        saw.put("sent", scene.fill(topic, 0, 60));
        Scene.until(() -> ledgers.values().stream().allMatch(ledger -> ledger.distinct() >= 60));
        saw.put("members", lists(ledgers));
    }

    private static void tags(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("tags", 4);
        saw.put("sent", scene.fill(topic, 0, 60));
        Map<String, Seen.Ledger> ledgers = new LinkedHashMap<>();
        Map<String, String> groups = Map.of("one", "A", "several", "A || C", "none", "Z || Y", "all", "*");
        for (Map.Entry<String, String> group : groups.entrySet()) {
            Seen.Ledger ledger = ledgers.computeIfAbsent(group.getKey(), g -> new Seen.Ledger());
            DefaultMQPushConsumer consumer = scene.consumer(scene.name("tags-" + group.getKey()), "tags-" + group.getKey());
            consumer.subscribe(topic, group.getValue());
            consumer.registerMessageListener(into(ledger));
            consumer.start();
        }
        Scene.until(() -> ledgers.get("one").distinct() >= 20 && ledgers.get("several").distinct() >= 40
            && ledgers.get("all").distinct() >= 60);
        // A group that nothing matches moves on all the same.
        saw.put("noneDiff", OffsetScenarios.drained(scene, scene.name("tags-none"), topic));
        saw.put("members", lists(ledgers));
    }

    static long distinct(Map<String, Seen.Ledger> ledgers) {
        Seen.Ledger all = new Seen.Ledger();
        ledgers.values().forEach(ledger -> all.messages.addAll(ledger.messages));
        return all.distinct();
    }

    static Map<String, Object> lists(Map<String, Seen.Ledger> ledgers) {
        Map<String, Object> lists = new LinkedHashMap<>();
        ledgers.forEach((member, ledger) -> lists.put(member, ledger.list()));
        return lists;
    }
}
