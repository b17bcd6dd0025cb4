package tailfin;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.srvutil.ServerUtil;
import org.apache.rocketmq.tools.command.MQAdminStartup;
import org.apache.rocketmq.tools.command.SubCommand;

/**
 * Runs official mqadmin commands in one virtual machine. Each line of standard input is a command, its words parted by
 * tabs: a number of its own, the text that ends a command which would go on for ever, and what mqadmin is given. Each
 * answer is one JSON line with the number and what the command printed. {@code @live} starts a producer and a consumer
 * to look at.
 */
public final class MqAdminRunner {
    private static final long LIMIT_MS = 60_000;
    /** A command names its client after the millisecond of its start, and no two may have one name. */
    private static final long BETWEEN_STARTS_MS = 40;
    /** What one prints whose name is taken all the same; it has done nothing then and can be run again. */
    private static final String NAME_IS_TAKEN = "has created already, specified another name please";
    private static final int TRIES = 5;
    private static final InheritableThreadLocal<ByteArrayOutputStream> PRINTED = new InheritableThreadLocal<>();

    private MqAdminRunner() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8);
        PrintStream routed = new PrintStream(new Routed(System.err), true, StandardCharsets.UTF_8);
        System.setOut(routed);
        System.setErr(routed);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t", -1);
            if (words.length > 2 && words[2].equals("@live")) {
                answers.println(Json.text(live(words)));
            } else {
                new Thread(() -> answers.println(Json.text(run(words)))).start();
                Thread.sleep(BETWEEN_STARTS_MS);
            }
        }
        System.exit(0);
    }

    private static Map<String, Object> run(String[] words) {
        Map<String, Object> answer = runOnce(words);
        for (int tries = 1; tries < TRIES && ((String) answer.get("output")).contains(NAME_IS_TAKEN); tries++) {
            answer = runOnce(words);
        }
        return answer;
    }

    private static Map<String, Object> runOnce(String[] words) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        Thread command = new Thread(() -> {
            PRINTED.set(printed);
            execute(Arrays.copyOfRange(words, 2, words.length));
        });
        command.start();
        boolean ended = false;
        try {
            ended = await(command, words[1], printed);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        String output = printed.toString(StandardCharsets.UTF_8);
        command.interrupt();
        return Map.of("number", words[0], "output", output, "ended", ended);
    }

    private static boolean await(Thread command, String until, ByteArrayOutputStream printed) throws InterruptedException {
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (command.isAlive() && System.currentTimeMillis() < deadline) {
            command.join(20);
            if (!until.isEmpty() && printed.toString(StandardCharsets.UTF_8).contains(until)) {
                break;
            }
        }
        return !command.isAlive();
    }

    /** What mqadmin's own main does, with command objects that no other command has used. */
    private static void execute(String[] words) {
        if (words.length == 0) {
            MQAdminStartup.main(words);
            return;
        }
        try {
            SubCommand command = Commands.fresh(words[0]);
            Options options = command.buildCommandlineOptions(ServerUtil.buildCommandlineOptions(new Options()));
            String[] arguments = Arrays.copyOfRange(words, 1, words.length);
            CommandLine line = ServerUtil.parseCmdLine("mqadmin " + words[0], arguments, options, new DefaultParser());
            if (line.hasOption('n')) {
                System.setProperty(MixAll.NAMESRV_ADDR_PROPERTY, line.getOptionValue('n'));
            }
            command.execute(line, options, null);
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    /** Words: a namesrv, a prefix for topic and groups, a number of messages. Returns the sends' results. */
    private static Map<String, Object> live(String[] words) throws Exception {
        Scene scene = new Scene(words[3], words[4]);
        int count = Integer.parseInt(words[5]);
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
        seen.put("number", words[0]);
        seen.put("topic", topic);
        seen.put("group", scene.name("group"));
        seen.put("producers", scene.name("producers"));
        seen.put("clientId", consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId());
        seen.put("results", results);
        return seen;
    }

    /** mqadmin's list of commands, which only its kin may see. */
    private static final class Commands extends MQAdminStartup {
        static synchronized SubCommand fresh(String name) {
            SUB_COMMANDS.clear();
            initCommand();
            return SUB_COMMANDS.stream().filter(command -> command.commandName().equalsIgnoreCase(name)).findFirst().orElseThrow();
        }
    }

    /** Gives each command, and the threads it starts, its own output. */
    private static final class Routed extends OutputStream {
        private final PrintStream otherwise;

        Routed(PrintStream otherwise) {
            this.otherwise = otherwise;
        }

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int start, int length) {
            ByteArrayOutputStream printed = PRINTED.get();
            if (printed == null) {
                otherwise.write(bytes, start, length);
            } else {
                printed.write(bytes, start, length);
            }
        }
    }
}
