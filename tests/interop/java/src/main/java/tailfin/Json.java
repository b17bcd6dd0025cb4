package tailfin;

import java.util.Map;

/** One JSON object on one line. */
final class Json {
    private final StringBuilder out = new StringBuilder("{");

    static Json kind(String kind) {
        return new Json().put("kind", kind);
    }

    Json put(String name, long value) {
        name(name).append(value);
        return this;
    }

    Json put(String name, double value) {
        name(name).append(String.format(java.util.Locale.ROOT, "%.4f", value));
        return this;
    }

    Json put(String name, boolean value) {
        name(name).append(value);
        return this;
    }

    Json put(String name, String value) {
        name(name);
        quote(value);
        return this;
    }

    Json put(String name, Iterable<Long> values) {
        StringBuilder text = name(name).append('[');
        String comma = "";
        for (long value : values) {
            text.append(comma).append(value);
            comma = ",";
        }
        text.append(']');
        return this;
    }

    Json put(String name, Map<String, String> values) {
        name(name).append('{');
        String comma = "";
        for (Map.Entry<String, String> entry : values.entrySet()) {
            out.append(comma);
            quote(entry.getKey());
            out.append(':');
            quote(entry.getValue());
            comma = ",";
        }
        out.append('}');
        return this;
    }

    @Override
    public String toString() {
        return out + "}";
    }

    private StringBuilder name(String name) {
        if (out.length() > 1) {
            out.append(',');
        }
        quote(name);
        return out.append(':');
    }

    private void quote(String text) {
        if (text == null) {
            out.append("null");
            return;
        }
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
