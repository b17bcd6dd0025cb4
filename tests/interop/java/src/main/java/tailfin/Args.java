package tailfin;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

/** A command line: words, {@code --name value}, switches ({@code --name}), and {@code key=value} store settings. */
final class Args {
    private static final Set<String> SWITCHES = Set.of("hang", "no-uniq", "keep", "halt", "no-messages");

    private final List<String> words = new ArrayList<>();
    private final Map<String, String> options = new HashMap<>();
    final Properties store = new Properties();

    Args(String[] argv) {
        for (int i = 0; i < argv.length; i++) {
            String arg = argv[i];
            if (arg.startsWith("--")) {
                String name = arg.substring(2);
                options.put(name, SWITCHES.contains(name) ? "" : argv[++i]);
            } else if (arg.indexOf('=') > 0) {
                int at = arg.indexOf('=');
                store.setProperty(arg.substring(0, at), arg.substring(at + 1));
            } else {
                words.add(arg);
            }
        }
    }

    String word(int index, String what) {
        if (index >= words.size()) {
            throw new IllegalArgumentException(what + " is missing");
        }
        return words.get(index);
    }

    Path path(int index, String what) {
        return Path.of(word(index, what)).toAbsolutePath();
    }

    boolean has(String name) {
        return options.containsKey(name);
    }

    String text(String name, String otherwise) {
        return options.getOrDefault(name, otherwise);
    }

    long number(String name, long otherwise) {
        String value = options.get(name);
        return value == null ? otherwise : Long.parseLong(value.replace("_", ""));
    }
}
