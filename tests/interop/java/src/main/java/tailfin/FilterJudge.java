package tailfin;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.util.BloomFilter;
import org.apache.rocketmq.filter.util.BloomFilterData;

/** Says what the official filter makes of expressions: see README.md for its lines. */
public final class FilterJudge {
    private FilterJudge() {
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            out.println(words[0].equals("bloom") ? bloom(words) : judge(words));
            out.flush();
        }
    }

    private static String judge(String[] words) {
        Expression expression;
        try {
            expression = FilterFactory.INSTANCE.get("SQL92").compile(text(words[1]));
        } catch (Throwable refused) {
            return "refused";
        }
        StringBuilder answers = new StringBuilder();
        for (int i = 2; i < words.length; i++) {
            answers.append(evaluate(expression, MessageDecoder.string2messageProperties(text(words[i]))));
        }
        return answers.toString();
    }

    private static char evaluate(Expression expression, Map<String, String> properties) {
        EvaluationContext context = new EvaluationContext() {
            @Override
            public Object get(String name) {
                return properties.get(name);
            }

            @Override
            public Map<String, Object> keyValues() {
                throw new UnsupportedOperationException();
            }
        };
        try {
            Object result = expression.evaluate(context);
            if (result == null) {
                return 'N';
            }
            return (Boolean) result ? 'T' : 'F';
        } catch (Throwable failed) {
            return 'E';
        }
    }

    private static String bloom(String[] words) {
        BloomFilter filter = BloomFilter.createByFn(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        BloomFilterData data = filter.generate(text(words[3]));
        return data.getBitNum() + " " + Arrays.toString(data.getBitPos());
    }

    private static String text(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }
}
