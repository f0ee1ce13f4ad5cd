package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// maxClass is how many characters the name of a class has: it is a column of each login.
const maxClass = 16

// IsClass reports whether a class may have that name.
func IsClass(s string) bool {
	return s != "" && len(s) <= maxClass && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// ParseOverLimit reads whether a login above the number of sessions is refused, or replaces
// the oldest one. ok is false for anything else.
func ParseOverLimit(text string) (refuse, ok bool) {
	return text == wire.Refuse, text == wire.Refuse || text == wire.ReplaceOldest
}

func (p *Policy) checkClasses(wrong func(field, code, format string, args ...any)) {
	const field = "device_classes"
	seen := map[string]bool{}
	for _, c := range p.Classes {
		switch {
		case !IsClass(c):
			wrong(field, CodeInvalid, "a device class must have 1 to %d characters of a-z, 0-9, - and _", maxClass)
			return
		case seen[c]:
			wrong(field, CodeInvalid, "each device class must be there once")
			return
		}
		seen[c] = true
	}
	switch {
	case p.Classes != nil && !seen[OtherClass]:
		wrong(field, CodeInvalid, "the device classes must include %q, which is for clients that say nothing", OtherClass)
	case len(p.Classes) > MostClasses:
		wrong(field, CodeInvalid, "there must be at most %d device classes", MostClasses)
	}
}

// Roles are those for which there may be an override.
func Roles() []string { return []string{"user", "service", "admin"} }

func (p *Policy) checkOverrides(all *invalid.Error) {
	if len(p.Overrides) > MostOverrides {
		all.Add("overrides", CodeTooMany, fmt.Sprintf("there must be at most %d overrides", MostOverrides))
		return
	}
	seen := map[Scope]bool{}
	for i := range p.Overrides {
		o := &p.Overrides[i]
		at := func(code, format string, args ...any) {
			name := o.Scope.String()
			all.Fields = append(all.Fields, invalid.Field{Field: "overrides", Code: code, Message: "the override of " + name + " " + fmt.Sprintf(format, args...), Name: name})
		}
		switch {
		case (o.Scope.Class == "") == (o.Scope.Role == ""):
			at(CodeInvalid, "must name either a device class or a role")
		case o.Scope.Class != "" && !slices.Contains(p.DeviceClasses(), o.Scope.Class):
			at(CodeInvalid, "must name one of the classes %s", strings.Join(p.DeviceClasses(), ", "))
		case o.Scope.Role != "" && !slices.Contains(Roles(), o.Scope.Role):
			at(CodeInvalid, "must name one of the roles %s", strings.Join(Roles(), ", "))
		case seen[o.Scope]:
			at(CodeInvalid, "must be there once")
		case o.Idle == 0 && o.Absolute == 0 && o.Touch == 0 && o.MaxSessions == 0:
			at(CodeInvalid, "must set something")
		}
		seen[o.Scope] = true
		for _, f := range []struct {
			name        string
			d           time.Duration
			least, most time.Duration
		}{
			{"idle timeout", o.Idle, MinIdle, MaxAbsolute},
			{"absolute lifetime", o.Absolute, MinIdle, MaxAbsolute},
			{"interval of touches", o.Touch, MinTouch, MaxAbsolute},
		} {
			switch {
			case f.d == 0:
			case f.d < f.least:
				at(CodeTooShort, "must have an %s of at least %v", f.name, f.least)
			case f.d > f.most:
				at(CodeTooLong, "must have an %s of at most 400 days", f.name)
			case f.d%time.Second != 0:
				at(CodeInvalid, "must have an %s of whole seconds", f.name)
			}
		}
		if o.Idle != 0 && o.Absolute != 0 && o.Idle > o.Absolute {
			at(CodeTooLong, "must not have an idle timeout that is longer than its absolute lifetime")
		}
		switch {
		case o.MaxSessions != 0 && o.Scope.Role != "":
			at(CodeInvalid, "must not have a number of sessions: a role has none of its own")
		case o.MaxSessions < 0 || o.MaxSessions > MostSessions:
			at(CodeInvalid, "must allow 1 to %d sessions", MostSessions)
		}
	}
}

// OverridesDoc are the overrides as JSON has them: in the API, in the database, in the record.
func (p *Policy) OverridesDoc() []wire.Override {
	doc := make([]wire.Override, len(p.Overrides))
	for i := range p.Overrides {
		o := &p.Overrides[i]
		doc[i] = wire.Override{
			DeviceClass: o.Scope.Class, Role: o.Scope.Role,
			IdleTimeout: wire.Seconds(o.Idle), AbsoluteLifetime: wire.Seconds(o.Absolute), TouchInterval: wire.Seconds(o.Touch), MaxSessions: o.MaxSessions,
		}
	}
	return doc
}

// FromOverrides are the overrides of a document.
func FromOverrides(doc []wire.Override) []Override {
	var all []Override
	for _, d := range doc {
		all = append(all, Override{
			Scope: Scope{d.DeviceClass, d.Role},
			Idle:  time.Duration(d.IdleTimeout), Absolute: time.Duration(d.AbsoluteLifetime), Touch: time.Duration(d.TouchInterval), MaxSessions: d.MaxSessions,
		})
	}
	return all
}

// termsDoc is what a policy says of devices and roles, as it is kept.
type termsDoc struct {
	Refuse    bool            `json:"refuse,omitempty"`
	Classes   []string        `json:"device_classes,omitempty"`
	Overrides []wire.Override `json:"overrides,omitempty"`
	Bases     []baseDoc       `json:"bases,omitempty"`
	LoweredIn int64           `json:"lowered_in,omitempty"` // a version
	LoweredAt int64           `json:"lowered_at,omitempty"` // Unix milliseconds
}

// A baseDoc is an entry of Policy.Scopes. Its times follow from the overrides.
type baseDoc struct {
	Class    string `json:"device_class,omitempty"`
	Role     string `json:"role,omitempty"`
	Idle     int64  `json:"idle_base"` // Unix milliseconds
	Absolute int64  `json:"absolute_base"`
}

// maxTerms is how long that may be. A scope that a policy no longer names stays for as long as
// a login may depend on it: who names others many times within a lifetime could fill a row.
const maxTerms = 12_000

// ErrCrowded means that overrides of too many classes were in force lately.
var ErrCrowded = errors.New("must name the classes of before: logins on devices of too many classes still depend on overrides that are gone")

// EncodeTerms is what p says of devices and roles, as it is kept: nil if it says nothing.
// It fails with [ErrCrowded].
func (p *Policy) EncodeTerms() ([]byte, error) {
	doc := termsDoc{Refuse: p.Refuse, Classes: p.Classes, Overrides: p.OverridesDoc()}
	for s, e := range p.Scopes {
		doc.Bases = append(doc.Bases, baseDoc{s.Class, s.Role, e.IdleBase.UnixMilli(), e.AbsoluteBase.UnixMilli()})
	}
	if p.LoweredIn != 0 {
		doc.LoweredIn, doc.LoweredAt = p.LoweredIn, p.LoweredAt.UnixMilli()
	}
	if !doc.Refuse && doc.Classes == nil && len(doc.Overrides) == 0 && doc.Bases == nil && doc.LoweredIn == 0 {
		return nil, nil
	}
	slices.SortFunc(doc.Bases, func(a, b baseDoc) int { return strings.Compare(a.Class+"/"+a.Role, b.Class+"/"+b.Role) })
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("policy: encode: %w", err)
	}
	if len(text) > maxTerms {
		return nil, ErrCrowded
	}
	return text, nil
}

// DecodeTerms sets of p what [Policy.EncodeTerms] has written. The times of p must be set.
// It fails on what it does not know: what it left out could end logins, or keep them alive.
func (p *Policy) DecodeTerms(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var doc termsDoc
	in := json.NewDecoder(strings.NewReader(string(text)))
	in.DisallowUnknownFields()
	if err := in.Decode(&doc); err != nil {
		return fmt.Errorf("policy: what it says of devices and roles cannot be read: %w", err)
	}
	p.Refuse, p.Overrides = doc.Refuse, FromOverrides(doc.Overrides)
	for i := range p.Overrides {
		p.Overrides[i].MaxSessions = min(p.Overrides[i].MaxSessions, MostSessions) // an earlier release allowed 32
	}
	if doc.LoweredIn != 0 {
		p.LoweredIn, p.LoweredAt = doc.LoweredIn, time.UnixMilli(doc.LoweredAt).UTC()
	}
	if len(doc.Classes) > 0 {
		p.Classes = doc.Classes
	}
	if len(doc.Bases) == 0 {
		return nil
	}
	p.Scopes = make(map[Scope]Expiry, len(doc.Bases))
	for _, b := range doc.Bases {
		e := p.resolve(b.Class, b.Role)
		e.IdleBase, e.AbsoluteBase = time.UnixMilli(b.Idle).UTC(), time.UnixMilli(b.Absolute).UTC()
		p.Scopes[Scope{b.Class, b.Role}] = e
	}
	return nil
}
