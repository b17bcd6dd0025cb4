package tailfin;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** What a puppet can send: numbered messages of many kinds. */
final class PuppetSends {
    private static final int TIMEOUT_MS = 30_000;

    private final Scene scene;
    private int producers;

    PuppetSends(Scene scene) {
        this.scene = scene;
    }

    void send(String kind, String topic, int count, Map<String, Object> saw) throws Exception {
        List<Message> messages = Scene.messages(topic, 0, count);
        List<Map<String, Object>> results = new ArrayList<>();
        switch (kind) {
            case "batch" -> results.add(Seen.result(scene.producer.send(messages)));
            case "sharded" -> {
                for (Message message : messages) {
                    results.add(Seen.result(scene.producer.send(message,
                        (queues, one, key) -> queues.get((Integer) key % queues.size()), message.getFlag() % 3)));
                }
            }
            case "delayed" -> {
                for (Message message : messages) {
                    message.setDelayTimeLevel(1);
                    results.add(Seen.result(scene.producer.send(message)));
                }
            }
            case "transaction" -> inTransactions(messages, results);
            case "plain" -> {
                for (Message message : messages) {
                    results.add(Seen.result(scene.producer.send(message)));
                }
            }
            default -> compressed(kind, messages, results);
        }
        saw.put("sent", messages.stream().map(Seen::sent).toList());
        saw.put("results", results);
    }

    String request(String topic, String question) throws Exception {
        DefaultMQProducer asker = prepare(new DefaultMQProducer(name()));
        Message request = new Message(topic, "T", question, question.getBytes(StandardCharsets.UTF_8));
        try {
            return new String(asker.request(request, 20_000).getBody(), StandardCharsets.UTF_8);
        } finally {
            asker.shutdown();
        }
    }

    /** Bodies that compress well, by a method's name. Clients of version 4 know ZLIB only. */
    private void compressed(String method, List<Message> messages, List<Map<String, Object>> results) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(name());
        if (!method.equals("ZLIB")) {
            Class<?> type = Class.forName("org.apache.rocketmq.common.compression.CompressionType");
            DefaultMQProducer.class.getMethod("setCompressType", type).invoke(producer, type.getMethod("of", String.class).invoke(null, method));
        }
        prepare(producer);
        for (Message message : messages) {
            message.setBody("a body that compresses well; ".repeat(500 + message.getFlag()).getBytes(StandardCharsets.UTF_8));
            results.add(Seen.result(producer.send(message)));
        }
        producer.shutdown();
    }

    /** The first of three is committed, the second rolled back, the third committed when the broker asks. */
    private void inTransactions(List<Message> messages, List<Map<String, Object>> results) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(name());
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object ignored) {
                return switch (message.getFlag() % 3) {
                    case 0 -> LocalTransactionState.COMMIT_MESSAGE;
                    case 1 -> LocalTransactionState.ROLLBACK_MESSAGE;
                    default -> LocalTransactionState.UNKNOW;
                };
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        prepare(producer);
        // It stays: brokers ask it later.
        for (Message message : messages) {
            results.add(Seen.result(producer.sendMessageInTransaction(message, null)));
        }
    }

    private String name() {
        return scene.name("producer-" + ++producers);
    }

    private <P extends DefaultMQProducer> P prepare(P producer) throws Exception {
        producer.setNamesrvAddr(scene.namesrv);
        producer.setInstanceName(producer.getProducerGroup());
        producer.setSendMsgTimeout(TIMEOUT_MS);
        producer.setHeartbeatBrokerInterval(1_000);
        producer.start();
        return producer;
    }
}
