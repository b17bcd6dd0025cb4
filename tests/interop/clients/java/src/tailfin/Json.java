package tailfin;

import java.util.Iterator;
import java.util.Map;

/** Writes maps, lists, texts, numbers and truths as JSON on one line. */
final class Json {
    private final StringBuilder out = new StringBuilder();

    private Json() {
    }

    static String text(Object value) {
        Json json = new Json();
        json.write(value);
        return json.out.toString();
    }

    private void write(Object value) {
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
            while (entries.hasNext()) {
                Map.Entry<?, ?> entry = entries.next();
                quote(String.valueOf(entry.getKey()));
                out.append(':');
                write(entry.getValue());
                out.append(entries.hasNext() ? "," : "");
            }
            out.append('}');
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            Iterator<?> items = list.iterator();
            while (items.hasNext()) {
                write(items.next());
                out.append(items.hasNext() ? "," : "");
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(value.toString());
        }
    }

    private void quote(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || c > 0x7e) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
