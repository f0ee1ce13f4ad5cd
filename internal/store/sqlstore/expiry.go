package sqlstore

import (
	"encoding/json"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// recordExpiry writes an event for each login, in the transaction that clears
// them: about whose login it was, so that it is found among what else happened
// to that user. idOf is the event's ID.
func recordExpiry(tx *gorm.DB, logins []sweep.Login, why session.Reason, idOf func(sweep.Login) idworker.ID) error {
	const columns, some = 13, 200 // events in one statement
	for part := range slices.Chunk(logins, some) {
		args := make([]any, 0, columns*len(part))
		for _, l := range part {
			// Two texts cannot fail to be JSON.
			value, _ := json.Marshal(struct {
				Session idworker.ID `json:"session_id"`
				Reason  string      `json:"reason"`
			}{l.Token, string(why)})
			args = append(args, int64(idOf(l)), nil, "sweep", audit.ViaSweep, string(audit.LoginExpired),
				"user", int64(l.User), "", "", []byte{}, value, "", "")
		}
		const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		err := tx.Exec("INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, reason, "+
			"old_value, new_value, request_id, address) VALUES "+row+strings.Repeat(", "+row, len(part)-1), args...).Error
		if err != nil {
			return err
		}
	}
	return nil
}
