package lincheck_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/lincheck"
)

// TestSeveralLogins: what may and what may not happen to a user with several logins. Each
// word is an op that is over before the next one begins: + is a login, with its device
// after a slash, ! an accept, ? a refusal, - a logout, = an end of all others, # a limit,
// with that on devices with a name after a slash.
func TestSeveralLogins(t *testing.T) {
	for history, bound := range map[string]struct {
		legal bool
		after time.Duration
	}{
		"#2 +1 +2 1! 2! 1!":             {true, 0},
		"#2 +1 +2 -2 1! 2?":             {true, 0},
		"#2 +1 +2 -2 1?":                {false, 0}, // an end of one is no other's
		"#2 +1 +2 +3 1? 2! 3!":          {true, 0},
		"#2 +1 +2 +3 1! 2? 3!":          {true, 0}, // whichever was used last
		"#2 +1 +2 +3 1! 2!":             {false, 0},
		"#2 +1 +2 +3 1! 2! 3!":          {false, 0}, // one too many
		"#3 +1/a +2/a 1!":               {false, 0},
		"#3 +1/a +2/b 1! 2!":            {true, 0},
		"#3 +1 +2 +3 =2 1? 2! 3?":       {true, 0},
		"#3 +1 +2 +3 =2 2! 3!":          {false, 0},
		"#3 +1 +2 +3 =2 2?":             {false, 0},
		"#3 +1 +2 +3 * 1? 2? 3?":        {true, 0},
		"#3 +1 +2 +3 * 2!":              {false, 0}, // what ends a user ends every login
		"#3 +1 +2 +3 #1 2! 1? 3?":       {true, 0},
		"#3 +1 +2 +3 #1 2! 1!":          {false, 0},
		"#3 +1 +2 +3 #1 2! #3 1! 3!":    {false, 0}, // what a limit has ended comes back
		"#3 +1 +2 +3 #1 2! #3 1? 3? 2!": {true, 0},
		"#3 +1 +2 +3 #1 #3 1! 2! 3!":    {true, 0}, // nobody has asked meanwhile
		"#3 +1 +2 +3 #1 2? 1! 3?":       {true, 0},
		"#3/1 +1/a +2/b 1? 2!":          {true, 0},
		"#3/1 +1/a +2/b 1!":             {false, 0}, // one too many of their class
		"#3/1 +1 +2 +3/a 1! 2! 3!":      {true, 0},
		"#3/1 +1 +2/a +3 1! 2! 3!":      {true, 0},
		"#2/1 +1 +2/a +3/b 1! 2? 3!":    {true, 0},
		"#2/1 +1 +2/a +3/b 1? 3!":       {false, 0}, // it had room
		"#3 +1/a +2/b #3/1 1? 2!":       {true, 0},
		"#3 +1/a +2/b #3/1 1! 2? 1!":    {true, 0},
		"#3 +1/a +2/b #3/1 1! 2!":       {false, 0},
		"#3 +1 +2/a #3/1 1? ":           {false, 0}, // a class's limit ends none of another
		"#3 +1/a +2/b #3/1 1? #3 1!":    {false, 0},
		"#2 +1 -1 1!":                   {false, 0},
		"#2 +1 +2 -1 2! 1! 2!":          {true, time.Second}, // within the bound
		"#2 +1 +2 #1 1! 2! ":            {true, time.Second},
	} {
		if v := lincheck.Check(told(history), bound.after); v.Legal != bound.legal {
			t.Errorf("%s: %v; want legal: %v", history, v, bound.legal)
		}
	}
}

// TestLoginUnderWayGoesByTheLimitOfBefore, which it has read, also if the old login is
// accepted after the limit was raised; and a login that begins later does not.
func TestLoginUnderWayGoesByTheLimitOfBefore(t *testing.T) {
	for call, legal := range map[time.Duration]bool{4: true, 6: false} {
		history := told("#1 +1 #2 1! +2 1? 2!")
		history[4].Call = call * ms
		if v := lincheck.Check(history, 0); v.Legal != legal {
			t.Errorf("a login from %d on: %v; want legal: %v", call, v, legal)
		}
	}
}

// told is a history of ops that each take a millisecond.
func told(text string) (all []lincheck.Op) {
	for i, word := range strings.Fields(text) {
		o := lincheck.Op{User: "ada", Outcome: lincheck.Done, Call: time.Duration(2*i) * ms, Return: time.Duration(2*i+1) * ms}
		word, o.Device, _ = strings.Cut(word, "/")
		digit := strings.Trim(word, "+!?-=#*")
		if digit != "" {
			o.Token = int64(digit[0] - '0')
		}
		switch word[0] {
		case '+':
			o.Kind = lincheck.Login
		case '-':
			o.Kind = lincheck.Logout
		case '=':
			o.Kind = lincheck.EndOthers
		case '*':
			o.Kind, o.Code = lincheck.End, "token_revoked"
		case '#':
			o.Kind, o.Sessions, o.Token = lincheck.Limit, int(o.Token), 0
			o.Named, _ = strconv.Atoi(o.Device)
		default:
			o.Kind = lincheck.Verify
			if word[len(word)-1] == '?' {
				o.Outcome, o.Code = lincheck.Refused, "token_revoked"
			}
		}
		all = append(all, o)
	}
	return all
}
