package flakepass

import (
	"testing"
	"time"
)

// TestAnswerThatCrossesAPolicyIsNotRepeated: a call compares the policy of its answer with the one
// that is known, another one learns a newer policy and forgets all answers, and only then the first
// keeps its answer.
func TestAnswerThatCrossesAPolicyIsNotRepeated(t *testing.T) {
	var k knowledge
	k.init()
	k.bound(time.Minute)
	k.learn(&rule{version: 1}, 10)
	crossing, later := &remembered{asOf: 20, sent: 20, until: instant(time.Hour)}, &remembered{asOf: 41, sent: 41, until: instant(time.Hour)}
	if ok, _ := k.fresh(crossing, 30, time.Hour); !ok {
		t.Error("an answer by the policy in force is not repeated")
	}
	k.learn(&rule{version: 2}, 40)
	if ok, _ := k.fresh(crossing, 50, time.Hour); ok {
		t.Error("an answer of before the change is repeated")
	}
	if ok, _ := k.fresh(later, 50, time.Hour); !ok {
		t.Error("an answer of after the change is not repeated")
	}
}
