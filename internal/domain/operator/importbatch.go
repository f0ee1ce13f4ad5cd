package operator

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// add adds those of a batch who are not here yet, and counts and names the others. After a
// batch of whom nobody was here, it does not look first: a name that is taken fails the
// transaction.
func (im *Import) add(ctx context.Context, by audit.Actor, b batch, done *Imported) error {
	for try := 1; ; try++ {
		var known []account.User
		if look := !im.fresh || im.DryRun || try > 1; look && len(b.good) > 0 {
			var err error
			if known, err = im.Store.Known(ctx, namesOf(b.good), externalIDsOf(b.good)); err != nil {
				return err
			}
		}
		s := im.sort(b, known)
		var err error
		if !im.DryRun && len(s.fresh) > 0 {
			err = im.write(ctx, by, s.fresh)
		}
		if errors.Is(err, account.ErrExists) && try < 5 {
			continue // also where somebody else has made one of them meanwhile
		}
		if err != nil {
			return err
		}
		im.fresh = len(known) == 0
		im.dry.add(s.fresh)
		done.Lines += b.lines
		done.Added += int64(len(s.fresh))
		done.Present += s.present
		done.Conflicts += s.conflicts
		done.Bad += int64(len(b.bad))
		for _, r := range s.rejected {
			if im.Reject != nil {
				im.Reject(r)
			}
		}
		return nil
	}
}

// A sorted is a batch in which it is known who is here.
type sorted struct {
	fresh              []newcomer
	present, conflicts int64
	rejected           []Rejected // in the order of the lines
}

func (im *Import) sort(b batch, known []account.User) (s sorted) {
	here := newHere(known)
	s.rejected = append(s.rejected, b.bad...)
	for i := range b.good {
		n := &b.good[i]
		switch fields, found := here.compare(n, im.dry); {
		case len(fields) > 0:
			s.conflicts++
			s.rejected = append(s.rejected, Rejected{n.line, fields})
		case found:
			s.present++
		default:
			s.fresh = append(s.fresh, *n)
			here.take(n)
		}
	}
	slices.SortFunc(s.rejected, func(a, b Rejected) int { return cmp.Compare(a.Line, b.Line) })
	return s
}

func namesOf(all []newcomer) []string {
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(append(names, all[i].user.Username), all[i].user.Aliases...)
	}
	return names
}

func externalIDsOf(all []newcomer) (ids []string) {
	for i := range all {
		if id := all[i].user.ExternalID; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// write adds users. The first batch has the event that an import has begun, and each user with rights
// has the event of one who was created.
func (im *Import) write(ctx context.Context, by audit.Actor, fresh []newcomer) error {
	need := needs[createUser]
	hashes := make([]account.ImportedHash, len(fresh))
	for i := range fresh {
		need = max(need, needs[create(fresh[i].user.Role)])
		if len(fresh[i].user.Aliases) > 0 {
			need = max(need, needs[changeNames])
		}
		hashes[i] = fresh[i].hash
	}
	kept, err := im.Hasher.KeepAll(ctx, operator, hashes)
	if err != nil {
		return err
	}
	users := make([]account.User, len(fresh))
	for i := range fresh {
		users[i] = fresh[i].user
		users[i].PasswordHash = kept[i]
		if users[i].ID, err = im.IDs.Next(ctx); err != nil {
			return err
		}
	}
	var events []audit.Event
	if !im.begun {
		e, err := audit.New(ctx, im.IDs, by, need, audit.ImportBegun, audit.Target{}, im.Reason, nil, importedFile{File: im.Source})
		if err != nil {
			return err
		}
		if err := im.Formats.Begin(ctx); err != nil {
			return err
		}
		events = append(events, e)
	}
	for i := range users {
		if users[i].Role == account.RoleUser {
			continue // there may be millions
		}
		e, err := created(ctx, im.IDs, by, need, &users[i], im.Reason)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	if err := im.Store.AddAll(ctx, by, need, users, events...); err != nil {
		return err
	}
	im.begun = true
	return nil
}

// An importedFile is an import as the record has it.
type importedFile struct {
	File string `json:"file"`
	*Imported
}

// end counts the formats, which unknown names follow, and records what came of it.
func (im *Import) end(ctx context.Context, by audit.Actor, done Imported) error {
	e, err := audit.New(ctx, im.IDs, by, needs[createUser], audit.UsersImported, audit.Target{}, im.Reason, nil, importedFile{im.Source, &done})
	if err == nil {
		err = im.Store.Record(ctx, e)
	}
	_, counted := im.Formats.Count(ctx, im.Hasher.Format, true)
	return errors.Join(err, counted)
}
