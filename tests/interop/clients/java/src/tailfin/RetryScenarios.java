package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages that a listener does not take at once: again later, or dead in the end. */
final class RetryScenarios {
    private RetryScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("retry", RetryScenarios::retry);
        scenarios.put("retry_level_chosen", RetryScenarios::levelChosen);
        scenarios.put("retry_orderly", RetryScenarios::orderly);
        scenarios.put("retry_broadcast", RetryScenarios::broadcast);
    }

    /** Attempts to consume, in their order, with the time of each. */
    private static final class Attempts {
        private final ConcurrentLinkedQueue<Map<String, Object>> all = new ConcurrentLinkedQueue<>();

        void add(MessageExt message) {
            Map<String, Object> seen = Seen.received(message);
            seen.put("at", System.currentTimeMillis());
            seen.put("offsetId", ((MessageClientExt) message).getOffsetMsgId());
            all.add(seen);
        }

        long of(String keys) {
            return all.stream().filter(seen -> keys.equals(seen.get("keys"))).count();
        }

        List<Map<String, Object>> list() {
            return new ArrayList<>(all);
        }
    }

    /** A consumer that looks each second, and not after half a minute, whether its retry topic is there by now. */
    private static DefaultMQPushConsumer quick(Scene scene, String group, String instance) {
        DefaultMQPushConsumer consumer = scene.consumer(group, instance);
        consumer.setPollNameServerInterval(1_000);
        return consumer;
    }

    private static List<Map<String, Object>> sent(Scene scene, List<Message> messages) throws Exception {
        List<Map<String, Object>> sent = new ArrayList<>();
        for (Message message : messages) {
            SendResult result = scene.producer.send(message);
            Map<String, Object> seen = Seen.sent(message);
            seen.putAll(Seen.result(result));
            sent.add(seen);
        }
        return sent;
    }

    /**
     * Number 0 is put off twice, 1 is answered with null once, 2 with an exception once, 3 is put off for ever, 4 is
     * delayed and put off once, 5 is taken at once.
     */
    private static void retry(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("retry", 2);
        String group = scene.name("retry");
        Attempts attempts = new Attempts();
        DefaultMQPushConsumer consumer = quick(scene, group, "retry");
        consumer.setMaxReconsumeTimes(2);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            attempts.add(message);
            int before = message.getReconsumeTimes();
            return switch (message.getKeys()) {
                case "key-0" -> before < 2 ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                case "key-1" -> before < 1 ? null : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                case "key-2" -> {
                    if (before < 1) {
                        throw new IllegalStateException("of the scenario");
                    }
                    yield ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                }
                case "key-3" -> ConsumeConcurrentlyStatus.RECONSUME_LATER;
                case "key-4" -> before < 1 ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                default -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            };
        });
        consumer.start();
        List<Message> messages = Scene.messages(topic, 0, 6);
        messages.get(4).setDelayTimeLevel(1);
        saw.put("sent", sent(scene, messages));
        Scene.until(() -> attempts.of("key-0") >= 3 && attempts.of("key-1") >= 2 && attempts.of("key-2") >= 2
            && attempts.of("key-3") >= 3 && attempts.of("key-4") >= 2 && attempts.of("key-5") >= 1);
        Scene.until(() -> scene.routed("%DLQ%" + group) > 0);
        saw.put("dead", Seen.received(scene.read("%DLQ%" + group, 1)));
        saw.put("retried", Seen.received(scene.read("%RETRY%" + group, 7)));
        saw.put("attempts", attempts.list());
        saw.put("deadQueues", queues(scene, "%DLQ%" + group));
        saw.put("retryQueues", queues(scene, "%RETRY%" + group));
    }

    private static List<Object> queues(Scene scene, String topic) throws Exception {
        List<Object> found = new ArrayList<>();
        scene.admin.examineTopicRouteInfo(topic).getQueueDatas().forEach(queue ->
            found.add(List.of(queue.getReadQueueNums(), queue.getWriteQueueNums(), queue.getPerm())));
        return found;
    }

    /** A listener that says when to come again, and one that gives a message up at once. */
    private static void levelChosen(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("level-chosen", 1);
        String group = scene.name("level-chosen");
        Attempts attempts = new Attempts();
        DefaultMQPushConsumer consumer = quick(scene, group, "level-chosen");
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            attempts.add(message);
            if (message.getReconsumeTimes() > 0) {
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            }
            context.setDelayLevelWhenNextConsume(message.getKeys().equals("key-0") ? 2 : -1);
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.start();
        saw.put("sent", sent(scene, Scene.messages(topic, 0, 2)));
        Scene.until(() -> attempts.of("key-0") >= 2);
        Scene.until(() -> scene.routed("%DLQ%" + group) > 0);
        saw.put("attempts", attempts.list());
        saw.put("dead", Seen.received(scene.read("%DLQ%" + group, 1)));
    }

    /** In order a message is tried again on the spot; one that never succeeds is dead, and the rest goes on. */
    private static void orderly(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("retry-orderly", 1);
        String group = scene.name("retry-orderly");
        Attempts attempts = new Attempts();
        DefaultMQPushConsumer consumer = quick(scene, group, "retry-orderly");
        consumer.setMaxReconsumeTimes(2);
        consumer.setSuspendCurrentQueueTimeMillis(50);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            MessageExt message = messages.get(0);
            attempts.add(message);
            return message.getKeys().equals("key-2") ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
                : ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        saw.put("sent", sent(scene, Scene.messages(topic, 0, 5)));
        Scene.until(() -> attempts.of("key-4") >= 1);
        Scene.until(() -> scene.routed("%DLQ%" + group) > 0);
        saw.put("attempts", attempts.list());
        saw.put("dead", Seen.received(scene.read("%DLQ%" + group, 1)));
    }

    /** A broadcast member that fails is not given the message again. */
    private static void broadcast(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("retry-broadcast", 1);
        String group = scene.name("retry-broadcast");
        Attempts attempts = new Attempts();
        DefaultMQPushConsumer consumer = quick(scene, group, "retry-broadcast");
        consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), "BROADCASTING"));
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(attempts::add);
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.start();
        saw.put("sent", sent(scene, Scene.messages(topic, 0, 3)));
        Scene.until(() -> attempts.of("key-2") >= 1);
        // Time enough for a message that came again after all: the first retry waits a second.
        long started = System.currentTimeMillis();
        Scene.until(() -> System.currentTimeMillis() > started + 1500 || attempts.list().size() > 3);
        saw.put("attempts", attempts.list());
        Map<String, Object> groups = new TreeMap<>();
        scene.admin.queryTopicConsumeByWho(topic).getGroupList().forEach(name -> groups.put(name, true));
        saw.put("consumedBy", new LinkedHashMap<>(groups).keySet());
    }
}
