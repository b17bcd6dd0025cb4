package tailfin;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.MessageExt;

/** The consumers of a puppet. */
final class PuppetConsumers {
    private final Scene scene;
    private final Consumer<Map<String, Object>> tell;
    private final Map<String, DefaultMQPushConsumer> running = new HashMap<>();

    PuppetConsumers(Scene scene, Consumer<Map<String, Object>> tell) {
        this.scene = scene;
        this.tell = tell;
    }

    /** Starts one that is `orderly`, `concurrent`, `failing` at every message, or `replying` to each. */
    void start(String name, String kind, String group, String topic, String expression) throws Exception {
        DefaultMQPushConsumer consumer = scene.consumer(group, name);
        // The topic with its retries is made with the group.
        consumer.setPollNameServerInterval(1_000);
        if (expression.startsWith("sql:")) {
            consumer.subscribe(topic, MessageSelector.bySql(expression.substring(4)));
        } else {
            consumer.subscribe(topic, expression);
        }
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                messages.forEach(message -> seen(name, message));
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                messages.forEach(message -> seen(name, message));
                if (kind.equals("replying")) {
                    messages.forEach(this::reply);
                }
                return kind.equals("failing") ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        if (kind.equals("failing")) {
            consumer.setMaxReconsumeTimes(1);
        }
        consumer.start();
        running.put(name, consumer);
    }

    void stop(String name) {
        running.remove(name).shutdown();
    }

    List<String> queues(String name, String topic) {
        return running.get(name).getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
            .filter(queue -> queue.getTopic().equals(topic)).map(Seen::queue).sorted().toList();
    }

    private void seen(String name, MessageExt message) {
        Map<String, Object> saw = new LinkedHashMap<>();
        saw.put("consumer", name);
        saw.put("message", Seen.received(message));
        tell.accept(saw);
    }

    private void reply(MessageExt request) {
        try {
            String answer = "re: " + new String(request.getBody(), StandardCharsets.UTF_8);
            scene.producer.send(MessageUtil.createReplyMessage(request, answer.getBytes(StandardCharsets.UTF_8)));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
