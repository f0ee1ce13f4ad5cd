package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
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

// ruleOf is what of a policy decides when a login is over.
//
// A caller that does not know of scopes repeats no answer while a policy has scopes, see
// eventStream.deaf. But it refuses by itself each token that was issued at or before AbsoluteBase.
// So it gets the earliest of all AbsoluteBases.
func ruleOf(p *policy.Policy, knowsScopes bool) *wire.Rule {
	r := &wire.Rule{
		Version: &p.Version, Idle: wire.Millis(p.Idle), Absolute: wire.Millis(p.Absolute), Touch: wire.Millis(p.Touch),
		IdleBase: wire.At(p.IdleBase), AbsoluteBase: wire.At(p.AbsoluteBase),
	}
	for s, e := range p.Scopes {
		if !knowsScopes {
			if e.AbsoluteBase.Before(r.AbsoluteBase.Time) {
				r.AbsoluteBase = wire.At(e.AbsoluteBase)
			}
			continue
		}
		r.Scopes = append(r.Scopes, wire.ScopeRule{
			DeviceClass: s.Class, Role: s.Role, Idle: wire.Millis(e.Idle), Absolute: wire.Millis(e.Absolute), Touch: wire.Millis(e.Touch),
			IdleBase: wire.At(e.IdleBase), AbsoluteBase: wire.At(e.AbsoluteBase),
		})
	}
	return r
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
	answers := make([]wire.Verification, len(tokens))
	noted, refused := make([]bool, len(uses)), make([]error, len(tokens))
	var undecided atomic.Int64
	var cause atomic.Pointer[error] // of one of them
	knowsSlots := c.GetHeader(wire.SlotsHeader) == "1"
	side(len(tokens), func(i int) {
		var err error
		ctx := ctx
		if passive[i] {
			ctx = flakepass.NewPassiveContext(ctx)
		}
		if answers[i], refused[i], err = s.answer(ctx, string(tokens[i])); err != nil {
			undecided.Add(1)
			cause.Store(&err)
		}
		if answers[i].State == wire.Alive && !knowsSlots && s.InForce.Current().Further {
			// It must not be repeated: who asks gets no ends, see eventStream.deaf.
			answers[i].Believe = new(wire.Millis)
		}
	})
	// Not side by side: what records a refusal reads the headers of the one answer.
	for _, err := range refused {
		if err != nil {
			s.credentialRefused(c, err)
		}
	}
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
	return answer(c, http.StatusOK, wire.Verifications{
		Now: wire.At(now), Bound: wire.Millis(s.Bound), Rule: ruleOf(s.InForce.Current(), knowsSlots), Verifications: answers, Used: noted,
	})
}

// tooMany says of a question about more tokens than the limit allows at once how
// many it may be about.
func tooMany(err error) error {
	over, ok := errors.AsType[*ratelimit.TooManyError](err)
	if !ok {
		return err
	}
	return invalid.Of("tokens", "too_long", fmt.Sprintf("must have at most %d tokens: the limit introspect of the policy allows no more at once", over.Most))
}

// answer is the verification of one token. To ask counts as a use of the token, as
// it does with GET /v1/verify, unless ctx is passive. refused is the refusal, for the
// record; err says why it is undecided.
func (s *server) answer(ctx context.Context, token string) (answer wire.Verification, refused, err error) {
	t, err := flakepass.ParseToken(token)
	var who flakepass.Identity
	var on session.Accept
	horizon := s.Recognition.Horizon() // before all that is looked at, or it would promise more
	if err == nil {
		who, on, err = s.Recognition.Examine(ctx, t)
	}
	if refusal, ok := errors.AsType[*flakepass.Refusal](err); ok {
		return wire.Verification{State: wire.Refused, Code: refusal.Code(), Title: refusal.Error()}, err, nil
	}
	if err != nil {
		return wire.Verification{State: wire.Undecided}, nil, err
	}
	now, clock := time.Now(), s.Recognition.Clock()
	// A row that was read just now has its own end, and not a policy that was changed
	// since the horizon.
	age := session.Age(now, horizon)
	if on.Horizon.IsZero() {
		age = max(age, session.Age(now, on.AsOf))
	}
	life := session.Life(s.Bound)
	asOfAge := ceilMS(min(max(age, 0), 2*life)) // there may be no horizon at all
	believe := wire.Millis(max(life-session.Age(now, on.AsOf), 0))
	if who.Act != 0 {
		believe = 0 // it is over by another rule than the policy's
	}
	return wire.Verification{State: wire.Alive, AsOfAge: &asOfAge, Believe: &believe, Slot: wire.Slot(on.Slot), Identity: &wire.Identity{
		UserID: who.UserID, Username: who.Username, Role: who.Role, SessionID: who.SessionID, DeviceClass: who.DeviceClass,
		Act:        wire.ActOf(who.Act),
		AuthMethod: who.AuthMethod, AuthTime: wire.At(who.AuthTime),
		IssuedAt: wire.At(who.IssuedAt), LastSeenAt: wire.At(who.LastSeenAt),
		ExpiresAt: wire.At(who.ExpiresAt), IdleExpiresAt: wire.At(who.IdleExpiresAt),
		ExpiresIn:     wire.Millis(max(who.ExpiresAt.Sub(clock), 0)),
		IdleExpiresIn: wire.Millis(max(who.IdleExpiresAt.Sub(clock), 0)),
	}}, nil, nil
}

// ceilMS rounds up: an age in an answer may be too large, and not too small.
func ceilMS(d time.Duration) wire.Millis {
	return wire.Millis((d + time.Millisecond - 1).Truncate(time.Millisecond))
}

func bindVerifications(c *gin.Context, now time.Time) (tokens []text, passive []bool, uses []session.Use, err error) {
	var in verificationsRequest
	if err := bind(c, &in); err != nil {
		return nil, nil, nil, err
	}
	wrong := &invalid.Error{}
	switch {
	case len(in.Tokens) > maxTokens:
		wrong.Add("tokens", "too_long", "must have at most 100 tokens")
	case len(in.Tokens) == 0 && len(in.Used) == 0:
		wrong.Add("tokens", "required", "must have at least one token")
	}
	if len(in.Used) > maxUses {
		wrong.Add("used", "too_long", "must have at most 64 uses")
	}
	passive = make([]bool, len(in.Tokens))
	for _, i := range in.Passive {
		if i < 0 || i >= len(in.Tokens) {
			wrong.Add("passive", "out_of_range", "must be indexes of the tokens, from 0")
			break
		}
		passive[i] = true
	}
	uses = make([]session.Use, 0, len(in.Used))
	for _, u := range in.Used {
		use, field := u.use(now)
		if field != "" {
			wrong.Add(field, "invalid", "must be as the contract says, in each use")
			break
		}
		uses = append(uses, use)
	}
	if err := wrong.OrNil(); err != nil {
		return nil, nil, nil, err
	}
	return in.Tokens, passive, uses, nil
}

// maxAgo is how long ago a reported use may have been, in milliseconds: more than the
// longest idle timeout of a policy.
const maxAgo = int64(policy.MaxAbsolute / time.Millisecond)

// use reads u, or says which field is wrong.
func (u *useJSON) use(now time.Time) (session.Use, string) {
	id, err := idworker.ParseID(string(u.SessionID))
	if err != nil {
		return session.Use{}, "session_id"
	}
	sum, err := base64.RawURLEncoding.Strict().DecodeString(string(u.Proof))
	hash, ok := session.HashOfSum(sum)
	switch {
	case err != nil, !ok, len(u.Proof) != base64.RawURLEncoding.EncodedLen(len(sum)): // the decoder skips ends of lines
		return session.Use{}, "proof"
	case u.AgoMS < 0 || u.AgoMS > maxAgo:
		return session.Use{}, "ago_ms"
	}
	return session.Use{ID: id, Hash: hash, At: now.Add(-time.Duration(u.AgoMS) * time.Millisecond)}, ""
}
