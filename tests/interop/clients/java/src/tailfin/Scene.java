package tailfin;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What all scenarios share: one producer, one admin, one reader, and names that no other run uses. */
@SuppressWarnings("deprecation") // the old pull consumer is one of the clients in use
final class Scene implements AutoCloseable {
    static final int WAIT_S = 60;

    final String namesrv;
    final String prefix;
    final DefaultMQProducer producer;
    /** Patient: a server under a flood of other requests may take seconds for an operator's. */
    final DefaultMQAdminExt admin = new DefaultMQAdminExt(20_000);
    private final DefaultMQPullConsumer reader;
    private final Map<String, String> brokers = new TreeMap<>();
    private final Collection<DefaultMQPushConsumer> consumers = ConcurrentHashMap.newKeySet();

    Scene(String namesrv, String prefix) throws Exception {
        this.namesrv = namesrv;
        this.prefix = prefix;
        producer = new DefaultMQProducer(name("producers"));
        reader = new DefaultMQPullConsumer(name("readers"));
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName(name("producer"));
        producer.setSendMsgTimeout(10_000);
        producer.setMaxMessageSize(32 << 20);
        producer.start();
        admin.setNamesrvAddr(namesrv);
        admin.setInstanceName(name("admin"));
        admin.start();
        reader.setNamesrvAddr(namesrv);
        reader.setInstanceName(name("reader"));
        reader.start();
        var cluster = admin.examineBrokerClusterInfo();
        cluster.getBrokerAddrTable().forEach((name, data) -> brokers.put(name, data.selectBrokerAddr()));
    }

    /** Master addresses by broker name. */
    Map<String, String> brokers() {
        return brokers;
    }

    String name(String word) {
        return prefix + "_" + word;
    }

    /** Makes a topic with so many queues on every broker, and waits until its route is known. */
    String topic(String word, int queues) throws Exception {
        return topic(word, queues, 6);
    }

    String topic(String word, int queues, int perm) throws Exception {
        String topic = name(word);
        for (String address : brokers.values()) {
            admin.createAndUpdateTopicConfig(address, new TopicConfig(topic, queues, queues, perm));
        }
        until(() -> routed(topic) == brokers.size());
        return topic;
    }

    int routed(String topic) {
        try {
            return admin.examineTopicRouteInfo(topic).getQueueDatas().size();
        } catch (Exception e) {
            return 0;
        }
    }

    /** A message with everything that a client can give it; its body says its topic and number. */
    static Message message(String topic, int number) {
        byte[] body = (topic + " #" + number + " \u00e9\u4e2d\ud83d\udc1f").getBytes(StandardCharsets.UTF_8);
        Message message = new Message(topic, "ABC".substring(number % 3, number % 3 + 1), "key-" + number, body);
        message.putUserProperty("color", "red-" + number);
        message.setFlag(number);
        return message;
    }

    static List<Message> messages(String topic, int from, int count) {
        List<Message> messages = new ArrayList<>();
        for (int number = from; number < from + count; number++) {
            messages.add(message(topic, number));
        }
        return messages;
    }

    /** Sends messages evenly over all queues of a topic and returns what was sent. */
    List<Map<String, Object>> fill(String topic, int from, int count) throws Exception {
        List<MessageQueue> queues = new ArrayList<>(producer.fetchPublishMessageQueues(topic));
        queues.sort(null);
        List<Map<String, Object>> sent = new ArrayList<>();
        for (Message message : messages(topic, from, count)) {
            producer.send(message, queues.get(sent.size() % queues.size()));
            sent.add(Seen.sent(message));
        }
        return sent;
    }

    DefaultMQPushConsumer consumer(String group, String instance) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(name(instance));
        consumer.setPersistConsumerOffsetInterval(500);
        // A first heartbeat that finds another one under way is left out, and the next would come in half a minute.
        consumer.setHeartbeatBrokerInterval(1_000);
        // What the listener has just seen is committed too.
        consumer.setAwaitTerminationMillisWhenShutdown(5_000);
        consumer.setConsumeThreadMin(2);
        consumer.setConsumeThreadMax(2);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumers.add(consumer);
        return consumer;
    }

    /** Reads a topic from its first to its last message, until so many were found or time is up. */
    List<MessageExt> read(String topic, int count) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        Map<MessageQueue, Long> next = new TreeMap<>();
        for (MessageQueue queue : reader.fetchSubscribeMessageQueues(topic)) {
            next.put(queue, reader.minOffset(queue));
        }
        long deadline = System.nanoTime() + WAIT_S * 1_000_000_000L;
        boolean more = true;
        while (more || found.size() < count && System.nanoTime() < deadline) {
            more = false;
            for (Map.Entry<MessageQueue, Long> entry : next.entrySet()) {
                PullResult result = reader.pull(entry.getKey(), "*", entry.getValue(), 32);
                if (result.getPullStatus() == PullStatus.FOUND) {
                    found.addAll(result.getMsgFoundList());
                    entry.setValue(result.getNextBeginOffset());
                    more = true;
                }
            }
        }
        return found;
    }

    DefaultMQPullConsumer reader() {
        return reader;
    }

    /** Waits for a condition, and says whether it came true. */
    static boolean until(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + WAIT_S * 1_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            Thread.sleep(20);
        }
        return true;
    }

    @Override
    public void close() {
        consumers.forEach(DefaultMQPushConsumer::shutdown);
        producer.shutdown();
        reader.shutdown();
        admin.shutdown();
    }
}
