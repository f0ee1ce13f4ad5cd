package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// LoginRecords are where users have logged in before, and what was counted of the
// attempts at their accounts.
type LoginRecords struct{ DB *DB }

var _ ratelimit.Records = (*LoginRecords)(nil)

// noUser stands where an ID is compared of a name that no user has.
const noUser = "COALESCE(u.id, 0)"

// Look is one statement. It looks for the same number of rows whether or not a user has the name.
// So it looks into further slots by the token that was shown, and not by the user.
func (l *LoginRecords) Look(ctx context.Context, q ratelimit.Query) (ratelimit.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var rows []struct {
		Now, UserID                     int64
		TokenHash, EndedTokenHash       []byte
		SlotHash, EndedSlotHash         []byte
		PlaceSeen, Places               int64
		SVersion, SFull, SPeriod, STold int64
		SNetworks                       []byte
		PVersion, PFull, PPeriod, PTold int64
		DVersion, DFull, DPeriod, DTold int64
	}
	slots, joins, args := "", "", []any{int64(q.User), q.Place, q.Shadow, q.PlaceKey, q.DeviceKey}
	if l.DB.further.Load() {
		slots = "t.token_hash AS slot_hash, e.ended_token_hash AS ended_slot_hash, "
		joins = " LEFT JOIN user_slots t ON t.token_id = ? AND t.user_id = u.id AND t.token_seen_at > 0 LEFT JOIN user_slots e ON e.ended_token_id = ? AND e.user_id = u.id AND e.act_id IS NULL"
		args = append(args, int64(q.Token), int64(q.Token))
	}
	err := l.DB.gorm.WithContext(ctx).Raw("SELECT "+l.DB.d.now+" AS now, "+noUser+" AS user_id, u.token_hash, u.ended_token_hash, "+slots+
		"COALESCE(k.seen_at, 0) AS place_seen, EXISTS (SELECT 1 FROM known_places e WHERE e.user_id = "+noUser+") AS places, "+
		guardColumns("s")+", s.networks AS s_networks, "+guardColumns("p")+", "+guardColumns("d")+
		" FROM (SELECT 1 AS one) o LEFT JOIN users u ON u.id = ?"+
		" LEFT JOIN known_places k ON k.user_id = "+noUser+" AND k.place = ?"+
		" LEFT JOIN login_guards s ON s.guard = COALESCE(u.id, ?)"+
		" LEFT JOIN login_guards p ON p.guard = ? LEFT JOIN login_guards d ON d.guard = ?"+joins, args...).Scan(&rows).Error
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%d rows, want 1", len(rows))
	}
	if err != nil {
		return ratelimit.Record{}, fmt.Errorf("sqlstore: look for an account: %w", err)
	}
	r := &rows[0]
	found := ratelimit.Record{
		Now: r.Now, User: idworker.ID(r.UserID), Tokens: [][]byte{r.TokenHash, r.EndedTokenHash, r.SlotHash, r.EndedSlotHash},
		PlaceSeen: r.PlaceSeen, Places: r.Places != 0,
		Strangers: ratelimit.Count{Key: q.Shadow, Version: r.SVersion, Full: r.SFull, Period: r.SPeriod, Told: r.STold, Networks: r.SNetworks},
		Place:     ratelimit.Count{Key: q.PlaceKey, Version: r.PVersion, Full: r.PFull, Period: r.PPeriod, Told: r.PTold},
		Device:    ratelimit.Count{Key: q.DeviceKey, Version: r.DVersion, Full: r.DFull, Period: r.DPeriod, Told: r.DTold},
	}
	if found.User != 0 {
		found.Strangers.Key = r.UserID
	}
	return found, nil
}

// guardColumns are those of a guard, under names of their own; 0 if there is none.
func guardColumns(of string) string {
	return "COALESCE(" + of + ".version, 0) AS " + of + "_version, COALESCE(" + of + ".full_at, 0) AS " + of + "_full, " +
		"COALESCE(" + of + ".period, 0) AS " + of + "_period, COALESCE(" + of + ".told_at, 0) AS " + of + "_told"
}

// Swap writes a guard by a statement that compares the version of its row. The first version is the
// time at which the count is full, so a row that was deleted and made anew has another version. A
// server finishes a statement also if its client has left. So Swap waits for a statement that has
// begun, also after ctx has ended: otherwise nobody would know whether the attempt was counted.
func (l *LoginRecords) Swap(ctx context.Context, was, is ratelimit.Count) (ratelimit.Count, bool, error) {
	begun, cancel := context.WithTimeout(context.WithoutCancel(ctx), tau)
	defer cancel()
	swapped := false
	err := l.DB.inTurn(begun, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		db := l.DB.gorm.WithContext(begun)
		if was.Version == 0 {
			is.Version = max(1, is.Full)
			err := db.Exec("INSERT INTO login_guards (guard, version, full_at, period, told_at, networks) VALUES (?, ?, ?, ?, ?, ?)",
				is.Key, is.Version, is.Full, is.Period, is.Told, is.Networks).Error
			swapped = err == nil
			return err
		}
		is.Version = was.Version + 1
		done := db.Exec("UPDATE login_guards SET version = ?, full_at = ?, period = ?, told_at = ?, networks = ? WHERE guard = ? AND version = ?",
			is.Version, is.Full, is.Period, is.Told, is.Networks, is.Key, was.Version)
		swapped = done.RowsAffected == 1
		return done.Error
	})
	if err != nil && (errors.Is(err, gorm.ErrDuplicatedKey) || lost(err)) {
		return was, false, nil
	}
	if err != nil {
		return was, false, fmt.Errorf("sqlstore: count an attempt: %w", err)
	}
	return is, swapped, nil
}

// Clear deletes guards that limit nothing any more, those first that are full for longest. Those that were full in
// the same millisecond as the last one are left to the next sweep.
func (l *LoginRecords) Clear(ctx context.Context, after int64, limit int) (last int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err = l.DB.retry(ctx, func() error {
		last = 0
		db := l.DB.gorm.WithContext(ctx)
		var full []struct {
			Now, Guard, FullAt int64
			Networks           []byte
		}
		if err := db.Raw("SELECT "+l.DB.d.clock+" AS now, guard, full_at, networks FROM login_guards WHERE full_at > ? AND full_at <= "+l.DB.d.clock+
			" ORDER BY full_at LIMIT ?", after, limit).Scan(&full).Error; err != nil {
			return err
		}
		var unused []int64
		for _, g := range full {
			if (ratelimit.Count{Full: g.FullAt, Networks: g.Networks}).Unused(g.Now) {
				unused = append(unused, g.Guard)
			}
		}
		if len(full) == limit {
			last = full[limit-1].FullAt
		}
		if len(unused) == 0 {
			return nil
		}
		// An attempt that was counted meanwhile is full later.
		return db.Exec("DELETE FROM login_guards WHERE guard IN ? AND full_at <= "+l.DB.d.clock, unused).Error
	})
	return last, failed("delete login guards", err)
}
