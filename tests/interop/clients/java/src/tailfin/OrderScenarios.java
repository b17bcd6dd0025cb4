package tailfin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Order: of a queue while members come and go, of a whole topic, and of the queues of an ordered topic. */
final class OrderScenarios {
    private OrderScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("order_rebalance", OrderScenarios::rebalance);
        scenarios.put("order_global", OrderScenarios::global);
        scenarios.put("order_conf", OrderScenarios::conf);
        scenarios.put("order_steady", OrderScenarios::steady);
    }

    /** What members of a group saw of each queue, in the order in which they saw it. */
    static final class Course {
        private final Map<String, ConcurrentLinkedQueue<Integer>> numbers = new ConcurrentHashMap<>();
        private final Map<String, AtomicInteger> busy = new ConcurrentHashMap<>();
        final Set<String> overlaps = ConcurrentHashMap.newKeySet();
        final Set<String> members = ConcurrentHashMap.newKeySet();

        MessageListenerOrderly of(String member) {
            return (messages, context) -> {
                String queue = Seen.queue(context.getMessageQueue());
                AtomicInteger inside = busy.computeIfAbsent(queue, q -> new AtomicInteger());
                if (inside.incrementAndGet() > 1) {
                    overlaps.add(queue);
                }
                members.add(member);
                for (MessageExt message : messages) {
                    numbers.computeIfAbsent(queue, q -> new ConcurrentLinkedQueue<>()).add(number(message));
                }
                inside.decrementAndGet();
                return ConsumeOrderlyStatus.SUCCESS;
            };
        }

        long distinct() {
            return numbers.values().stream().mapToLong(queue -> queue.stream().distinct().count()).sum();
        }

        void tell(Map<String, Object> saw) {
            Map<String, Object> queues = new LinkedHashMap<>();
            numbers.forEach((queue, seen) -> queues.put(queue, new ArrayList<>(seen)));
            saw.put("queues", queues);
            saw.put("overlaps", overlaps);
            saw.put("members", members);
        }
    }

    private static int number(MessageExt message) {
        return Integer.parseInt(message.getKeys().substring("key-".length()));
    }

    private static DefaultMQPushConsumer member(Scene scene, String topic, String word, String member, Course course)
        throws Exception {
        DefaultMQPushConsumer consumer = scene.consumer(scene.name(word), word + "-" + member);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(course.of(member));
        consumer.start();
        return consumer;
    }

    /** A second member joins and the first one leaves while messages are sent. */
    private static void rebalance(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("order-rebalance", 4);
        Course course = new Course();
        AtomicBoolean enough = new AtomicBoolean();
        AtomicInteger sent = new AtomicInteger();
        List<MessageQueue> queues = new ArrayList<>(scene.producer.fetchPublishMessageQueues(topic));
        queues.sort(null);
        Thread sending = new Thread(() -> {
            try {
                while (!enough.get()) {
                    int number = sent.get();
                    scene.producer.send(Scene.message(topic, number), queues.get(number % queues.size()));
                    sent.incrementAndGet();
                    Thread.sleep(2); // the sender's pace: members come and go while it sends
                }
            } catch (Exception e) {
                saw.put("sendFailed", e.toString());
            }
        });
        sending.start();
        DefaultMQPushConsumer first = member(scene, topic, "order-rebalance", "one", course);
        Scene.until(() -> course.distinct() >= 50);
        member(scene, topic, "order-rebalance", "two", course);
        Scene.until(() -> course.members.size() == 2);
        first.shutdown();
        int then = sent.get();
        Scene.until(() -> course.distinct() >= then);
        enough.set(true);
        sending.join();
        Scene.until(() -> course.distinct() >= sent.get());
        saw.put("sent", sent.get());
        course.tell(saw);
    }

    /** A topic of one queue: the order of the producer is everybody's. */
    private static void global(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("order-global", 1);
        Course course = new Course();
        member(scene, topic, "order-global", "one", course);
        member(scene, topic, "order-global", "two", course);
        for (Message message : Scene.messages(topic, 0, 100)) {
            scene.producer.send(message);
        }
        saw.put("sent", 100);
        Scene.until(() -> course.distinct() >= 100);
        course.tell(saw);
    }

    /** Sends and consumes for a while, whatever happens to the broker meanwhile; what failed is sent again. */
    private static void steady(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("order-steady", 2);
        String broker = scene.brokers().keySet().iterator().next();
        DefaultMQProducer producer = new DefaultMQProducer(scene.name("order-steady"));
        producer.setNamesrvAddr(scene.namesrv);
        producer.setInstanceName(scene.name("order-steady-producer"));
        producer.setPollNameServerInterval(200);
        producer.start();
        Course course = new Course();
        DefaultMQPushConsumer consumer = scene.consumer(scene.name("order-steady"), "order-steady");
        consumer.setPollNameServerInterval(200);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(course.of("one"));
        consumer.start();
        int failures = 0;
        for (int number = 0; number < 300; ) {
            try {
                producer.send(Scene.message(topic, number), new MessageQueue(topic, broker, number % 2));
                number++;
            } catch (Exception e) {
                failures++;
            }
            Thread.sleep(10); // the sender's pace: the broker is killed and comes back while it sends
        }
        producer.shutdown();
        Scene.until(() -> course.distinct() >= 300);
        saw.put("sent", 300);
        saw.put("failures", failures);
        course.tell(saw);
    }

    /** A topic's order configuration at the nameserver says which queues producers see. */
    private static void conf(Scene scene, Map<String, Object> saw) throws Exception {
        Properties properties = new Properties();
        properties.put("orderMessageEnable", "true");
        scene.admin.updateNameServerConfig(properties, List.of(scene.namesrv));
        String topic = scene.topic("order-conf", 4);
        String broker = scene.brokers().keySet().iterator().next();
        scene.admin.createOrUpdateOrderConf(topic, broker + ":2", false);
        Scene.until(() -> order(scene, topic) != null);
        saw.put("order", order(scene, topic));
        saw.put("broker", broker);
        DefaultMQProducer producer = new DefaultMQProducer(scene.name("order-conf"));
        producer.setNamesrvAddr(scene.namesrv);
        producer.setInstanceName(scene.name("order-conf"));
        producer.start();
        saw.put("publishQueues", producer.fetchPublishMessageQueues(topic).stream().map(Seen::queue).sorted().toList());
        producer.shutdown();
    }

    private static String order(Scene scene, String topic) {
        try {
            return scene.admin.examineTopicRouteInfo(topic).getOrderTopicConf();
        } catch (Exception e) {
            return null;
        }
    }
}
