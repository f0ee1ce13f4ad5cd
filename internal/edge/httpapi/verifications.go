package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// The limits of one question for many tokens. Both lists at their limit do not
// fit into a body.
const (
	maxTokens = 100
	maxUses   = 64
	// abreast is how many tokens of one question are looked at at the same time:
	// those that memory does not know wait for a database each.
	abreast = 8
)

type verificationsRequest struct {
	Tokens  []text    `json:"tokens"`
	Passive []int     `json:"passive"` // indexes of tokens
	Used    []useJSON `json:"used"`
}

type useJSON struct {
	SessionID text  `json:"session_id"`
	Proof     text  `json:"proof"`
	AgoMS     int64 `json:"ago_ms"`
}

// What is the state of one token.
const (
	stateAlive     = "alive"
	stateRefused   = "refused"
	stateUndecided = "undecided"
)

type verificationJSON struct {
	State    string        `json:"state"`
	Identity *identityJSON `json:"identity,omitempty"`
	AsOfAge  *int64        `json:"as_of_age_ms,omitempty"`
	Believe  *int64        `json:"believe_ms,omitempty"`
	Code     string        `json:"code,omitempty"`
	Title    string        `json:"title,omitempty"`
}

type identityJSON struct {
	UserID          string `json:"user_id"`
	Username        string `json:"username"`
	Role            string `json:"role"`
	SessionID       string `json:"session_id"`
	IssuedAt        string `json:"issued_at"`
	LastSeenAt      string `json:"last_seen_at"`
	ExpiresAt       string `json:"expires_at"`
	IdleExpiresAt   string `json:"idle_expires_at"`
	ExpiresInMS     int64  `json:"expires_in_ms"`
	IdleExpiresInMS int64  `json:"idle_expires_in_ms"`
}

type policyJSON struct {
	Version      int64  `json:"version"`
	IdleMS       int64  `json:"idle_ms"`
	AbsoluteMS   int64  `json:"absolute_ms"`
	TouchMS      int64  `json:"touch_ms"`
	IdleBase     string `json:"idle_base"`
	AbsoluteBase string `json:"absolute_base"`
}

func policyOf(p *policy.Policy) *policyJSON {
	return &policyJSON{
		p.Version, p.Idle.Milliseconds(), p.Absolute.Milliseconds(), p.Touch.Milliseconds(),
		stamp(p.IdleBase), stamp(p.AbsoluteBase),
	}
}

// verifications answers for many tokens, each by itself and in order.
func (s *server) verifications(c *gin.Context) error {
	tokens, passive, uses, err := bindVerifications(c, s.Recognition.Clock())
	if err != nil {
		return err
	}
	if err := s.quota(c, len(tokens)); err != nil {
		return tooMany(err)
	}
	ctx := c.Request.Context()
	answers := make([]verificationJSON, len(tokens))
	noted := make([]bool, len(uses))
	var undecided atomic.Int64
	var cause atomic.Pointer[error] // of one of them
	side(len(tokens), func(i int) {
		var err error
		ctx := ctx
		if passive[i] {
			ctx = flakepass.NewPassiveContext(ctx)
		}
		if answers[i], err = s.answer(ctx, c, string(tokens[i])); err != nil {
			undecided.Add(1)
			cause.Store(&err)
		}
	})
	side(len(uses), func(i int) {
		var err error
		if noted[i], err = s.Recognition.Used(ctx, uses[i]); err != nil {
			cause.Store(&err)
		}
	})
	if err := cause.Load(); err != nil {
		if int(undecided.Load()) == len(tokens) {
			return *err
		}
		s.undecided(c.Request, *err)
	}
	now := s.Recognition.Clock()
	c.JSON(http.StatusOK, struct {
		Now           string             `json:"now"`
		BoundMS       int64              `json:"bound_ms"`
		Policy        *policyJSON        `json:"policy"`
		Verifications []verificationJSON `json:"verifications"`
		Used          []bool             `json:"used"`
	}{stamp(now), s.Bound.Milliseconds(), policyOf(s.Recognition.Current()), answers, noted})
	return nil
}

// tooMany says of a question about more tokens than the limit allows at once how
// many it may be about.
func tooMany(err error) error {
	over, ok := errors.AsType[*ratelimit.TooManyError](err)
	if !ok {
		return err
	}
	return &account.InvalidError{Fields: []account.FieldError{{
		Field: "tokens", Code: "too_long",
		Message: fmt.Sprintf("must have at most %d tokens: the limit introspect of the policy allows no more at once", over.Most),
	}}}
}

// answer is what one token is told. To ask counts as a use of the token, as it
// does with GET /v1/verify, unless ctx is passive. The error says why it is
// undecided.
func (s *server) answer(ctx context.Context, c *gin.Context, token string) (verificationJSON, error) {
	t, err := flakepass.ParseToken(token)
	var who flakepass.Identity
	var on session.Witness
	horizon := s.Recognition.Horizon() // before all that is looked at, or it would promise more
	if err == nil {
		who, on, err = s.Recognition.Examine(ctx, t)
	}
	if refusal, ok := errors.AsType[*flakepass.Refusal](err); ok {
		s.credentialRefused(c, err) //nolint:contextcheck // that of c
		return verificationJSON{State: stateRefused, Code: refusal.Code(), Title: refusal.Error()}, nil
	}
	if err != nil {
		return verificationJSON{State: stateUndecided}, err
	}
	now, clock := time.Now(), s.Recognition.Clock()
	// A row that was read just now tells of its own end, and not of a policy that
	// was changed since the horizon.
	age := session.Age(now, horizon)
	if on.Horizon.IsZero() {
		age = max(age, session.Age(now, on.AsOf))
	}
	life := session.Life(s.Bound)
	told := ceilMS(min(max(age, 0), 2*life)) // there may be no horizon at all
	believe := max(life-session.Age(now, on.AsOf), 0).Milliseconds()
	return verificationJSON{State: stateAlive, AsOfAge: &told, Believe: &believe, Identity: &identityJSON{
		UserID: who.UserID.String(), Username: who.Username, Role: who.Role, SessionID: who.SessionID.String(),
		IssuedAt: stamp(who.IssuedAt), LastSeenAt: stamp(who.LastSeenAt),
		ExpiresAt: stamp(who.ExpiresAt), IdleExpiresAt: stamp(who.IdleExpiresAt),
		ExpiresInMS:     max(who.ExpiresAt.Sub(clock).Milliseconds(), 0),
		IdleExpiresInMS: max(who.IdleExpiresAt.Sub(clock).Milliseconds(), 0),
	}}, nil
}

// ceilMS rounds up: an age that is told may be too large and not too small.
func ceilMS(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// side does n things, a few of them side by side.
func side(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, abreast) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

func bindVerifications(c *gin.Context, now time.Time) (tokens []text, passive []bool, uses []session.Use, err error) {
	var in verificationsRequest
	if err := bind(c, &in); err != nil {
		return nil, nil, nil, err
	}
	wrong := &account.InvalidError{}
	add := func(field, code, message string) {
		wrong.Fields = append(wrong.Fields, account.FieldError{Field: field, Code: code, Message: message})
	}
	switch {
	case len(in.Tokens) > maxTokens:
		add("tokens", "too_long", "must have at most 100 tokens")
	case len(in.Tokens) == 0 && len(in.Used) == 0:
		add("tokens", "required", "must have at least one token")
	}
	if len(in.Used) > maxUses {
		add("used", "too_long", "must have at most 64 uses")
	}
	passive = make([]bool, len(in.Tokens))
	for _, i := range in.Passive {
		if i < 0 || i >= len(in.Tokens) {
			add("passive", "out_of_range", "must be indexes of the tokens, from 0")
			break
		}
		passive[i] = true
	}
	uses = make([]session.Use, 0, len(in.Used))
	for _, u := range in.Used {
		use, field := u.use(now)
		if field != "" {
			add(field, "invalid", "must be as the contract says, in each use")
			break
		}
		uses = append(uses, use)
	}
	if len(wrong.Fields) > 0 {
		return nil, nil, nil, wrong
	}
	return in.Tokens, passive, uses, nil
}

// maxAgo is how long ago a use may have been that is told of, in milliseconds:
// more than a policy lets anybody go idle for.
const maxAgo = int64(policy.MaxAbsolute / time.Millisecond)

// use reads u, or says which field is wrong.
func (u *useJSON) use(now time.Time) (session.Use, string) {
	id, err := idworker.ParseID(string(u.SessionID))
	if err != nil {
		return session.Use{}, "session_id"
	}
	sum, err := base64.RawURLEncoding.Strict().DecodeString(string(u.Proof))
	if err != nil {
		return session.Use{}, "proof"
	}
	hash, ok := session.HashOfSum(sum)
	switch {
	case !ok:
		return session.Use{}, "proof"
	case u.AgoMS < 0 || u.AgoMS > maxAgo:
		return session.Use{}, "ago_ms"
	}
	return session.Use{ID: id, Hash: hash, At: now.Add(-time.Duration(u.AgoMS) * time.Millisecond)}, ""
}
