package tailfin;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** What an operator asks about or of consumers at work, and of stored messages. */
final class OperatorScenarios {
    private OperatorScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("consume_directly", OperatorScenarios::consumeDirectly);
        scenarios.put("running_info", OperatorScenarios::runningInfo);
        scenarios.put("offsets_skip_and_clone", OperatorScenarios::skipAndClone);
        scenarios.put("query_ranges", OperatorScenarios::queryRanges);
    }

    private static String id(DefaultMQPushConsumer consumer) {
        return consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId();
    }

    private static void consumeDirectly(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("directly", 1);
        String group = scene.name("directly");
        AtomicReference<ConsumeConcurrentlyStatus> answer = new AtomicReference<>(ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = scene.consumer(group, "directly");
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            ledger.add(messages);
            return answer.get();
        });
        consumer.start();
        SendResult result = scene.producer.send(Scene.message(topic, 0));
        Scene.until(() -> ledger.messages.size() >= 1);
        var taken = scene.admin.consumeMessageDirectly(group, id(consumer), topic, result.getOffsetMsgId());
        answer.set(ConsumeConcurrentlyStatus.RECONSUME_LATER);
        var putOff = scene.admin.consumeMessageDirectly(group, id(consumer), topic, result.getOffsetMsgId());
        saw.put("results", List.of(taken.getConsumeResult().name(), putOff.getConsumeResult().name()));
        saw.put("received", ledger.list());
        saw.put("id", result.getMsgId());
        try {
            scene.admin.consumeMessageDirectly(group, "nobody", topic, result.getOffsetMsgId());
            saw.put("nobody", "consumed");
        } catch (Exception e) {
            saw.put("nobody", e.getMessage());
        }
    }

    private static void runningInfo(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("running", 2);
        String group = scene.name("running");
        scene.fill(topic, 0, 10);
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = scene.consumer(group, "running");
        consumer.subscribe(topic, "A || B || C");
        consumer.registerMessageListener(PushScenarios.into(ledger));
        consumer.start();
        Scene.until(() -> ledger.distinct() >= 10);
        for (boolean stack : List.of(true, false)) {
            var info = scene.admin.getConsumerRunningInfo(group, id(consumer), stack);
            Map<String, Object> seen = new LinkedHashMap<>();
            seen.put("type", info.getProperties().get("PROP_CONSUME_TYPE"));
            seen.put("subscriptions", new TreeSet<>(info.getSubscriptionSet().stream().map(s -> s.getTopic()).toList()));
            seen.put("queues", info.getMqTable().keySet().stream().filter(q -> q.getTopic().equals(topic)).count());
            seen.put("stack", info.getJstack() == null ? "" : info.getJstack());
            saw.put(stack ? "withStack" : "withoutStack", seen);
        }
        try {
            scene.admin.getConsumerRunningInfo(group, "nobody", false);
            saw.put("nobody", "known");
        } catch (Exception e) {
            saw.put("nobody", e.getMessage());
        }
        saw.put("consumedBy", scene.admin.queryTopicConsumeByWho(topic).getGroupList());
    }

    /** A paused consumer is sent past what has piled up; another group then gets its offsets. */
    private static void skipAndClone(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("skip", 2);
        String group = scene.name("skip");
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = scene.consumer(group, "skip");
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(PushScenarios.into(ledger));
        consumer.start();
        saw.put("before", scene.fill(topic, 0, 10));
        Scene.until(() -> ledger.distinct() >= 10);
        OffsetScenarios.drained(scene, group, topic);
        consumer.suspend();
        // Pulls that were under way may still bring in a few.
        Scene.until(() -> OffsetScenarios.left(scene, group, topic) == 0);
        scene.fill(topic, 10, 20);
        Scene.until(() -> OffsetScenarios.left(scene, group, topic) >= 0);
        Map<String, Object> told = new LinkedHashMap<>();
        scene.admin.resetOffsetByTimestamp(topic, group, -1, true).forEach((queue, offset) -> told.put(Seen.queue(queue), offset));
        saw.put("told", told);
        consumer.resume();
        saw.put("after", scene.fill(topic, 30, 10));
        Scene.until(() -> ledger.messages.stream().filter(m -> Integer.parseInt(m.getKeys().substring(4)) >= 30).count() >= 10);
        saw.put("diffAtEnd", OffsetScenarios.drained(scene, group, topic));
        saw.put("received", ledger.list());
        String clone = scene.name("clone");
        // Asked for a group's offsets, the older tool looks for its retry topic first.
        for (String address : scene.brokers().values()) {
            scene.admin.createAndUpdateTopicConfig(address, new TopicConfig("%RETRY%" + clone, 1, 1, 6));
        }
        Scene.until(() -> scene.routed("%RETRY%" + clone) > 0);
        scene.admin.cloneGroupOffset(group, clone, topic, true);
        saw.put("offsets", offsets(scene, group, topic));
        saw.put("cloned", offsets(scene, clone, topic));
    }

    private static Map<String, Object> offsets(Scene scene, String group, String topic) throws Exception {
        Map<String, Object> offsets = new TreeMap<>();
        scene.admin.examineConsumeStats(group, topic).getOffsetTable().forEach((queue, offset) ->
            offsets.put(Seen.queue(queue), offset.getConsumerOffset()));
        return offsets;
    }

    /** One key on many messages: the time range and the limit decide which are found. */
    private static void queryRanges(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("ranges", 1);
        for (int number = 0; number < 70; number++) {
            if (number == 40) {
                // The index keeps whole seconds: two of them lie between the halves.
                long half = System.currentTimeMillis();
                Scene.until(() -> System.currentTimeMillis() > half + 2_100);
            }
            scene.producer.send(new Message(topic, "T", "common own-" + number, ("number " + number).getBytes()));
        }
        List<MessageExt> stored = scene.read(topic, 70);
        long first = stored.get(0).getStoreTimestamp();
        long fortieth = stored.get(40).getStoreTimestamp();
        Scene.until(() -> found(scene, topic, "own-69", 64, first, Long.MAX_VALUE).size() == 1);
        saw.put("all", found(scene, topic, "common", 100, 0, Long.MAX_VALUE));
        saw.put("five", found(scene, topic, "common", 5, 0, Long.MAX_VALUE));
        saw.put("secondHalf", found(scene, topic, "common", 64, fortieth - 1_000, Long.MAX_VALUE));
        saw.put("firstHalf", found(scene, topic, "common", 64, first - 1_000, fortieth - 1_000));
        saw.put("before", found(scene, topic, "common", 64, 0, first - 10_000));
        saw.put("otherTopic", found(scene, scene.topic("ranges-other", 1), "common", 64, 0, Long.MAX_VALUE));
    }

    private static List<Long> found(Scene scene, String topic, String key, int limit, long begin, long end) {
        try {
            return scene.admin.queryMessage(topic, key, limit, begin, end).getMessageList().stream()
                .map(MessageExt::getQueueOffset).toList();
        } catch (Exception e) {
            return List.of();
        }
    }
}
