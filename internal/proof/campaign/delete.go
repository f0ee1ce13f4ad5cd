//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// deleteAny deletes somebody. The rows of a cluster are not changed by hand: there somebody
// is logged out.
func (o *operator) deleteAny(ctx context.Context) {
	if o.database.site != nil {
		o.endUser(ctx, o.anyPerson())
		return
	}
	o.delete(ctx, o.anyPerson())
}

// delete deletes a person, who goes on trying the tokens, and makes an account of the same
// name. A row keeps its name until the purge, which comes after a day at the earliest: so the
// row gets another name by hand. Without a deletion that is known to be done, nothing more is
// done here: the person may have no account for a while then.
func (o *operator) delete(ctx context.Context, p *person) {
	end := judge.Event{Op: judge.EndUser, User: p.name, What: "deletion of " + p.name}
	if o.rand.IntN(2) == 0 {
		o.asAdmin(ctx, "DELETE", "/v1/admin/users/"+p.id, map[string]any{"username": p.name}, end)
	} else {
		o.atTheShell(ctx, end, "user", "delete", p.name, "--yes")
	}
	o.wait(ctx, o.some(2))
	for {
		deleted := 0
		err := o.database.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM users WHERE deleted_at IS NOT NULL AND id = ?", p.id).Scan(&deleted)
		if ctx.Err() != nil || err == nil && deleted == 0 {
			return // it was not done
		}
		if err == nil {
			_, err = o.database.db.ExecContext(ctx, "UPDATE users SET username = ? WHERE id = ? AND deleted_at IS NOT NULL", "gone"+p.id, p.id)
		}
		if err == nil {
			break
		}
		pause(ctx, 200*time.Millisecond)
	}
	password, _ := p.secrets()
	for ctx.Err() == nil {
		answer := o.ask(ctx, o.any(o.rand), request{method: "POST", path: "/v1/register", body: credentials{p.name, password, nil}})
		var id int64
		if answer.status == 201 || answer.status == 409 { // made by a try whose answer was lost
			if err := o.database.db.QueryRowContext(ctx, "SELECT id FROM users WHERE username = ?", p.name).Scan(&id); err == nil {
				p.id = fmt.Sprint(id)
				return
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
}
