package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/migrations"
)

// News returns the ends that were stamped at since or later, by walking the
// index of stamps; a zero since asks for those of the last keep. One goroutine at a
// time may call it.
func (s *Sessions) News(ctx context.Context, since time.Time, keep time.Duration) (session.News, error) {
	news, err := s.news(ctx, since, keep)
	return news, failed("news", s.DB.demoted(err))
}

// news reads all on one connection: the server that says that it takes writes is the
// one that the ends come from.
func (s *Sessions) news(ctx context.Context, since time.Time, keep time.Duration) (news session.News, err error) {
	ctx = context.WithValue(ctx, polling{}, true)
	err = s.DB.gorm.WithContext(ctx).Connection(func(conn *gorm.DB) error {
		conn = conn.Session(&gorm.Session{NewDB: true}) // each statement has its own error
		if err := s.prove(conn); err != nil {
			return err
		}
		// The clock first, and the ends after: what commits in between is stamped
		// later than the clock, or within the next window's overlap.
		asked := s.now()
		now, err := s.DB.rules(ctx, conn)
		if err != nil {
			return err
		}
		news = session.News{
			Now: fromMillis(now.Now), Asked: asked, Global: idworker.ID(now.GlobalFloor), Policy: now.policy(), Steady: now.steady, Server: now.Server, Lost: s.poller.lost,
		}
		if since.IsZero() {
			since = news.Now.Add(-keep)
		}
		if news.Ends, err = s.ends(conn, since); err == nil {
			news.Renames, err = s.renames(conn, since)
		}
		if err == nil {
			s.poller.lost = false
			s.decides(now.Server)
		}
		return err
	})
	return news, err
}

// prove returns nil if the server of the connection decides, and has applied what was
// acknowledged on any other before. SQLite has no server, but a file.
func (s *Sessions) prove(conn *gorm.DB) error {
	if s.Instance == "" || s.DB.d.name == migrations.SQLite {
		return s.DB.file.check()
	}
	if err := s.DB.unfit(conn); err != nil {
		if _, ok := errors.AsType[*UnfitError](err); ok {
			s.DB.Leave() // new connections are refused
		}
		return err
	}
	return s.poller.poll(conn, &s.DB.d, s.Instance)
}

// decides notes the server on which a poll has succeeded. Connections to the one before
// are left.
func (s *Sessions) decides(server string) {
	from := s.DB.from
	if from == nil || s.Instance == "" {
		return
	}
	if s.DB.galera() {
		from.decides.Store(nil)
		return
	}
	if before := from.decides.Swap(&server); before != nil && *before != server {
		s.DB.Leave()
	}
}

func (s *Sessions) ends(conn *gorm.DB, since time.Time) (all []session.End, err error) {
	const stamped = ", token_floor, token_floor_at, ended_token_id, ended_reason FROM "
	query, args := "SELECT id AS user_id, 0 AS slot"+stamped+"users WHERE token_floor_at >= ?", []any{since.UnixMilli()}
	if s.DB.further.Load() { // the rules were read before
		query += " UNION ALL SELECT user_id, slot" + stamped + "user_slots WHERE token_floor_at >= ?"
		args = append(args, since.UnixMilli())
	}
	rows, err := conn.Raw(query, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	for rows.Next() {
		end, err := scanEnd(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, end)
	}
	return all, rows.Err()
}

var errNoSettings = errors.New("the settings have no row of scope 'global'; restore it from a backup")

func scanEnd(rows *sql.Rows) (session.End, error) {
	var (
		user, floor, at int64
		slot            session.Slot
		last            sql.NullInt64
		why             sql.NullString
	)
	err := rows.Scan(&user, &slot, &floor, &at, &last, &why)
	end := session.End{UserID: idworker.ID(user), Slot: slot, Floor: idworker.ID(floor), Reason: session.Revoked, At: fromMillis(at)}
	if last.Int64 == floor && why.String != "" {
		end.Reason = session.Reason(why.String)
	}
	return end, err
}

// late is how long a change may take from its stamp to its commit without being
// stamped anew.
const late = time.Second

// restamp stamps the last ends of that user's logins anew, if late or more has passed since start.
// The feed of another instance may have passed the first stamp before the end was committed. It
// finds the end at the new stamp. One that was stamped just now stays. If restamp fails, the caller
// does not acknowledge the end.
func (s *Sessions) restamp(ctx context.Context, user int64, start time.Time) error {
	if time.Since(start) < s.DB.late {
		return nil
	}
	// The caller that waited for the change may have no time left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tau)
	defer cancel()
	for _, table := range s.DB.tables() {
		key := "id"
		if table == slotsTable {
			key = "user_id"
		}
		err := s.DB.retry(ctx, func() error {
			return s.DB.gorm.WithContext(ctx).Exec("UPDATE "+table+" SET token_floor_at = "+s.DB.d.now+" WHERE "+key+
				" = ? AND token_floor > 0 AND token_floor_at < "+s.DB.d.now+" - ?", user, s.DB.late.Milliseconds()).Error
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stampNow stamps the last end of a row anew, if there was one. It is for a statement that ends no
// login there, and whose answer says that no earlier login lives on any instance. The earlier end
// may have been committed so late that the feeds have passed its stamp.
func (d *dialect) stampNow() string {
	return "token_floor_at = CASE WHEN token_floor > 0 THEN " + d.now + " ELSE token_floor_at END"
}
