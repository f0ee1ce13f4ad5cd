package operator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// An Incoming is a user as another system has it.
type Incoming struct {
	Line       int      // where it stands, from 1
	Username   string   // in any spelling
	ExternalID string   // what the other system calls the user; may be empty
	Aliases    []string // the other names with which the user may log in, in any spelling
	Hash       string   // of the password, as that system writes it; empty: none
	Role       string   // empty: user
	Disabled   bool
	Created    time.Time // zero: now
	// Bad is what is wrong with the line, if its reader could not read it. Then nothing else
	// is set.
	Bad error
}

// A Rejected is a line of which nothing came.
type Rejected struct {
	Line int
	// Fields are what is wrong with it. A conflict has the code [CodeConflict].
	Fields []invalid.Field
}

// CodeConflict says of a field that a user with that name, alias or external ID is here already,
// with another value.
const CodeConflict = "conflict"

// An ImportStore adds users.
//
// Known returns the users that have one of the names, as username or alias, or of the external
// IDs, each with all aliases. AddAll adds users with their aliases, all or none, with events, if
// by has what need says; it fails with [account.ErrExists] if a name or an external ID is taken. Record writes an event alone.
type ImportStore interface {
	Known(ctx context.Context, names, externalIDs []string) ([]account.User, error)
	AddAll(ctx context.Context, by audit.Actor, need audit.Need, users []account.User, events ...audit.Event) error
	Record(ctx context.Context, events ...audit.Event) error
}

// HashFormats are how many users have hashes of which format. Begin is called before the
// first user of an import is added, and Count after the last one.
type HashFormats interface {
	Begin(ctx context.Context) error
	Count(ctx context.Context, formatOf func(account.PHC) string, imported bool) ([]account.FormatCount, error)
}

// An Import adds the users of another system. Set the fields once, before use.
type Import struct {
	Store   ImportStore
	Formats HashFormats
	Hasher  *account.Hasher
	IDs     audit.IDs // of users and of events
	Now     func() time.Time

	Source   string            // the name of the file, for the record
	Firebase *account.Firebase // the parameters of its hashes, if there are any
	DryRun   bool              // look and report only
	Reason   string
	// Reject gets each line of which nothing came, and Progress how many lines were read.
	Reject   func(Rejected)
	Progress func(lines int64)

	begun bool // the record has it
	fresh bool // nobody was here of the batch before
	dry   *dry // what a dry run would have added
}

// An Imported is what came of an import, in lines.
type Imported struct {
	Lines     int64 `json:"lines"`
	Added     int64 `json:"added"`
	Present   int64 `json:"present"`   // the user was here already, as the line says
	Conflicts int64 `json:"conflicts"` // a user with that name or external ID is here, and is not as the line says
	Bad       int64 `json:"bad"`
}

// importBatch is how many lines are added with one transaction.
const importBatch = 1000

// Run adds the users that are not here yet, a thousand at a time, and changes none that is.
// So it may be stopped at any time and run again, and a second run of the same lines
// changes nothing. A user who has logged in since, and so has another hash, is the same if
// the external ID or the time of creation says so.
//
// Its memory does not grow with the number of lines, but for a dry run, which remembers
// some 90 bytes of each user. It fails with an [*invalid.Error] about the reason, and where
// the store fails; what was added stays, and the result beside the error has it. Then lines
// may still be read by a goroutine that ends with the next one.
func (im *Import) Run(ctx context.Context, by audit.Actor, lines iter.Seq[Incoming]) (done Imported, err error) {
	if err := CheckReason(im.Reason); err != nil {
		return done, err
	}
	im.dry, im.fresh = newDry(im.DryRun), false
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err = im.addAll(ctx, by, im.batches(reading, lines), &done)
	err = errors.Join(err, ctx.Err())
	if im.begun {
		err = errors.Join(err, im.end(context.WithoutCancel(ctx), by, done))
	}
	if err != nil {
		return done, fmt.Errorf("operator: import: %w", err)
	}
	return done, nil
}

// addAll adds batches until they, or ctx, end: the next one may never come.
func (im *Import) addAll(ctx context.Context, by audit.Actor, batches <-chan batch, done *Imported) error {
	for {
		select {
		case b, more := <-batches:
			if !more {
				return nil
			}
			if err := im.add(ctx, by, b, done); err != nil {
				return err
			}
			if im.Progress != nil {
				im.Progress(done.Lines)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// A batch is lines that were read: those that can be users, and the others.
type batch struct {
	lines int64
	good  []newcomer
	bad   []Rejected
}

// batches reads the lines beside their being added, until they or ctx end.
func (im *Import) batches(ctx context.Context, lines iter.Seq[Incoming]) <-chan batch {
	to := make(chan batch, 1)
	go func() {
		defer close(to)
		var b batch
		send := func() bool {
			select {
			case to <- b:
			case <-ctx.Done():
			}
			b = batch{good: make([]newcomer, 0, importBatch)}
			return ctx.Err() == nil
		}
		for in := range lines {
			b.lines++
			if n, fields := im.check(in); len(fields) > 0 {
				b.bad = append(b.bad, Rejected{in.Line, fields})
			} else {
				b.good = append(b.good, n)
			}
			if b.lines == importBatch && !send() {
				return
			}
		}
		send()
	}()
	return to
}

// A newcomer is a line that can be a user.
type newcomer struct {
	line int
	user account.User // without ID and hash
	hash account.ImportedHash
	// said: the line has the time of creation.
	said bool
}

// check reads a line, or says all that is wrong with it.
func (im *Import) check(in Incoming) (n newcomer, fields []invalid.Field) {
	note := func(err error) {
		if bad, ok := errors.AsType[*invalid.Error](err); ok {
			fields = append(fields, bad.Fields...)
		} else if err != nil {
			fields = append(fields, invalid.Field{Field: "line", Code: "malformed", Message: err.Error()})
		}
	}
	if in.Bad != nil {
		note(in.Bad)
		return n, fields
	}
	var err error
	n.line, n.said = in.Line, !in.Created.IsZero()
	n.user.Username, err = account.NormalizeUsername(in.Username)
	note(err)
	n.user.Aliases, err = account.NormalizeAliases(in.Aliases)
	note(err)
	n.user.ExternalID, n.user.CountedByID = in.ExternalID, true
	note(account.CheckExternalID(in.ExternalID))
	n.hash, err = account.ReadImportedHash(in.Hash, im.Firebase)
	note(err)
	if n.user.Role = account.Role(in.Role); in.Role == "" {
		n.user.Role = account.RoleUser
	}
	if _, err := account.ParseRole(string(n.user.Role)); err != nil {
		note(invalid.Of("role", account.CodeUnknown, "must be user, service or admin"))
	}
	now := im.Now().UTC().Truncate(time.Millisecond)
	n.user.PasswordVersion, n.user.CreatedAt, n.user.UpdatedAt = 1, now, now
	if n.said {
		n.user.CreatedAt = in.Created.UTC().Truncate(time.Millisecond)
		if n.user.CreatedAt.After(now) || !n.user.CreatedAt.After(time.UnixMilli(0)) {
			note(invalid.Of("created", "out_of_range", "must be after 1970 and not in the future"))
		}
	}
	if in.Disabled {
		n.user.DisabledAt = now
	}
	if !n.hash.IsZero() {
		n.user.ImportedVersion = n.user.PasswordVersion
	}
	return n, fields
}
