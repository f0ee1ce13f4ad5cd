package redisworker

import (
	"fmt"
	"strconv"
	"time"
)

// A verdict is the first word of what a script answers. The words behind it are
// numbers, instants in Unix milliseconds, or text.
type verdict string

const (
	ok       verdict = "ok"       // number, from, fence
	wait     verdict = "wait"     // until when, TIME, and why: calm or fence
	beyond   verdict = "reach"    // TIME
	lost     verdict = "lost"     //
	none     verdict = "none"     // why: all or pool
	broken   verdict = "broken"   // which field
	settings verdict = "settings" // the Reach and Skew that the record was made with
)

// shape is what the words behind a verdict are: n is a number, t is text.
var shape = map[verdict]string{
	ok: "nnn", wait: "nnt", beyond: "n", lost: "", none: "t", broken: "t", settings: "nn",
}

// An answer is what a script says, in words that were checked.
type answer struct {
	verdict verdict
	n       [3]int64
	text    string
}

// largest has 15 digits, as many as the scripts read and write.
const largest = 1e15 - 1

// parse is [ErrBroken] for whatever the scripts do not answer.
func parse(words []string) (answer, error) {
	foreign := fmt.Errorf("%w: a script answered %q", ErrBroken, words)
	if len(words) == 0 {
		return answer{}, foreign
	}
	a := answer{verdict: verdict(words[0])}
	kinds, known := shape[a.verdict]
	if !known || len(words) != 1+len(kinds) {
		return answer{}, foreign
	}
	for i, kind := range kinds {
		word := words[1+i]
		if kind == 't' {
			a.text = word
			continue
		}
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil || n > largest {
			return answer{}, foreign
		}
		a.n[i] = int64(n)
	}
	if a.verdict == ok && a.n[1] > a.n[2] {
		return answer{}, foreign
	}
	return a, nil
}

func (a answer) number() int { return int(a.n[0]) }

// from and until are the range of an ok.
func (a answer) from() time.Time  { return time.UnixMilli(a.n[1]) }
func (a answer) until() time.Time { return time.UnixMilli(a.n[2]) }
