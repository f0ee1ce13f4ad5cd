package judge_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

const bound = time.Second

func at(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// event is one that took 100 ms.
func event(begin float64, op judge.Op, answer judge.Answer) judge.Event {
	return judge.Event{Begin: at(begin), End: at(begin + 0.1), Op: op, Answer: answer, User: "alice", Wait: true}
}

func policy(begin, idle, absolute float64) judge.Event {
	e := event(begin, judge.SetPolicy, judge.Yes)
	e.Policy = judge.Policy{Times: judge.Times{Idle: at(idle), Absolute: at(absolute)}}
	return e
}

func withTimes(e judge.Event, issued, seen, idleEnd float64) judge.Event {
	e.HasTimes, e.Issued, e.Seen, e.IdleEnd = true, at(issued), at(seen), at(idleEnd)
	return e
}

// login is one at begin + 50 ms, under a policy with that idle timeout.
func login(begin float64, id uint64, idle float64) judge.Event {
	e := event(begin, judge.Login, judge.Yes)
	e.Session = id
	return withTimes(e, begin+0.05, begin+0.05, begin+0.05+idle)
}

func ask(begin float64, id uint64, answer judge.Answer) judge.Event {
	e := event(begin, judge.Ask, answer)
	e.Session, e.Passive = id, true
	return e
}

func refused(begin float64, id uint64, code string) judge.Event {
	e := ask(begin, id, judge.No)
	e.Code = code
	return e
}

func use(begin float64, id uint64) judge.Event {
	e := ask(begin, id, judge.Yes)
	e.Passive = false
	return e
}

func one(begin float64, id uint64, answer judge.Answer) judge.Event {
	e := event(begin, judge.EndOne, answer)
	e.Session = id
	return e
}

func list(begin float64, ids ...uint64) judge.Event {
	e := event(begin, judge.List, judge.Yes)
	e.User, e.Listed = "", map[uint64]bool{}
	for _, id := range ids {
		e.Listed[id] = true
	}
	return e
}

func audit(begin, end float64) judge.Event {
	return judge.Event{Begin: at(begin), End: at(end), Op: judge.Audit, Wait: true}
}

func TestJudge(t *testing.T) {
	long := policy(-1, 3600, 7200)
	for name, c := range map[string]struct {
		history []judge.Event
		want    int // the point that is broken; 0: none
	}{
		// Point 1.
		"accepted within the bound":                      {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Yes), use(2.1, 1)}, 0},
		"accepted past the bound":                        {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Yes), use(2.11, 1)}, 1},
		"begun within the bound and answered after it":   {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Yes), {Begin: at(2), End: at(9), Op: judge.Ask, Session: 1, Answer: judge.Yes, Wait: true}}, 0},
		"accepted past the bound of a newer login":       {[]judge.Event{long, login(0, 1, 3600), login(1, 2, 3600), use(2.2, 1)}, 1},
		"the newer login is accepted":                    {[]judge.Event{long, login(0, 1, 3600), login(1, 2, 3600), use(2.2, 2)}, 0},
		"accepted past the bound of a logout of all":     {[]judge.Event{long, login(0, 1, 3600), event(1, judge.EndAll, judge.Yes), use(2.2, 1)}, 1},
		"accepted past the bound of an operator's end":   {[]judge.Event{long, login(0, 1, 3600), event(1, judge.EndUser, judge.Yes), use(2.2, 1)}, 1},
		"a login beside an operator's end may be later":  {[]judge.Event{long, login(1.05, 1, 3600), event(1, judge.EndUser, judge.Yes), use(9, 1)}, 0},
		"accepted after a logout without an answer":      {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.None), use(9, 1)}, 0},
		"the second logout is the one acknowledged":      {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Undecided), use(9, 1), one(10, 1, judge.Yes), use(11.2, 1)}, 1},
		"enabling is no end":                             {[]judge.Event{long, login(0, 1, 3600), event(1, judge.MayEnd, judge.Yes), use(9, 1)}, 0},
		"accepted past the absolute end and the bound":   {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), use(4, 1), use(6.2, 1)}, 1},
		"accepted past the absolute end in the bound":    {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), use(4, 1), use(6, 1)}, 0},
		"accepted past the idle end and the bound":       {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), use(1, 1), use(7.2, 1)}, 1},
		"a use that is passive does not put off the end": {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), ask(4, 1, judge.Yes), ask(6.2, 1, judge.Yes)}, 1},
		"a use of unknown outcome may have put it off":   {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), {Begin: at(4), End: at(4.1), Op: judge.Ask, Session: 1, Wait: true}, ask(8, 1, judge.Yes)}, 0},
		"accepted past the bound of a shorter policy":    {[]judge.Event{long, login(0, 1, 3600), policy(10, 5, 50), use(11.2, 1)}, 1},
		"accepted within the bound of a shorter policy":  {[]judge.Event{long, login(0, 1, 3600), policy(10, 5, 50), use(11, 1)}, 0},
		"a longer policy may have come before the end":   {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), policy(4.9, 3600, 7200), use(9, 1)}, 0},
		"a change of unknown outcome may be in force":    {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), {Begin: at(4), End: at(4.1), Op: judge.SetPolicy, Policy: judge.Policy{Times: judge.Times{Idle: at(9), Absolute: at(9)}}, Wait: true}, use(7, 1)}, 0},

		// Point 2.
		"refused and alive":                                 {[]judge.Event{long, login(0, 1, 3600), refused(1, 1, "token_logged_out")}, 2},
		"refused and listed":                                {[]judge.Event{long, login(0, 1, 3600), refused(1, 1, "token_invalid"), list(2, 1)}, 2},
		"refused after a logout without an answer":          {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.None), refused(9, 1, "token_logged_out")}, 0},
		"refused before a logout":                           {[]judge.Event{long, login(0, 1, 3600), refused(1, 1, "token_logged_out"), one(2, 1, judge.Yes)}, 2},
		"refused beside a logout":                           {[]judge.Event{long, login(0, 1, 3600), refused(1, 1, "token_logged_out"), one(1.05, 1, judge.Yes)}, 0},
		"a logout that was refused ends nothing":            {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.No), refused(9, 1, "token_logged_out")}, 2},
		"a login without an answer may have replaced it":    {[]judge.Event{long, login(0, 1, 3600), event(1, judge.Login, judge.Undecided), refused(9, 1, "token_replaced")}, 0},
		"an older login replaces nothing":                   {[]judge.Event{long, login(0, 1, 3600), login(1, 2, 3600), refused(9, 2, "token_replaced")}, 2},
		"expired by a policy that is no longer in force":    {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), policy(3, 3600, 7200), refused(6, 1, "token_expired")}, 2},
		"expired by a policy that may still be in force":    {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), {Begin: at(3), End: at(3.1), Op: judge.SetPolicy, Policy: judge.Policy{Times: judge.Times{Idle: at(9), Absolute: at(9)}}, Wait: true}, refused(6, 1, "token_expired")}, 0},
		"expired before the longer policy was acknowledged": {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), policy(5, 3600, 7200), refused(6, 1, "token_expired")}, 0},
		"503 without Retry-After":                           {[]judge.Event{long, login(0, 1, 3600), {Begin: at(1), End: at(2), Op: judge.Ask, Session: 1, Answer: judge.Undecided}}, 2},
		"500":                                               {[]judge.Event{long, login(0, 1, 3600), {Begin: at(1), End: at(2), Op: judge.Ask, Session: 1, Answer: judge.Undecided, Status: 500, Wait: true}}, 2},
		"503":                                               {[]judge.Event{long, login(0, 1, 3600), ask(1, 1, judge.Undecided)}, 0},

		// Point 3.
		"listed after a logout was acknowledged": {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Yes), list(1.2, 1)}, 3},
		"listed beside a logout":                 {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Yes), list(1.05, 1)}, 0},
		"not listed after a logout":              {[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.Yes), list(1.2)}, 0},
		"not listed and alive":                   {[]judge.Event{long, login(0, 1, 3600), list(1)}, 5},

		// Point 4.
		"two disagree in calm": {[]judge.Event{long, login(0, 1, 3600), policy(5, 1, 50), audit(5.2, 7), list(5.3), ask(5.5, 1, judge.Yes)}, 4},
		"two disagree in calm about an end that was not acknowledged": {
			[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.None), audit(7, 9), refused(7.1, 1, "token_logged_out"), use(7.3, 1)}, 0},
		"two disagree in calm about an end that is acknowledged later": {
			[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.None), audit(7, 9), refused(7.1, 1, "token_logged_out"), use(7.3, 1), one(10, 1, judge.Yes)}, 0},
		"and they still do after the life of a cache entry": {
			[]judge.Event{long, login(0, 1, 3600), one(1, 1, judge.None), refused(7.1, 1, "token_logged_out"), use(67.3, 1)}, 4},
		"over in calm between two questions": {
			[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), audit(4, 6), ask(4.8, 1, judge.Yes), refused(5.1, 1, "token_idle_timeout")}, 0},

		// Point 5.
		"idle before the idle end that was answered": {
			[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), withTimes(use(3, 1), 0.05, 3.05, 8.05), refused(7, 1, "token_idle_timeout")}, 5},
		"idle after the idle end that was answered": {
			[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), withTimes(use(3, 1), 0.05, 3.05, 8.05), refused(8, 1, "token_idle_timeout")}, 0},
		"idle before the idle end that was answered in seconds": {
			[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), {Begin: at(3), End: at(3.1), Op: judge.Ask, Session: 1, Answer: judge.Yes, Wait: true, Left: true, IdleLeft: at(4)},
				refused(6, 1, "token_idle_timeout")}, 5},
		"idle by a policy that was made shorter": {
			[]judge.Event{policy(-1, 8, 50), login(0, 1, 8), policy(3, 5, 50), refused(5, 1, "token_idle_timeout")}, 0},
		"idle by a shorter policy, and too early even for that": {
			[]judge.Event{policy(-1, 8, 50), login(0, 1, 8), policy(3, 5, 50), refused(4, 1, "token_idle_timeout")}, 5},
		"answered by the policy of before while the shorter one spreads": {
			[]judge.Event{policy(-1, 8, 50), login(0, 1, 8), policy(3, 5, 50), withTimes(ask(4, 1, judge.Yes), 0.05, 0.05, 8.05), refused(5, 1, "token_idle_timeout")}, 0},
		"answered by the policy of before though the shorter one was spread": {
			[]judge.Event{policy(-1, 20, 50), login(0, 1, 20), policy(3, 10, 50), withTimes(ask(4.2, 1, judge.Yes), 0.05, 0.05, 20.05), refused(10, 1, "token_idle_timeout")}, 5},

		// Point 6.
		"idle, and alive again":                {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), refused(5, 1, "token_idle_timeout"), ask(5.3, 1, judge.Yes)}, 6},
		"expired, and alive again":             {[]judge.Event{policy(-1, 5, 5), login(0, 1, 5), refused(5, 1, "token_expired"), ask(5.3, 1, judge.Yes)}, 6},
		"not listed, and alive past the bound": {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), {Begin: at(0.1), End: at(0.2), Op: judge.Ask, Session: 1, Wait: true}, list(5.1), ask(6.3, 1, judge.Yes)}, 6},
		"not listed beside a use, and alive":   {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), list(5.1), withTimes(use(5.04, 1), 0.05, 5.04, 10.04), ask(6.3, 1, judge.Yes)}, 0},
		"not listed by an instance that has not read the longer policy": {
			[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), policy(4.5, 3600, 7200), list(5.1), list(7, 1), ask(7, 1, judge.Yes)}, 0},
		"not listed though all have read the longer policy": {
			[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), policy(3.5, 3600, 7200), list(5.1), ask(5.3, 1, judge.Yes)}, 2},
		"idle, and listed again": {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), refused(5, 1, "token_idle_timeout"), list(5.3, 1)}, 6},
		"idle, and alive for an instance that has not read the shorter policy": {
			[]judge.Event{long, login(0, 1, 3600), policy(10, 5, 50), refused(10.2, 1, "token_idle_timeout"), ask(11, 1, judge.Yes)}, 0},
		"alive beside the one who says idle": {[]judge.Event{policy(-1, 5, 50), login(0, 1, 5), refused(5, 1, "token_idle_timeout"), ask(5.05, 1, judge.Yes)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Judge(c.history, judge.NewRules(bound))
			var points []int
			for _, f := range v.Faults {
				points = append(points, f.Point)
			}
			if c.want == 0 && len(points) > 0 || c.want != 0 && (len(points) != 1 || points[0] != c.want) {
				t.Errorf("points %v are broken, want %d\n%v", points, c.want, v.Faults)
			}
		})
	}
}

// TestClockOnTheWallIsNotTrusted: what a server answers is by the clock on the
// wall. Where that went ahead or fell back, an answer is wrong only if it is so
// wherever the clock may have been.
func TestClockOnTheWallIsNotTrusted(t *testing.T) {
	history := []judge.Event{policy(-1, 5, 50), login(0, 1, 5), refused(4.5, 1, "token_idle_timeout")}
	rules := judge.NewRules(bound)
	if v := judge.Judge(history, rules); len(v.Faults) != 1 {
		t.Errorf("%d faults with a clock that is right, want 1", len(v.Faults))
	}
	rules.Ahead[1] = at(0.5)
	if v := judge.Judge(history, rules); len(v.Faults) != 0 {
		t.Errorf("faults though the clock may have been half a second ahead: %v", v.Faults)
	}
	// The time that is left is by the clock of who answers, and the use by that of another.
	left := judge.Event{Begin: at(3), End: at(3.1), Op: judge.Ask, Session: 1, Answer: judge.Yes, Wait: true, Left: true, IdleLeft: at(6)}
	history = []judge.Event{policy(-1, 5, 50), login(0, 1, 5), left, refused(7.2, 1, "token_idle_timeout")}
	if v := judge.Judge(history, judge.NewRules(bound)); len(v.Faults) != 1 {
		t.Errorf("%d faults of a time that is left with clocks that are right, want 1", len(v.Faults))
	}
	rules.Ahead = [2]time.Duration{at(-1), at(1)}
	if v := judge.Judge(history, rules); len(v.Faults) != 0 {
		t.Errorf("faults of a time that is left though clocks may be two seconds apart: %v", v.Faults)
	}
}

// TestFiguresOfTheTable holds what is printed of a history to what is in it.
func TestFiguresOfTheTable(t *testing.T) {
	v := judge.Judge([]judge.Event{
		policy(-1, 3600, 7200), login(0, 1, 3600), use(1, 1), one(2, 1, judge.Yes), use(2.6, 1), refused(3, 1, "token_logged_out"), ask(4, 1, judge.Undecided), ask(5, 1, judge.None),
	}, judge.NewRules(bound))
	if v.Requests != 8 || v.Accepts != 2 || v.Refusals != 1 || v.Undecided != 1 || v.Unanswered != 1 || v.Longest != at(0.5) || len(v.Faults) != 0 {
		t.Errorf("%+v", v)
	}
	end := event(2, judge.EndUser, judge.Yes)
	v = judge.Judge([]judge.Event{
		policy(-1, 3600, 7200), login(0, 1, 3600), end, ask(3.5, 1, judge.Yes), ask(3.6, 1, judge.Yes), audit(5, 6), ask(5.1, 1, judge.Yes),
		{Begin: at(3), End: at(4), Op: judge.Ask, Session: 1, Answer: judge.Undecided, Status: 502, Wait: true},
	}, judge.NewRules(bound))
	if v.Late != 3 || v.Lost != 1 || v.Internal != 1 {
		t.Errorf("%d late, %d lost, %d internal; want 3, 1, 1", v.Late, v.Lost, v.Internal)
	}
	v = judge.Judge([]judge.Event{policy(-1, 3600, 7200), login(0, 1, 3600), audit(5, 6), refused(5.1, 1, "token_invalid")}, judge.NewRules(bound))
	if v.Lost != 1 || v.WrongRefusals != 1 {
		t.Errorf("%d lost, %d refused; want 1 and 1: the login is gone", v.Lost, v.WrongRefusals)
	}
}
