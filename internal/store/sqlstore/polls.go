package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"
)

// A poller writes for one instance that it polls, and deletes the rows of instances
// that poll no more.
type poller struct {
	last   int64     // what the row of this instance has; 0 before the first poll
	at     time.Time // when that was read, by the clock of this machine
	lost   bool      // a change of an earlier poll is missing, and no answer has said so
	others map[string]lastPoll
}

// A lastPoll is the row of another instance, and when it was found to have changed, by
// the clock of this machine.
type lastPoll struct {
	at    int64
	since time.Time
}

// A row that does not change for silent is deleted. While a row is there, no stamp is earlier than
// its time. So without this, the row of a server whose clock was ahead would hold up the time for
// ever.
const silent = 30 * time.Second

// poll commits a change, which only a server can that decides for its cluster: one that
// was replaced while it stood still, or that has lost the others, says in no other way
// that it is not up to date. Nodes of Galera commit all changes in one order, so
// that what was acknowledged before this change is visible after it.
//
// poll also notices whether the change of an earlier poll is missing. It writes the
// time that the clock shows, also after the clock was set back. The time of the deployment is never
// earlier than a row of polls: with the old row it would stand still until the clock gets there.
func (p *poller) poll(conn *gorm.DB, d *dialect, instance string) error {
	done := conn.Exec("UPDATE polls SET polled_at = "+d.clock+" + ("+d.clock+" = polled_at) WHERE instance = ? AND polled_at >= ?", instance, p.last)
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected == 0 {
		written := conn.Exec(d.polledBy(), instance)
		if written.Error != nil {
			return written.Error
		}
		older := written.RowsAffected > 1 // a row that is new counts as one, a change as two
		// Other instances delete a row that is silent. None makes it older.
		if p.last != 0 && (older || time.Since(p.at) < silent) {
			p.lost = true
		}
	}
	return p.look(conn, instance)
}

// polledBy writes the row of that name anew, with the clock as it is. It changes the row.
func (d *dialect) polledBy() string {
	return "INSERT INTO polls (instance, polled_at) VALUES (?, " + d.clock + ") " +
		"ON DUPLICATE KEY UPDATE polled_at = VALUES(polled_at) + (VALUES(polled_at) = polled_at)"
}

// look reads the rows of all instances.
func (p *poller) look(conn *gorm.DB, instance string) error {
	var rows []struct {
		Instance string
		PolledAt int64
	}
	if err := conn.Raw("SELECT instance, polled_at FROM polls").Scan(&rows).Error; err != nil {
		return err
	}
	now, others := time.Now(), make(map[string]lastPoll, len(rows))
	for _, r := range rows {
		if r.Instance == instance {
			p.last, p.at = r.PolledAt, now
			continue
		}
		last, known := p.others[r.Instance]
		if !known || last.at != r.PolledAt {
			last = lastPoll{r.PolledAt, now}
		}
		others[r.Instance] = last
		if now.Sub(last.since) < silent {
			continue
		}
		if err := conn.Exec("DELETE FROM polls WHERE instance = ? AND polled_at = ?", r.Instance, r.PolledAt).Error; err != nil {
			return err
		}
	}
	p.others = others
	return nil
}

// shows makes a change that only a server can commit that decides for its cluster, if that is needed.
func (db *DB) shows(on *gorm.DB) error {
	if !db.Replaceable() {
		return nil
	}
	// The poll of any instance deletes the row when nothing was asked for in a while.
	return on.Exec(db.d.polledBy(), "lists").Error
}

// latest runs read on a connection whose server decides now. A list decides nothing, so
// no poll has to have proven its server before; but a server that was replaced while it
// stood still would show logins whose end another one has acknowledged.
//
// A member of a group, or a source with a semi-synchronous replica, shows by a change that
// it was not replaced. A read on a node of Galera waits for the others itself. Of all
// other servers it is enough that they take writes.
func (db *DB) latest(ctx context.Context, read func(conn *gorm.DB) error) error {
	if db.from == nil {
		return read(db.gorm.WithContext(ctx))
	}
	return db.gorm.WithContext(ctx).Connection(func(conn *gorm.DB) error {
		conn = conn.Session(&gorm.Session{NewDB: true})
		if err := db.retry(ctx, func() error { return db.shows(conn) }); err != nil {
			return err
		}
		var readOnly bool
		if err := conn.Raw("SELECT " + db.d.readOnly).Scan(&readOnly).Error; err != nil {
			return err
		}
		if readOnly {
			return db.demoted(ErrReadOnly)
		}
		return read(conn)
	})
}

// unfit returns an [*UnfitError] if the promise cannot be kept on the server of a
// connection any more, which was fit when it was made: a group can be switched to
// several primaries while it runs.
func (db *DB) unfit(conn *gorm.DB) error {
	if !db.from.server.Load().member() {
		return nil
	}
	held, ok := conn.Statement.ConnPool.(*sql.Conn)
	if !ok {
		return errors.New("a poll that has no connection of its own")
	}
	return held.Raw(func(c any) error {
		of, ok := c.(*mysqlConn)
		if !ok {
			return errors.New("a connection that is not of this package")
		}
		s, err := askServer(conn.Statement.Context, of)
		if err == nil {
			err = s.unfit()
		}
		return err
	})
}
