package tailfin;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Sends and consumes as it is told, until its input ends: the partner of another client in that client's tests.
 * It is told by lines of words with tabs between them, the first a number; it answers each with a JSON line that has
 * that number. What its consumers receive it tells as it comes. Usage: NAMESRV PREFIX
 */
public final class Puppet {
    private Puppet() {
    }

    public static void main(String[] args) throws Exception {
        // Libraries print to standard output as they like: keep it for the lines.
        PrintStream lines = new PrintStream(new FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Scene scene = new Scene(args[0], args[1])) {
            PuppetSends sends = new PuppetSends(scene);
            PuppetConsumers consumers = new PuppetConsumers(scene, saw -> lines.println(Json.text(saw)));
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                String[] words = order.split("\t", -1);
                Map<String, Object> saw = new LinkedHashMap<>();
                saw.put("order", Integer.parseInt(words[0]));
                try {
                    obey(words, sends, consumers, saw);
                } catch (Throwable e) {
                    StringWriter trace = new StringWriter();
                    e.printStackTrace(new PrintWriter(trace));
                    saw.put("error", trace.toString());
                }
                lines.println(Json.text(saw));
            }
        }
        System.exit(0);
    }

    private static void obey(String[] words, PuppetSends sends, PuppetConsumers consumers, Map<String, Object> saw) throws Exception {
        switch (words[1]) {
            case "send" -> sends.send(words[2], words[3], Integer.parseInt(words[4]), saw);
            case "request" -> saw.put("answer", sends.request(words[2], words[3]));
            case "consume" -> consumers.start(words[2], words[3], words[4], words[5], words[6]);
            case "stop" -> consumers.stop(words[2]);
            case "queues" -> saw.put("queues", consumers.queues(words[2], words[3]));
            default -> throw new IllegalArgumentException("no such order: " + words[1]);
        }
    }
}
