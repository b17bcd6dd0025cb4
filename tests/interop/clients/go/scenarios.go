package main

import (
	"context"
	"os"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// readBack notes what a topic holds, with a consumer of its own.
func (s *scene) readBack(topic string, many int, line saw) error {
	var all ledger
	reader, err := s.consume(topic+"-readers", topic+"-reader", topic, "*", &all)
	if err != nil {
		return err
	}
	until(func() bool { return all.distinct() >= many })
	line["received"] = all.list
	return reader.Shutdown()
}

func produce(s *scene, line saw) error {
	topic, err := s.topic("produce")
	if err != nil {
		return err
	}
	line["sent"], line["results"], err = s.fill(topic, 0, count)
	if err != nil {
		return err
	}
	return s.readBack(topic, count, line)
}

func produceAsync(s *scene, line saw) error {
	topic, err := s.topic("async")
	if err != nil {
		return err
	}
	var sends, results []saw
	var failures []string
	var guard sync.Mutex
	var pending sync.WaitGroup
	for number := 0; number < count; number++ {
		made := message(topic, number)
		made.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: os.Args[4], QueueId: number % 4}
		sends = append(sends, sent(made))
		pending.Add(1)
		err := s.producer.SendAsync(context.Background(), func(_ context.Context, answer *primitive.SendResult, err error) {
			defer pending.Done()
			guard.Lock()
			defer guard.Unlock()
			if err != nil {
				failures = append(failures, err.Error())
			} else {
				results = append(results, result(answer))
			}
		}, made)
		if err != nil {
			return err
		}
	}
	pending.Wait()
	line["sent"], line["results"], line["failures"] = sends, results, failures
	return s.readBack(topic, count, line)
}

func produceOneway(s *scene, line saw) error {
	topic, err := s.topic("oneway")
	if err != nil {
		return err
	}
	var sends []saw
	for number := 0; number < count; number++ {
		made := message(topic, number)
		made.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: os.Args[4], QueueId: number % 4}
		if err := s.producer.SendOneWay(context.Background(), made); err != nil {
			return err
		}
		sends = append(sends, sent(made))
	}
	line["sent"] = sends
	return s.readBack(topic, count, line)
}

func produceBatch(s *scene, line saw) error {
	topic, err := s.topic("batch")
	if err != nil {
		return err
	}
	var messages []*primitive.Message
	var sends []saw
	for number := 0; number < count; number++ {
		made := message(topic, number)
		made.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: os.Args[4], QueueId: 1}
		messages, sends = append(messages, made), append(sends, sent(made))
	}
	answer, err := s.producer.SendSync(context.Background(), messages...)
	if err != nil {
		return err
	}
	line["sent"], line["results"] = sends, []saw{result(answer)}
	return s.readBack(topic, count, line)
}

func push(s *scene, line saw) error {
	topic, err := s.topic("push")
	if err != nil {
		return err
	}
	var all ledger
	before, _, err := s.fill(topic, 0, count)
	if err != nil {
		return err
	}
	made, err := s.consume("push", "push", topic, "*", &all)
	if err != nil {
		return err
	}
	until(func() bool { return all.distinct() >= count })
	// These find a consumer that waits in a long poll.
	after, _, err := s.fill(topic, count, count)
	if err != nil {
		return err
	}
	until(func() bool { return all.distinct() >= 2*count })
	line["sent"], line["received"] = append(before, after...), all.list
	return made.Shutdown()
}

func pushTags(s *scene, line saw) error {
	topic, err := s.topic("tags")
	if err != nil {
		return err
	}
	if line["sent"], _, err = s.fill(topic, 0, count); err != nil {
		return err
	}
	var some ledger
	made, err := s.consume("tags", "tags", topic, "A || C", &some)
	if err != nil {
		return err
	}
	until(func() bool { return some.distinct() >= 2*count/3 })
	line["received"] = some.list
	return made.Shutdown()
}

func orderly(s *scene, line saw) error {
	topic, err := s.topic("orderly")
	if err != nil {
		return err
	}
	var all ledger
	before, _, err := s.fill(topic, 0, count)
	if err != nil {
		return err
	}
	made, err := s.consume("orderly", "orderly", topic, "*", &all, consumer.WithConsumerOrder(true))
	if err != nil {
		return err
	}
	until(func() bool { return all.distinct() >= count })
	after, _, err := s.fill(topic, count, count)
	if err != nil {
		return err
	}
	until(func() bool { return all.distinct() >= 2*count })
	line["sent"], line["received"] = append(before, after...), all.list
	return made.Shutdown()
}

func broadcast(s *scene, line saw) error {
	topic, err := s.topic("broadcast")
	if err != nil {
		return err
	}
	members := map[string]*ledger{"one": {}, "two": {}}
	for member, into := range members {
		made, err := s.consume("broadcast", "broadcast-"+member, topic, "*", into, consumer.WithConsumerModel(consumer.BroadCasting))
		if err != nil {
			return err
		}
		defer func() { _ = made.Shutdown() }()
	}
	if line["sent"], _, err = s.fill(topic, 0, count); err != nil {
		return err
	}
	until(func() bool { return members["one"].distinct() >= count && members["two"].distinct() >= count })
	line["members"] = map[string]any{"one": members["one"].list, "two": members["two"].list}
	return nil
}

func restart(s *scene, line saw) error {
	topic, err := s.topic("restart")
	if err != nil {
		return err
	}
	var before, after ledger
	if line["sentBefore"], _, err = s.fill(topic, 0, count); err != nil {
		return err
	}
	first, err := s.consume("restart", "restart-1", topic, "*", &before)
	if err != nil {
		return err
	}
	until(func() bool { return before.distinct() >= count })
	if err := first.Shutdown(); err != nil {
		return err
	}
	if line["sentAfter"], _, err = s.fill(topic, count, count); err != nil {
		return err
	}
	second, err := s.consume("restart", "restart-2", topic, "*", &after)
	if err != nil {
		return err
	}
	until(func() bool { return after.distinct() >= count })
	line["before"], line["after"] = before.list, after.list
	return second.Shutdown()
}
