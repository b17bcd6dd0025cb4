package tailfin;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.RequestTimeoutException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Requests and replies, traces, light queues. */
@SuppressWarnings("deprecation") // the old pull consumer is one of the clients in use
final class ExchangeScenarios {
    private static final String REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC";

    private ExchangeScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("request_reply", ExchangeScenarios::requestReply);
        scenarios.put("trace", ExchangeScenarios::trace);
        scenarios.put("light_queues", ExchangeScenarios::lightQueues);
    }

    private static DefaultMQProducer producer(Scene scene, String word, boolean traced, String traceTopic) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(scene.name(word), traced, traceTopic);
        producer.setNamesrvAddr(scene.namesrv);
        producer.setInstanceName(scene.name(word));
        // A first heartbeat that finds another one under way is left out, and the next would come in half a minute.
        producer.setHeartbeatBrokerInterval(1_000);
        producer.start();
        return producer;
    }

    private static void requestReply(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("requests", 2);
        DefaultMQProducer asker = producer(scene, "asker", false, null);
        DefaultMQProducer replier = producer(scene, "replier", false, null);
        ConcurrentLinkedQueue<Map<String, Object>> replies = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<Map<String, Object>> requests = new ConcurrentLinkedQueue<>();
        String nobody = "nobody@" + scene.prefix;
        ConcurrentLinkedQueue<String> refusals = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer server = scene.consumer(scene.name("requests"), "requests");
        server.subscribe(topic, "*");
        server.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt request : messages) {
                requests.add(Seen.received(request));
                try {
                    if (request.getKeys().equals("unanswered")) {
                        continue;
                    }
                    Message reply = MessageUtil.createReplyMessage(request, ("re: " + request.getKeys()).getBytes(StandardCharsets.UTF_8));
                    if (request.getKeys().equals("nobody")) {
                        MessageAccessor.putProperty(reply, "REPLY_TO_CLIENT", nobody);
                    }
                    replies.add(Seen.result(replier.send(reply, 5_000)));
                } catch (Exception e) {
                    refusals.add(e.getMessage());
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        server.start();
        saw.put("askerId", asker.getDefaultMQProducerImpl().getMqClientFactory().getClientId());
        saw.put("answer", answer(ask(asker, topic, "one", refusals)));
        CompletableFuture<Message> later = new CompletableFuture<>();
        asker.request(new Message(topic, "T", "two", "question".getBytes()), new RequestCallback() {
            @Override
            public void onSuccess(Message message) {
                // The client calls once more, without a message, when the request itself is sent.
                if (message != null) {
                    later.complete(message);
                }
            }

            @Override
            public void onException(Throwable e) {
                later.completeExceptionally(e);
            }
        }, 30_000);
        saw.put("asyncAnswer", answer(later.get(30, TimeUnit.SECONDS)));
        for (String hopeless : List.of("unanswered", "nobody")) {
            try {
                asker.request(new Message(topic, "T", hopeless, "question".getBytes()), 1_500);
                saw.put(hopeless, "answered");
            } catch (RequestTimeoutException e) {
                saw.put(hopeless, "timed out");
            }
        }
        Scene.until(() -> !refusals.isEmpty());
        saw.put("nobodyId", nobody);
        saw.put("requests", requests);
        saw.put("results", replies);
        saw.put("refusals", refusals);
        String asked = asker.getDefaultMQProducerImpl().getMqClientFactory().getClientId();
        List<Map<String, Object>> stored = new ArrayList<>();
        for (MessageExt reply : scene.read(REPLY_TOPIC, 3)) {
            String to = reply.getProperty("REPLY_TO_CLIENT");
            if (asked.equals(to) || nobody.equals(to)) {
                stored.add(Seen.received(reply));
            }
        }
        saw.put("stored", stored);
        asker.shutdown();
        replier.shutdown();
    }

    /** Asks until it is answered: a client whose heartbeat was put off cannot be found by the first reply. */
    private static Message ask(DefaultMQProducer asker, String topic, String word, Collection<String> refusals) throws Exception {
        for (int tries = 0; tries < 5; tries++) {
            try {
                return asker.request(new Message(topic, "T", word, "question".getBytes()), 6_000);
            } catch (RequestTimeoutException e) {
                continue;
            }
        }
        throw new IllegalStateException("no answer; the one who replies was told: " + refusals);
    }

    private static Map<String, Object> answer(Message reply) {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("body", new String(reply.getBody(), StandardCharsets.UTF_8));
        seen.put("topic", reply.getTopic());
        seen.put("properties", new TreeMap<>(reply.getProperties()));
        return seen;
    }

    /** A traced message, once with the system's trace topic and once with one of the user's own. */
    private static void trace(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("traced", 1);
        String own = scene.topic("own-traces", 1);
        Map<String, String> traceTopics = Map.of("system", "RMQ_SYS_TRACE_TOPIC", "own", own);
        Map<String, SendResult> results = new LinkedHashMap<>();
        for (String word : traceTopics.keySet()) {
            String traceTopic = word.equals("own") ? own : null;
            DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(scene.name("traced-" + word), true, traceTopic);
            consumer.setNamesrvAddr(scene.namesrv);
            consumer.setInstanceName(scene.name("traced-consumer-" + word));
            consumer.subscribe(topic, word);
            consumer.registerMessageListener(PushScenarios.into(new Seen.Ledger()));
            consumer.start();
            results.put(word, producer(scene, "traced-" + word, true, traceTopic)
                .send(new Message(topic, word, "traced-" + word, "watch me".getBytes())));
        }
        for (Map.Entry<String, SendResult> entry : results.entrySet()) {
            String traceTopic = traceTopics.get(entry.getKey());
            SendResult result = entry.getValue();
            Scene.until(() -> records(scene, traceTopic, result.getMsgId()).size() >= 3);
            Map<String, Object> seen = Seen.result(result);
            seen.put("topic", topic);
            seen.put("group", scene.name("traced-" + entry.getKey()));
            seen.put("records", records(scene, traceTopic, result.getMsgId()));
            long begin = System.currentTimeMillis() - 60_000;
            seen.put("byId", scene.admin.queryMessage(traceTopic, result.getMsgId(), 64, begin, Long.MAX_VALUE)
                .getMessageList().size());
            saw.put(entry.getKey(), seen);
        }
    }

    /** The trace records that tell of a message: each a list of fields. */
    private static List<List<String>> records(Scene scene, String traceTopic, String id) {
        try {
            List<List<String>> records = new ArrayList<>();
            for (MessageExt trace : scene.read(traceTopic, 0)) {
                Stream.of(new String(trace.getBody(), StandardCharsets.UTF_8).split("\u0002"))
                    .map(record -> List.of(record.split("\u0001", -1))).filter(fields -> fields.contains(id)).forEach(records::add);
            }
            return records;
        } catch (Exception e) {
            return List.of();
        }
    }

    /** Messages of one topic that also stand in light queues. */
    private static void lightQueues(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("parent", 2);
        String broker = scene.brokers().keySet().iterator().next();
        String word = scene.prefix.replaceAll("[^a-z0-9]", "");
        List<String> names = List.of("%LMQ%" + word + "a", "%LMQ%" + word + "b");
        List<Map<String, Object>> sent = new ArrayList<>();
        for (int number = 0; number < 9; number++) {
            Message message = Scene.message(topic, number);
            // Every one in the first light queue, each third in the second as well.
            MessageAccessor.putProperty(message, "INNER_MULTI_DISPATCH", number % 3 == 0 ? String.join(",", names) : names.get(0));
            scene.producer.send(message, new MessageQueue(topic, broker, number % 2));
            sent.add(Seen.sent(message));
        }
        saw.put("sent", sent);
        saw.put("inParent", Seen.received(scene.read(topic, 9)));
        for (int light = 0; light < 2; light++) {
            MessageQueue queue = new MessageQueue(names.get(light), broker, 0);
            long expected = light == 0 ? 9 : 3;
            Scene.until(() -> end(scene, queue) >= expected);
            PullResult result = scene.reader().pull(queue, "*", 0, 32);
            Map<String, Object> seen = new LinkedHashMap<>();
            seen.put("status", result.getPullStatus().name());
            seen.put("next", result.getNextBeginOffset());
            seen.put("max", result.getMaxOffset());
            seen.put("found", Seen.received(result.getMsgFoundList()));
            seen.put("end", end(scene, queue));
            saw.put(light == 0 ? "first" : "second", seen);
        }
    }

    private static long end(Scene scene, MessageQueue queue) {
        try {
            return scene.reader().maxOffset(queue);
        } catch (Exception e) {
            return -1;
        }
    }
}
