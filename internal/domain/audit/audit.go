// Package audit is the record of what was done to accounts, logins and
// settings: who did it, through which interface, to whom, why, and what it was
// before and after.
//
// A store writes a change and its event in the same transaction, so that there is
// neither one without the other.
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
)

// An Action says what was done.
type Action string

// The actions.
const (
	UserCreated     Action = "user.created"
	UserRenamed     Action = "user.renamed"
	AliasesChanged  Action = "user.aliases_changed"
	ImportBegun     Action = "user.import_begun"
	UsersImported   Action = "user.imported" // with how many; or one, by the import hook
	HashesExported  Action = "user.hashes_exported"
	UserDisabled    Action = "user.disabled"
	UserEnabled     Action = "user.enabled"
	UserDeleted     Action = "user.deleted"            // by an operator, or when the grace period of a person was over
	UserPurged      Action = "user.purged"             // nothing is left that names the person
	DeletionAsked   Action = "user.deletion_asked"     // by the person
	DeletionOff     Action = "user.deletion_cancelled" // by a login of the person, or because the account is that of the last admin or of a service
	DataExported    Action = "user.data_exported"      // by the person, of what is kept of the person
	RoleChanged     Action = "user.role_changed"
	PasswordChanged Action = "user.password_changed" // by the user, who knew the one before
	PasswordReset   Action = "user.password_reset"   // by an operator
	ResetStarted    Action = "user.reset_started"    // a way to set the password was issued
	ResetWithdrawn  Action = "user.reset_withdrawn"
	ResetUsed       Action = "user.reset_used"     // by its holder
	ResetRefused    Action = "user.reset_refused"  // a token of none, or of one that is over; written by a [Collector]
	KeyCreated      Action = "service_key.created" // about the account of the service, as the next
	KeyRevoked      Action = "service_key.revoked"
	LoginEnded      Action = "login.ended"

	ImpersonationBegan Action = "impersonation.began" // by an admin, about the user for whom the admin acts
	ImpersonationEnded Action = "impersonation.ended" // about the same user

	AllLoginsEnded Action = "login.all_ended"
	LoginExpired   Action = "login.expired"
	PolicyChanged  Action = "policy.changed"
	SweepRequested Action = "sweep.requested"
	CommitsLost    Action = "database.commits_lost" // ends that the database had lost were written again
)

// The interfaces through which an actor acts.
const (
	ViaAPI     = "api"
	ViaCLI     = "cli"
	ViaConsole = "console"
	ViaSweep   = "sweep"
	ViaServer  = "server" // found by the program itself
)

// An Actor says who acts, and through which interface. ID is 0 for an actor without
// an account, such as the operator of a shell; Name says who that is.
type Actor struct {
	ID        idworker.ID
	Session   idworker.ID // the login by which a user acts; 0 where there is none. It is not kept
	Key       idworker.ID // the service key by which a service acts; 0 where there is none. It is not kept
	Name      string
	Via       string
	RequestID string
	Address   string
}

// Inside reports whether by is the program itself, or the operator of a shell, who has no
// account, and has the database anyway.
func (by Actor) Inside() bool {
	return by.ID == 0 && (by.Via == ViaCLI || by.Via == ViaSweep || by.Via == ViaServer)
}

// LogArgs are who acts, for a line of the log.
func (by Actor) LogArgs() []any {
	args := []any{"by", by.ID, "from", by.Address, "request_id", by.RequestID}
	if by.Via == ViaConsole {
		args = append(args, "via", by.Via)
	}
	if by.Key != 0 {
		args = append(args, "key_id", by.Key)
	}
	return args
}

// A Target is what something was done to. Kind is "user", "login", "policy",
// "sweep", "key", "cache" or "database"; Name is for people.
type Target struct {
	Kind string
	ID   idworker.ID
	Name string
}

// AboutUser is a user as a target.
func AboutUser(id idworker.ID, name string) Target {
	if id == 0 {
		return Target{}
	}
	return Target{Kind: "user", ID: id, Name: name}
}

// AboutLogin is a login as a target, called by the name of its user.
func AboutLogin(id idworker.ID, name string) Target {
	if id == 0 {
		return Target{}
	}
	return Target{Kind: "login", ID: id, Name: name}
}

// An Event is one entry. Its ID, in the order of time, says when it was made.
type Event struct {
	ID     idworker.ID
	By     Actor
	Need   Need // what must be true of By when this is written. It is not kept
	Action Action
	Target Target
	Reason string          // what the actor gave as one
	Old    json.RawMessage // nil where there is none
	New    json.RawMessage
}

// Limits of an event, in characters and bytes, as the schema has them.
const (
	MaxReason = 1000
	MaxValue  = 4096
)

// An IDs mints the IDs of events.
type IDs interface {
	Next(ctx context.Context) (idworker.ID, error)
}

// New makes an event by that actor; need is the right that the change requires. New
// mints an ID, so it must not run while a row is locked. Old and new become JSON; nil
// is none. New fails if it gets no ID, or if a value cannot be JSON or is too long.
func New(ctx context.Context, ids IDs, by Actor, need Need, action Action, target Target, reason string, before, after any) (Event, error) {
	e, err := WithID(0, by, need, action, target, reason, before, after)
	if err != nil {
		return Event{}, err
	}
	if e.ID, err = ids.Next(ctx); err != nil {
		return Event{}, fmt.Errorf("audit: %s: %w", action, err)
	}
	return e, nil
}

// WithID is New with an ID that was minted before.
func WithID(id idworker.ID, by Actor, need Need, action Action, target Target, reason string, before, after any) (Event, error) {
	e := Event{ID: id, By: by, Need: need, Action: action, Target: target, Reason: reason}
	for _, v := range []struct {
		from any
		to   *json.RawMessage
	}{{before, &e.Old}, {after, &e.New}} {
		if v.from == nil {
			continue
		}
		text, err := json.Marshal(v.from)
		if err == nil && len(text) > MaxValue {
			err = fmt.Errorf("a value of %d bytes", len(text))
		}
		if err != nil {
			return Event{}, fmt.Errorf("audit: %s: %w", action, err)
		}
		*v.to = text
	}
	return e, nil
}

// A Filter chooses events. Zero fields choose all.
type Filter struct {
	Action       Action
	Actor        idworker.ID
	Target       idworker.ID
	ActorName    string      // as the event has it
	TargetName   string      // as the event has it
	Since, Until time.Time   // since inclusive, until exclusive
	Before       idworker.ID // only events older than this one: the last of the page before
	Limit        int         // the most events to return
}

// At is when the event was made.
func (e *Event) At() wire.Time { return wire.At(idworker.Default().Time(e.ID)) }

// Without is a value of the record without the members that out names, of objects at any depth; nil
// if the value cannot be read.
func Without(value []byte, out func(of map[string]any, name string) bool) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	strip(v, out)
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

func strip(v any, out func(of map[string]any, name string) bool) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(name string, _ any) bool { return out(v, name) })
		for _, inner := range v {
			strip(inner, out)
		}
	case []any:
		for _, inner := range v {
			strip(inner, out)
		}
	}
}
