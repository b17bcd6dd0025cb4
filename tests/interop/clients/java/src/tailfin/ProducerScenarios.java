package tailfin;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Every way to send; each reads the topic back afterwards. */
final class ProducerScenarios {
    private static final int COUNT = 40;

    private ProducerScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("send_sync", ProducerScenarios::sync);
        scenarios.put("send_async", ProducerScenarios::async);
        scenarios.put("send_oneway", ProducerScenarios::oneway);
        scenarios.put("send_batch", ProducerScenarios::batch);
        scenarios.put("send_selector", ProducerScenarios::selector);
        scenarios.put("send_compressed", ProducerScenarios::compressed);
        scenarios.put("send_large", ProducerScenarios::large);
        scenarios.put("send_auto_create", ProducerScenarios::autoCreate);
        scenarios.put("send_refused", ProducerScenarios::refused);
    }

    private static void sync(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("sync", 4);
        List<Object> results = new ArrayList<>();
        List<Object> sent = new ArrayList<>();
        for (Message message : Scene.messages(topic, 0, COUNT)) {
            results.add(Seen.result(scene.producer.send(message)));
            sent.add(Seen.sent(message));
        }
        saw.put("sent", sent);
        saw.put("results", results);
        saw.put("received", Seen.received(scene.read(topic, COUNT)));
    }

    private static void async(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("async", 4);
        ConcurrentLinkedQueue<Object> results = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<Object> failures = new ConcurrentLinkedQueue<>();
        List<Object> sent = new ArrayList<>();
        for (Message message : Scene.messages(topic, 0, COUNT)) {
            scene.producer.send(message, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    results.add(Seen.result(result));
                }

                @Override
                public void onException(Throwable e) {
                    failures.add(e.toString());
                }
            });
            sent.add(Seen.sent(message));
        }
        Scene.until(() -> results.size() + failures.size() == COUNT);
        saw.put("sent", sent);
        saw.put("results", results);
        saw.put("failures", failures);
        saw.put("received", Seen.received(scene.read(topic, COUNT)));
    }

    private static void oneway(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("oneway", 4);
        List<Object> sent = new ArrayList<>();
        for (Message message : Scene.messages(topic, 0, COUNT)) {
            scene.producer.sendOneway(message);
            sent.add(Seen.sent(message));
        }
        saw.put("sent", sent);
        saw.put("received", Seen.received(scene.read(topic, COUNT)));
    }

    private static void batch(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("batch", 4);
        List<Message> messages = Scene.messages(topic, 0, COUNT);
        saw.put("results", List.of(Seen.result(scene.producer.send(messages))));
        saw.put("sent", messages.stream().map(Seen::sent).toList());
        saw.put("received", Seen.received(scene.read(topic, COUNT)));
    }

    private static void selector(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("selector", 4);
        List<Object> results = new ArrayList<>();
        List<Object> sent = new ArrayList<>();
        List<Object> chosen = new ArrayList<>();
        for (Message message : Scene.messages(topic, 0, COUNT)) {
            SendResult result = scene.producer.send(message, (queues, m, shop) -> {
                MessageQueue queue = queues.get((Integer) shop % queues.size());
                chosen.add(Seen.queue(queue));
                return queue;
            }, sent.size() * 7);
            results.add(Seen.result(result));
            sent.add(Seen.sent(message));
        }
        saw.put("sent", sent);
        saw.put("results", results);
        saw.put("chosen", chosen);
        saw.put("received", Seen.received(scene.read(topic, COUNT)));
    }

    private static void compressed(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("compressed", 2);
        byte[] body = "a body that compresses well; ".repeat(2000).getBytes();
        List<Message> messages = List.of(new Message(topic, "T", "k0", body), new Message(topic, "T", "k1", body));
        saw.put("sent", messages.stream().map(Seen::sent).toList());
        saw.put("results", List.of(
            Seen.result(scene.producer.send(messages.get(0))), Seen.result(scene.producer.send(messages.get(1)))));
        saw.put("received", Seen.received(scene.read(topic, 2)));
        saw.put("storeSizes", scene.read(topic, 2).stream().map(m -> m.getStoreSize()).toList());
    }

    private static void large(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("large", 1);
        List<Object> sent = new ArrayList<>();
        List<Object> results = new ArrayList<>();
        for (int size : new int[] {(1 << 20) + 1, 3 << 20}) {
            Message message = new Message(topic, "T", "size-" + size, random(size));
            results.add(Seen.result(scene.producer.send(message)));
            sent.add(Seen.sent(message));
        }
        saw.put("sent", sent);
        saw.put("results", results);
        saw.put("received", Seen.received(scene.read(topic, 2)));
        saw.put("tooLarge", refusal(() -> scene.producer.send(new Message(topic, random(5 << 20)))));
    }

    private static byte[] random(int size) {
        byte[] body = new byte[size];
        new Random(size).nextBytes(body);
        return body;
    }

    private static void autoCreate(Scene scene, Map<String, Object> saw) throws Exception {
        Message message = Scene.message(scene.name("born-by-sending"), 1);
        saw.put("sent", List.of(Seen.sent(message)));
        saw.put("results", List.of(Seen.result(scene.producer.send(message))));
        Scene.until(() -> scene.routed(message.getTopic()) > 0);
        saw.put("received", Seen.received(scene.read(message.getTopic(), 1)));
        var queues = scene.admin.examineTopicRouteInfo(message.getTopic()).getQueueDatas();
        saw.put("queues", queues.stream().map(q -> List.of(q.getReadQueueNums(), q.getWriteQueueNums(), q.getPerm())).toList());
    }

    private static void refused(Scene scene, Map<String, Object> saw) throws Exception {
        String broker = scene.brokers().keySet().iterator().next();
        MessageQueue beyond = new MessageQueue(scene.topic("narrow", 1), broker, 7);
        saw.put("noSuchQueue", refusal(() -> scene.producer.send(Scene.message(beyond.getTopic(), 1), beyond)));
        String word = "x".repeat(300);
        MessageQueue longName = new MessageQueue(word, broker, 0);
        saw.put("longTopic", refusal(() -> scene.producer.send(Scene.message(word, 1), longName)));
        Message heavy = Scene.message(beyond.getTopic(), 1);
        heavy.putUserProperty("heavy", "p".repeat(40_000));
        saw.put("heavyProperties", refusal(() -> scene.producer.send(heavy, new MessageQueue(beyond.getTopic(), broker, 0))));
    }

    interface Sending {
        SendResult send() throws Exception;
    }

    /** The broker's code and words, or what happened instead. */
    static Map<String, Object> refusal(Sending sending) {
        try {
            return Map.of("result", Seen.result(sending.send()));
        } catch (MQBrokerException e) {
            return Map.of("code", e.getResponseCode(), "remark", String.valueOf(e.getErrorMessage()));
        } catch (Exception e) {
            return Map.of("exception", e.toString());
        }
    }
}
