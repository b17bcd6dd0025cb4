package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Consumers that filter by properties: push, pull and lite ones, and what they are told of a wrong expression. */
@SuppressWarnings("deprecation") // the old pull consumer is one of the clients in use
final class FilterScenarios {
    /** What each group wants, by its name. */
    private static final Map<String, String> WANTED = Map.of(
        "between", "n BETWEEN 10 AND 29",
        "mixed", "n >= 70 AND (TAGS = 'A' OR color ENDSWITH '5') OR color IN ('red-1', 'red-2') AND missing IS NULL",
        "texts", "even = TRUE AND color NOT CONTAINS '1'",
        "none", "n > 1000",
        "unreadable", "color > 5");

    private FilterScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("sql_push", (scene, saw) -> push(scene, saw, "sql-push", false));
        scenarios.put("sql_push_posted", (scene, saw) -> push(scene, saw, "sql-posted", true));
        scenarios.put("sql_pull", FilterScenarios::pull);
        scenarios.put("sql_lite", FilterScenarios::lite);
        scenarios.put("sql_retry", FilterScenarios::retry);
        scenarios.put("sql_wrong", FilterScenarios::wrong);
    }

    /** A consumer that learns soon of its retry topic. */
    private static DefaultMQPushConsumer consumer(Scene scene, String group) {
        DefaultMQPushConsumer consumer = scene.consumer(scene.name(group), group);
        consumer.setPollNameServerInterval(1_000);
        return consumer;
    }

    private static Map<String, Object> send(Scene scene, String topic, int number, MessageQueue queue) throws Exception {
        Message message = Scene.message(topic, number);
        message.putUserProperty("n", Integer.toString(number));
        message.putUserProperty("even", number % 2 == 0 ? "true" : "false");
        scene.producer.send(message, queue);
        Map<String, Object> sent = Seen.sent(message);
        sent.put("n", number);
        return sent;
    }

    private static List<Map<String, Object>> fill(Scene scene, String topic, int from, int to) throws Exception {
        List<MessageQueue> queues = new ArrayList<>(scene.producer.fetchPublishMessageQueues(topic));
        queues.sort(null);
        List<Map<String, Object>> sent = new ArrayList<>();
        for (int number = from; number < to; number++) {
            sent.add(send(scene, topic, number, queues.get(number % queues.size())));
        }
        return sent;
    }

    /** Groups with different filters; with {@code posted} each pull brings its expression along. */
    private static void push(Scene scene, Map<String, Object> saw, String word, boolean posted) throws Exception {
        String topic = scene.topic(word, 4);
        List<Map<String, Object>> sent = fill(scene, topic, 0, 60);
        Map<String, Seen.Ledger> ledgers = new LinkedHashMap<>();
        for (Map.Entry<String, String> wanted : WANTED.entrySet()) {
            Seen.Ledger ledger = ledgers.computeIfAbsent(wanted.getKey(), group -> new Seen.Ledger());
            String group = word + "-" + wanted.getKey();
            DefaultMQPushConsumer consumer = consumer(scene, group);
            consumer.setPostSubscriptionWhenPull(posted);
            consumer.subscribe(topic, MessageSelector.bySql(wanted.getValue()));
            consumer.registerMessageListener(PushScenarios.into(ledger));
            consumer.start();
        }
        Scene.until(() -> ledgers.get("between").distinct() >= 20 && ledgers.get("texts").distinct() >= 25);
        // These find consumers that wait in a long poll.
        sent.addAll(fill(scene, topic, 60, 100));
        Scene.until(() -> ledgers.get("mixed").distinct() >= 14 && ledgers.get("texts").distinct() >= 45);
        saw.put("noneDiff", OffsetScenarios.drained(scene, scene.name(word + "-none"), topic));
        saw.put("sent", sent);
        saw.put("members", PushScenarios.lists(ledgers));
    }

    private static void pull(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("sql-pull", 1);
        MessageQueue queue = scene.reader().fetchSubscribeMessageQueues(topic).iterator().next();
        List<Object> sent = new ArrayList<>();
        for (int number = 0; number < 40; number++) {
            sent.add(send(scene, topic, number, queue));
        }
        saw.put("sent", sent);
        Scene.until(() -> PullScenarios.ends(scene, queue, 40));
        Scene.until(() -> knowsSql(scene, queue));
        saw.put("some", PullScenarios.described(pulled(scene, queue, "n BETWEEN 10 AND 19", 0)));
        saw.put("fromWithin", PullScenarios.described(pulled(scene, queue, "even = FALSE", 30)));
        saw.put("nothing", PullScenarios.described(pulled(scene, queue, "missing IS NOT NULL", 0)));
    }

    /** Only the answer to a heartbeat tells a client what a broker knows, and only a pull where the broker is. */
    private static boolean knowsSql(Scene scene, MessageQueue queue) {
        try {
            pulled(scene, queue, "n = 0", 0);
            return true;
        } catch (Exception e) {
            scene.reader().getDefaultMQPullConsumerImpl().getRebalanceImpl().getmQClientFactory()
                .sendHeartbeatToAllBrokerWithLock();
            return false;
        }
    }

    private static PullResult pulled(Scene scene, MessageQueue queue, String expression, long offset) throws Exception {
        return scene.reader().pull(queue, MessageSelector.bySql(expression), offset, 32);
    }

    private static void lite(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("sql-lite", 4);
        saw.put("sent", fill(scene, topic, 0, 60));
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(scene.name("sql-lite"));
        consumer.setNamesrvAddr(scene.namesrv);
        consumer.setInstanceName(scene.name("sql-lite"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPullThreadNums(2);
        consumer.subscribe(topic, MessageSelector.bySql("n NOT BETWEEN 10 AND 49"));
        consumer.start();
        List<MessageExt> found = new ArrayList<>();
        Scene.until(() -> found.addAll(consumer.poll(200)) && found.size() >= 20 || found.size() >= 20);
        saw.put("received", Seen.received(found));
        consumer.shutdown();
    }

    /** A message that matched and was handed back comes again, whatever the filter. */
    private static void retry(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("sql-retry", 1);
        saw.put("sent", fill(scene, topic, 0, 10));
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = consumer(scene, "sql-retry");
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.subscribe(topic, MessageSelector.bySql("n >= 8"));
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (messages.get(0).getReconsumeTimes() == 0 && messages.get(0).getUserProperty("n").equals("8")) {
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            ledger.add(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Scene.until(() -> ledger.messages.size() >= 2);
        saw.put("received", ledger.list());
    }

    /** Expressions that the broker refuses, and what it says. */
    private static void wrong(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("sql-wrong", 1);
        Map<String, Object> refused = new LinkedHashMap<>();
        int number = 0;
        for (String expression : List.of("a >", "1", "a BETWEEN 3 AND 1", "a > 'x'", "a = NULL", "a IN ()")) {
            String group = "sql-wrong-" + number++;
            DefaultMQPushConsumer consumer = consumer(scene, group);
            consumer.subscribe(topic, MessageSelector.bySql(expression));
            consumer.registerMessageListener(PushScenarios.into(new Seen.Ledger()));
            try {
                consumer.start();
                refused.put(expression, Map.of("code", 0));
            } catch (MQClientException e) {
                refused.put(expression, Map.of("code", e.getResponseCode(), "remark", String.valueOf(e.getErrorMessage())));
            }
        }
        saw.put("refused", refused);
    }
}
