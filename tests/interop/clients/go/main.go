// Scenarios of the official Go client: one JSON line tells what each sent and saw. It judges nothing; the tests do.
// Usage: goclient NAMESRV PREFIX
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const (
	wait  = 60 * time.Second
	count = 60
)

type saw map[string]any

type scene struct {
	namesrv, prefix string
	producer        rocketmq.Producer
}

func main() {
	rlog.SetLogLevel("fatal")
	s := &scene{namesrv: os.Args[1], prefix: os.Args[2]}
	must(s.start())
	defer func() { _ = s.producer.Shutdown() }()
	scenarios := []struct {
		name string
		run  func(*scene, saw) error
	}{
		{"produce", produce},
		{"produce_async", produceAsync},
		{"produce_oneway", produceOneway},
		{"produce_batch", produceBatch},
		{"push", push},
		{"push_tags", pushTags},
		{"orderly", orderly},
		{"broadcast", broadcast},
		{"restart", restart},
	}
	for _, scenario := range scenarios {
		line := saw{"scenario": scenario.name}
		if err := scenario.run(s, line); err != nil {
			line["error"] = err.Error()
		}
		text, err := json.Marshal(line)
		must(err)
		fmt.Println(string(text))
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *scene) start() error {
	made, err := rocketmq.NewProducer(
		producer.WithNameServer([]string{s.namesrv}),
		producer.WithGroupName(s.prefix+"_producers"),
		producer.WithQueueSelector(producer.NewManualQueueSelector()),
		producer.WithInstanceName(s.prefix+"_producer"),
	)
	if err != nil {
		return err
	}
	s.producer = made
	return made.Start()
}

// topic makes a topic of four queues at one broker of the cluster.
func (s *scene) topic(word string) (string, error) {
	name := s.prefix + "_" + word
	made, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{s.namesrv})))
	if err != nil {
		return "", err
	}
	defer func() { _ = made.Close() }()
	err = made.CreateTopic(context.Background(), admin.WithTopicCreate(name), admin.WithBrokerAddrCreate(os.Args[3]),
		admin.WithReadQueueNums(4), admin.WithWriteQueueNums(4))
	return name, err
}

func message(topic string, number int) *primitive.Message {
	made := primitive.NewMessage(topic, []byte(fmt.Sprintf("%s #%d é中🐟", topic, number)))
	made.WithTag(string("ABC"[number%3])).WithKeys([]string{"key-" + strconv.Itoa(number)})
	made.WithProperty("color", "red-"+strconv.Itoa(number))
	return made
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

func sent(m *primitive.Message) saw {
	return saw{"tags": m.GetTags(), "keys": m.GetKeys(), "color": m.GetProperty("color"),
		"bodyLength": len(m.Body), "body": digest(m.Body)}
}

func received(m *primitive.MessageExt) saw {
	seen := sent(&m.Message)
	seen["broker"] = m.Queue.BrokerName
	seen["queue"] = m.Queue.QueueId
	seen["offset"] = m.QueueOffset
	seen["id"] = m.MsgId
	return seen
}

func result(r *primitive.SendResult) saw {
	return saw{"status": int(r.Status), "id": r.MsgID, "offsetId": r.OffsetMsgID,
		"broker": r.MessageQueue.BrokerName, "queue": r.MessageQueue.QueueId, "offset": r.QueueOffset}
}

// ledger holds what a consumer got, in order.
type ledger struct {
	sync.Mutex
	list []saw
}

func (l *ledger) add(messages []*primitive.MessageExt) {
	l.Lock()
	defer l.Unlock()
	for _, m := range messages {
		l.list = append(l.list, received(m))
	}
}

func (l *ledger) distinct() int {
	l.Lock()
	defer l.Unlock()
	places := map[string]bool{}
	for _, seen := range l.list {
		places[fmt.Sprint(seen["broker"], seen["queue"], "/", seen["offset"])] = true
	}
	return len(places)
}

func until(condition func() bool) {
	for deadline := time.Now().Add(wait); time.Now().Before(deadline) && !condition(); {
		time.Sleep(20 * time.Millisecond)
	}
}

// fill sends messages one after the other, over all queues in turn.
func (s *scene) fill(topic string, from, many int) ([]saw, []saw, error) {
	var sends, results []saw
	for number := from; number < from+many; number++ {
		made := message(topic, number)
		made.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: os.Args[4], QueueId: number % 4}
		answer, err := s.producer.SendSync(context.Background(), made)
		if err != nil {
			return sends, results, err
		}
		sends, results = append(sends, sent(made)), append(results, result(answer))
	}
	return sends, results, nil
}

func (s *scene) consumer(group, instance string, options ...consumer.Option) (rocketmq.PushConsumer, error) {
	options = append([]consumer.Option{
		consumer.WithNameServer([]string{s.namesrv}),
		consumer.WithGroupName(s.prefix + "_" + group),
		consumer.WithInstance(s.prefix + "_" + instance),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, options...)
	return rocketmq.NewPushConsumer(options...)
}

// consume starts a consumer that notes all it gets.
func (s *scene) consume(group, instance, topic, tags string, into *ledger, options ...consumer.Option) (rocketmq.PushConsumer, error) {
	made, err := s.consumer(group, instance, options...)
	if err != nil {
		return nil, err
	}
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: tags}
	err = made.Subscribe(topic, selector, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		into.add(messages)
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		return nil, err
	}
	return made, made.Start()
}
