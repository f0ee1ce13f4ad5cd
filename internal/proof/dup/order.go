//go:build unix

package main

import (
	"encoding/json"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// mintCommand makes the program a process that mints, by the order that follows.
const mintCommand = "mint"

// How such a process ends when it is not killed.
const (
	endFull    = 0 // closed when asked to, or its journal is full
	endBroken  = 2 // a promise was broken; its log says which
	endRefused = 3 // the clock is too far behind the number
	endStore   = 4 // the lender could not be reached
)

// An order says what a process mints, and under which lender.
type order struct {
	Kind    string // of lender
	Address string // the folder, file or server of the lender
	Number  *int   // the one number to take, also if another has it

	Policy  idworker.ClockPolicy
	Start   idworker.SequenceStart
	Window  time.Duration
	Steady  bool // the clock that ranges begin with does not step, only the wall clock
	Callers int
	Batch   int // 0: one by one

	Clock   string // the file with the error of the clock
	Journal string // where IDs are written down: files with this prefix
}

func (o order) String() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return string(b)
}

func parseOrder(s string) (o order, err error) {
	return o, json.Unmarshal([]byte(s), &o)
}
