package tailfin;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** JSON on one line: an object made name by name, or any maps, lists, texts, numbers and truths. */
final class Json {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    static Json kind(String kind) {
        return new Json().put("kind", kind);
    }

    Json put(String name, Object value) {
        fields.put(name, value);
        return this;
    }

    @Override
    public String toString() {
        return text(fields);
    }

    static String text(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
            while (entries.hasNext()) {
                Map.Entry<?, ?> entry = entries.next();
                quote(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out);
                out.append(entries.hasNext() ? "," : "");
            }
            out.append('}');
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            Iterator<?> items = list.iterator();
            while (items.hasNext()) {
                write(items.next(), out);
                out.append(items.hasNext() ? "," : "");
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
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
