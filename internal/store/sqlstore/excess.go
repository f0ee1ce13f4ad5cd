package sqlstore

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// beyond counts the sessions that a lower limit ends, and the users who lose any: of those
// that live by the policy of after. What times end is counted elsewhere. Where there are
// many further slots it is estimated from a sample of users.
func (s *Settings) beyond(ctx context.Context, after *policy.Policy, now time.Time, floor int64) (sessions, users policy.Estimate, err error) {
	if !s.DB.further.Load() {
		return sessions, users, nil
	}
	var ends struct {
		Lo, Hi *int64
		Within int64
	}
	err = s.DB.gorm.WithContext(ctx).Raw("SELECT (SELECT MIN(user_id) - 1 FROM user_slots) AS lo, (SELECT MAX(user_id) FROM user_slots) AS hi, "+
		"(SELECT COUNT(*) FROM (SELECT 1 AS one FROM user_slots LIMIT ?) AS within) AS within", s.DB.exactly+1).Scan(&ends).Error
	if err != nil || ends.Lo == nil || ends.Hi == nil {
		return sessions, users, err
	}
	r := span{slotsTable, "user_id", *ends.Lo, *ends.Hi, every, 1}
	share, parts := 1.0, []piece{{r.lo, r.hi}}
	if ends.Within > s.DB.exactly {
		if share, err = s.share(ctx, r, max(s.DB.exactly/rounds, strata)); err != nil {
			return sessions, users, err
		}
		parts = r.random(share)
	}
	tooMany, losers, err := s.beyondIn(ctx, parts, after, now, floor)
	if err != nil {
		return sessions, users, err
	}
	return estimated(tooMany, share), estimated(losers, share), nil
}

// beyondIn counts in each of some pieces of the IDs of users, with one statement: how many
// sessions are too many, and of how many users.
func (s *Settings) beyondIn(ctx context.Context, pieces []piece, after *policy.Policy, now time.Time, floor int64) (sessions, users []int64, err error) {
	part := func(table, user, where string) string {
		return "SELECT ? AS piece, " + user + " AS user_id, token_id, token_seen_at, " + classOf + " AS class, " + roleOf(table) + " AS role FROM " + table +
			" WHERE " + where + " AND token_id > ?"
	}
	query := unionAll(len(pieces), part(slotsTable, "user_id", "user_id > ? AND user_id <= ?")+" UNION ALL "+
		part(usersTable, "id", "id IN (SELECT user_id FROM user_slots WHERE user_id > ? AND user_id <= ?)"))
	var args []any
	for i, p := range pieces {
		args = append(args, i, p.lo, p.hi, floor, i, p.lo, p.hi, floor)
	}
	var rows []struct {
		Piece                        int
		UserID, TokenID, TokenSeenAt int64
		Class, Role                  string
	}
	if err := s.DB.gorm.WithContext(ctx).Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, nil, err
	}
	type holder struct {
		piece int
		user  int64
	}
	held := map[holder][]session.Session{}
	for _, r := range rows {
		id, seen := idworker.ID(r.TokenID), fromMillis(r.TokenSeenAt)
		if !after.Lives(policy.Facts{Issued: layout.Time(id), Seen: seen, Class: r.Class, Role: r.Role}, now) {
			continue
		}
		of := holder{r.Piece, r.UserID}
		held[of] = append(held[of], session.Session{ID: id, Seen: seen, Device: session.DeviceOf(r.Class, "")})
	}
	sessions, users = make([]int64, len(pieces)), make([]int64, len(pieces))
	for of, all := range held {
		if n := len(session.Excess(all, after, func(*session.Session) bool { return false })); n > 0 {
			sessions[of.piece] += int64(n)
			users[of.piece]++
		}
	}
	return sessions, users, nil
}
