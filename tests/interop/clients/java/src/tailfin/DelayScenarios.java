package tailfin;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageQueue;

/** Messages that wait: by delay level, until a moment, and taken back before it. */
final class DelayScenarios {
    /** Levels asked for; the last is beyond the highest there is. */
    private static final int[] LEVELS = {1, 2, 1, 2, 99};
    private static final long DAY_S = 86_400;

    private DelayScenarios() {
    }

    static void addTo(Map<String, ClientScenarios.Scenario> scenarios) {
        scenarios.put("delay_levels", DelayScenarios::levels);
        scenarios.put("delay_timers", DelayScenarios::timers);
        scenarios.put("delay_refused", DelayScenarios::refused);
        scenarios.put("delay_recall", DelayScenarios::recall);
    }

    private static void levels(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("levels", 2);
        List<Object> sent = new ArrayList<>();
        for (int number = 0; number < LEVELS.length; number++) {
            Message message = Scene.message(topic, number);
            message.setDelayTimeLevel(LEVELS[number]);
            Map<String, Object> one = sent(scene, message, number % 2);
            one.put("level", LEVELS[number]);
            sent.add(one);
        }
        saw.put("sent", sent);
        saw.put("received", Seen.received(scene.read(topic, LEVELS.length)));
    }

    private static void timers(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("timers", 2);
        List<Object> sent = new ArrayList<>();
        long moment = System.currentTimeMillis() + 2_300;
        String[][] asked = {
            {"TIMER_DELAY_SEC", "2"},
            {"TIMER_DELAY_MS", "1500"},
            {"TIMER_DELIVER_MS", Long.toString(moment)},
            {"TIMER_DELIVER_MS", Long.toString(moment / 1000 * 1000 + 2000)},
            {"TIMER_DELIVER_MS", Long.toString(moment - 60_000)},
        };
        for (int number = 0; number < asked.length; number++) {
            Message message = Scene.message(topic, number);
            MessageAccessor.putProperty(message, asked[number][0], asked[number][1]);
            Map<String, Object> one = sent(scene, message, number % 2);
            one.put("ask", asked[number][0]);
            one.put("asked", Long.parseLong(asked[number][1]));
            sent.add(one);
        }
        saw.put("sent", sent);
        saw.put("received", Seen.received(scene.read(topic, asked.length)));
    }

    private static void refused(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("refusedtimers", 1);
        Map<String, Object> codes = new LinkedHashMap<>();
        String[][] asked = {
            {"tooFar", "TIMER_DELAY_SEC", Long.toString(3 * DAY_S + 60)},
            {"noNumber", "TIMER_DELAY_MS", "soon"},
        };
        for (String[] one : asked) {
            Message message = Scene.message(topic, 0);
            MessageAccessor.putProperty(message, one[1], one[2]);
            codes.put(one[0], codeOf(() -> scene.producer.send(message)));
        }
        saw.put("codes", codes);
    }

    private static void recall(Scene scene, Map<String, Object> saw) throws Exception {
        String topic = scene.topic("recalled", 1);
        List<String> handles = new ArrayList<>();
        List<Object> sent = new ArrayList<>();
        long moment = System.currentTimeMillis() + 3_000;
        for (int number = 0; number < 4; number++) {
            Message message = Scene.message(topic, number);
            // The last comes after all others: when it is there, they are, or never will be.
            MessageAccessor.putProperty(message, "TIMER_DELIVER_MS", Long.toString(moment + (number == 3 ? 1_000 : 0)));
            SendResult result = scene.producer.send(message);
            handles.add(handle(result));
            sent.add(Seen.sent(message));
        }
        saw.put("sent", sent);
        saw.put("handles", handles);
        if (handles.get(0) == null) {
            return; // a client that knows nothing of recalls
        }
        saw.put("recalled", recalled(scene, topic, handles.get(1)));
        String other = scene.topic("elsewhere", 1);
        saw.put("elsewhere", codeOf(() -> recalled(scene, other, handles.get(2))));
        saw.put("nonsense", codeOf(() -> recalled(scene, topic, "bm9uc2Vuc2U=")));
        saw.put("received", Seen.received(scene.read(topic, 3)));
    }

    private static Map<String, Object> sent(Scene scene, Message message, int queue) throws Exception {
        String broker = scene.brokers().keySet().iterator().next();
        SendResult result = scene.producer.send(message, new MessageQueue(message.getTopic(), broker, queue));
        Map<String, Object> one = Seen.sent(message);
        one.put("id", result.getMsgId());
        one.put("queue", result.getMessageQueue().getQueueId());
        one.put("status", result.getSendStatus().name());
        one.put("handle", handle(result) != null);
        return one;
    }

    /** The handle of a send, which clients of version 4 do not have. */
    private static String handle(SendResult result) throws Exception {
        try {
            return (String) SendResult.class.getMethod("getRecallHandle").invoke(result);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private static String recalled(Scene scene, String topic, String handle) throws Exception {
        try {
            var method = scene.producer.getClass().getMethod("recallMessage", String.class, String.class);
            return (String) method.invoke(scene.producer, topic, handle);
        } catch (InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }

    interface Call {
        Object run() throws Exception;
    }

    private static Object codeOf(Call call) throws Exception {
        try {
            return "done: " + call.run();
        } catch (MQBrokerException e) {
            return e.getResponseCode();
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }
}
