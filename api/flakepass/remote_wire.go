package flakepass

import (
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"
)

// errAnswer means that what came is no answer of a flakepass server.
var errAnswer = errors.New("flakepass: what the server answers is not understood; is RemoteOptions.URL that of a flakepass server of this version?")

// An answer is what came of one call.
type serverAnswer struct {
	now      int64 // Unix milliseconds
	bound    time.Duration
	rule     *rule
	verdicts []verdict
	used     []bool
}

// A verdict is what is said of one token: it lives, or it is refused, or
// neither.
type verdict struct {
	alive    bool
	refusal  *Refusal
	id, user ID
	username string
	role     string
	seen     int64 // Unix milliseconds
	age      time.Duration
	believe  time.Duration
}

// refusals are those that a server may tell of a token, by their codes.
var refusals = func() map[string]*Refusal {
	all := make(map[string]*Refusal)
	for _, r := range []*Refusal{
		ErrMalformed, ErrInvalid, ErrExpired, ErrIdle, ErrLoggedOut, ErrReplaced, ErrRevoked, ErrAccountDisabled,
	} {
		all[r.code] = r
	}
	return all
}()

// refusalOf is the refusal with that code. A code that is not known is still a
// refusal.
func refusalOf(code string) *Refusal {
	if r, ok := refusals[code]; ok {
		return r
	}
	return ErrInvalid
}

type wireRule struct {
	Version      *int64    `json:"version"`
	IdleMS       int64     `json:"idle_ms"`
	AbsoluteMS   int64     `json:"absolute_ms"`
	TouchMS      int64     `json:"touch_ms"`
	IdleBase     time.Time `json:"idle_base"`
	AbsoluteBase time.Time `json:"absolute_base"`
}

// longest is longer than any time that a server tells of, in milliseconds; what
// is longer would not be told from an overflow.
const longest = int64(100 * 365 * 24 * time.Hour / time.Millisecond)

func sane(ms int64) bool { return 0 <= ms && ms <= longest }

func (w *wireRule) rule() (*rule, bool) {
	ok := w.Version != nil && *w.Version >= 0 && w.IdleMS > 0 && w.AbsoluteMS > 0 && w.TouchMS > 0 &&
		sane(w.IdleMS) && sane(w.AbsoluteMS) && sane(w.TouchMS)
	if !ok {
		return nil, false
	}
	return &rule{
		*w.Version, w.IdleMS, w.AbsoluteMS, w.TouchMS, w.IdleBase.UnixMilli(), w.AbsoluteBase.UnixMilli(),
	}, true
}

// boundOf is the revocation bound that a server told, or false if it cannot be
// one.
func boundOf(ms int64) (time.Duration, bool) {
	const most = int64(time.Hour / time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond, ms > 0
}

type wireVerdict struct {
	State    string `json:"state"`
	Code     string `json:"code"`
	AsOfAge  *int64 `json:"as_of_age_ms"`
	Believe  int64  `json:"believe_ms"`
	Identity struct {
		UserID     string    `json:"user_id"`
		Username   string    `json:"username"`
		Role       string    `json:"role"`
		SessionID  string    `json:"session_id"`
		LastSeenAt time.Time `json:"last_seen_at"`
	} `json:"identity"`
}

// verdict reads w. A living token about which anything is missing is an error:
// it would be believed for ever, or taken for somebody else's.
func (w *wireVerdict) verdict() (verdict, error) {
	switch w.State {
	case "refused":
		return verdict{refusal: refusalOf(w.Code)}, nil
	case "alive":
	default:
		return verdict{}, nil
	}
	user, bad := ParseID(w.Identity.UserID)
	id, worse := ParseID(w.Identity.SessionID)
	name := w.Identity.Username
	if bad != nil || worse != nil || w.AsOfAge == nil || !sane(*w.AsOfAge) || !sane(w.Believe) ||
		name == "" || !utf8.ValidString(name) || w.Identity.Role == "" || w.Identity.LastSeenAt.IsZero() {
		return verdict{}, errAnswer
	}
	return verdict{
		alive: true, id: id, user: user, username: name, role: w.Identity.Role,
		seen: w.Identity.LastSeenAt.UnixMilli(),
		age:  time.Duration(*w.AsOfAge) * time.Millisecond, believe: time.Duration(w.Believe) * time.Millisecond,
	}, nil
}

// readAnswer reads the answer to that many tokens and uses, or fails with
// [errAnswer].
func readAnswer(body []byte, tokens, told int) (*serverAnswer, error) {
	var w struct {
		Now           time.Time     `json:"now"`
		BoundMS       int64         `json:"bound_ms"`
		Policy        *wireRule     `json:"policy"`
		Verifications []wireVerdict `json:"verifications"`
		Used          []bool        `json:"used"`
	}
	if json.Unmarshal(body, &w) != nil || w.Now.IsZero() || w.Policy == nil || len(w.Verifications) != tokens || len(w.Used) != told {
		return nil, errAnswer
	}
	a := &serverAnswer{now: w.Now.UnixMilli(), used: w.Used}
	var ok bool
	if a.bound, ok = boundOf(w.BoundMS); !ok {
		return nil, errAnswer
	}
	if a.rule, ok = w.Policy.rule(); !ok {
		return nil, errAnswer
	}
	for i := range w.Verifications {
		v, err := w.Verifications[i].verdict()
		if err != nil {
			return nil, err
		}
		a.verdicts = append(a.verdicts, v)
	}
	return a, nil
}
