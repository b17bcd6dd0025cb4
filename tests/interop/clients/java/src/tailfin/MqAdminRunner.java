package tailfin;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs official mqadmin commands one after the other in one virtual machine. Each line of standard input is a command,
 * its words parted by tabs; each answer is one JSON line with what the command printed. The first word is the text that
 * ends a command which would go on for ever, or nothing. {@code @live} starts a producer and a consumer to look at.
 */
public final class MqAdminRunner {
    private static final long LIMIT_MS = 60_000;
    private static Scene scene;

    private MqAdminRunner() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t", -1);
            Object answer = words.length > 1 && words[1].equals("@live") ? live(words) : run(words);
            answers.println(Json.text(answer));
        }
        System.exit(0);
    }

    private static Map<String, Object> run(String[] words) throws Exception {
        ByteArrayOutputStream captured = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(captured, true, StandardCharsets.UTF_8);
        System.setOut(stream);
        System.setErr(stream);
        Thread command = new Thread(() -> MQAdminStartup.main(Arrays.copyOfRange(words, 1, words.length)));
        command.start();
        String until = words[0];
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (command.isAlive() && System.currentTimeMillis() < deadline) {
            command.join(20);
            if (!until.isEmpty() && captured.toString(StandardCharsets.UTF_8).contains(until)) {
                break;
            }
        }
        boolean ended = !command.isAlive();
        String output = captured.toString(StandardCharsets.UTF_8);
        command.interrupt();
        command.join(5_000);
        return Map.of("output", output, "ended", ended);
    }

    /** Words: a namesrv, a prefix for topic and groups, a number of messages. Returns the sends' results. */
    private static Map<String, Object> live(String[] words) throws Exception {
        scene = new Scene(words[2], words[3]);
        int count = Integer.parseInt(words[4]);
        String topic = scene.topic("live", 4);
        Seen.Ledger ledger = new Seen.Ledger();
        DefaultMQPushConsumer consumer = scene.consumer(scene.name("group"), "consumer");
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(PushScenarios.into(ledger));
        consumer.start();
        List<Object> results = new ArrayList<>();
        for (Message message : Scene.messages(topic, 0, count)) {
            results.add(Seen.result(scene.producer.send(message)));
        }
        Scene.until(() -> ledger.distinct() >= count);
        OffsetScenarios.drained(scene, scene.name("group"), topic);
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("topic", topic);
        seen.put("group", scene.name("group"));
        seen.put("producers", scene.name("producers"));
        seen.put("clientId", consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId());
        seen.put("results", results);
        return seen;
    }
}
