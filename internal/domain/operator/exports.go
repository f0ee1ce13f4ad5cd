package operator

import (
	"context"
	"fmt"
	"iter"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// An ExportStore has all users. List is a page of them in the order of their IDs, behind
// one, with their aliases.
type ExportStore interface {
	List(ctx context.Context, after idworker.ID, limit int) ([]account.User, error)
	Record(ctx context.Context, events ...audit.Event) error
}

// An Export reads all users, page by page. Set the fields once, before use.
type Export struct {
	Store ExportStore
	IDs   audit.IDs // of the event; nil without hashes
}

const exportPage = 1000

// Users are all users, in the order in which they came. Without hashes, none of them has
// one. With hashes the record has the export before the first user is returned: who has
// hashes can guess at the passwords. Users fails with an [*invalid.Error] about the reason.
func (x *Export) Users(ctx context.Context, by audit.Actor, hashes bool, reason string) (iter.Seq2[account.User, error], error) {
	if err := CheckReason(reason); err != nil {
		return nil, err
	}
	if hashes {
		e, err := audit.New(ctx, x.IDs, by, needs[exportHashes], audit.HashesExported, audit.Target{}, reason, nil, nil)
		if err == nil {
			err = x.Store.Record(ctx, e)
		}
		if err != nil {
			return nil, fmt.Errorf("operator: export: %w", err)
		}
	}
	return func(yield func(account.User, error) bool) {
		for after := idworker.ID(0); ; {
			page, err := x.Store.List(ctx, after, exportPage)
			if err != nil {
				yield(account.User{}, fmt.Errorf("operator: export: %w", err))
				return
			}
			for _, u := range page {
				if after = u.ID; !hashes {
					u.PasswordHash = account.PHC{}
				}
				if !yield(u, nil) {
					return
				}
			}
			if len(page) < exportPage {
				return
			}
		}
	}, nil
}
