package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ServiceKeys are the keys of services.
type ServiceKeys struct{ DB *DB }

var _ servicekey.Rows = (*ServiceKeys)(nil)

// A keyRow is a key with its account and, in a list, with who made it.
type keyRow struct {
	ID, UserID, CreatedBy        int64
	Name, Scopes                 string
	ExpiresAt, RevokedAt, UsedAt *int64
	Hash                         []byte
	Username, Role, CreatorName  string
	DisabledAt                   *int64
	Now                          int64 // by the clock of the database
	ReadOnly                     bool
}

// keyColumns are those of a key k with its account u; COALESCE is for where there is none.
const keyColumns = "COALESCE(k.id, 0) AS id, COALESCE(k.user_id, 0) AS user_id, COALESCE(k.created_by, 0) AS created_by, " +
	"COALESCE(k.name, '') AS name, COALESCE(k.scopes, '') AS scopes, k.expires_at, k.revoked_at, k.used_at, k.hash, " +
	"COALESCE(u.username, '') AS username, COALESCE(u.role, '') AS role, u.disabled_at"

func (r *keyRow) key() servicekey.Key {
	return servicekey.Key{
		ID: idworker.ID(r.ID), UserID: idworker.ID(r.UserID), Name: r.Name, Scopes: servicekey.ScopesOf(r.Scopes),
		Creator:   servicekey.Creator{ID: idworker.ID(r.CreatedBy), Name: r.CreatorName},
		ExpiresAt: timeOrZero(r.ExpiresAt), RevokedAt: timeOrZero(r.RevokedAt), UsedAt: timeOrZero(r.UsedAt),
	}
}

func (r *keyRow) held(asOf time.Time) (h servicekey.Held) {
	h = servicekey.Held{Key: r.key(), Username: r.Username, Role: r.Role, Disabled: r.DisabledAt != nil, AsOf: asOf}
	copy(h.Hash[:], r.Hash)
	return h
}

// Find reads a key with its account in one statement, or returns
// [servicekey.ErrNotFound]. It fails if the server takes no writes: it may have been the
// primary once, and then even "there is no such key" is no answer.
func (k *ServiceKeys) Find(ctx context.Context, id idworker.ID) (servicekey.Held, error) {
	asOf := time.Now()
	row, err := ask[keyRow](ctx, k.DB, errNoSettings, "SELECT "+keyColumns+", "+k.DB.d.readOnly+" AS read_only FROM settings s "+
		"LEFT JOIN service_keys k ON k.id = ? LEFT JOIN users u ON u.id = k.user_id WHERE s.scope = 'global'", int64(id))
	switch {
	case err != nil:
	case row.ReadOnly:
		err = ErrReadOnly
	case row.ID == 0:
		err = servicekey.ErrNotFound
	default:
		return row.held(asOf), nil
	}
	return servicekey.Held{}, fmt.Errorf("sqlstore: find service key: %w", k.DB.demoted(err))
}

// Used notes that a key was used in the hour that began then.
func (k *ServiceKeys) Used(ctx context.Context, id idworker.ID, hour time.Time) error {
	return failed("note the use of a service key", k.DB.exec(ctx, "UPDATE service_keys SET used_at = ? WHERE id = ? AND COALESCE(used_at, 0) < ?", hour.UnixMilli(), int64(id), hour.UnixMilli()))
}

// CreateKey adds a key, and writes the event in the same transaction. It fails with
// [account.ErrNotFound], and with [servicekey.ErrRole] or [servicekey.ErrMany].
func (k *ServiceKeys) CreateKey(ctx context.Context, key servicekey.Key, hash session.Hash, e audit.Event) error {
	err := k.DB.write(ctx, func(tx *gorm.DB) error {
		role, err := first[string](tx, account.ErrNotFound, "SELECT role FROM users WHERE id = ? AND "+notDeleted+k.DB.d.forRead, int64(key.UserID))
		switch {
		case err != nil:
			return err
		case role != servicekey.Role:
			return servicekey.ErrRole
		}
		var living int64
		if err := tx.Raw("SELECT COUNT(*) FROM service_keys WHERE user_id = ? AND revoked_at IS NULL", int64(key.UserID)).Scan(&living).Error; err != nil {
			return err
		}
		if living >= servicekey.MostKeys {
			return servicekey.ErrMany
		}
		return tx.Exec("INSERT INTO service_keys (id, user_id, name, hash, scopes, created_by, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			int64(key.ID), int64(key.UserID), key.Name, hash[:], key.Scopes.Text(), int64(key.Creator.ID), millisOrNull(key.ExpiresAt)).Error
	}, e)
	return failed("create service key", err)
}

// KeysOf is a page of the keys of an account, newest first: at most limit, older than
// before, or the newest if before is 0. What was revoked or has expired is among them.
func (k *ServiceKeys) KeysOf(ctx context.Context, user, before idworker.ID, limit int) ([]servicekey.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var rows []keyRow
	err := k.DB.latest(ctx, func(conn *gorm.DB) error {
		return conn.Raw("SELECT "+keyColumns+", COALESCE(c.username, '') AS creator_name FROM service_keys k JOIN users u ON u.id = k.user_id "+
			"LEFT JOIN users c ON c.id = k.created_by WHERE k.user_id = ? AND k.id < ? ORDER BY k.id DESC LIMIT ?", int64(user), cmp.Or(int64(before), math.MaxInt64), limit).Scan(&rows).Error
	})
	keys := make([]servicekey.Key, len(rows))
	for i := range rows {
		keys[i] = rows[i].key()
	}
	return keys, failed("list service keys", err)
}

// RevokeKey ends a key for good, and writes the event in the same transaction. If it was
// revoked before, nothing changes and nothing is recorded.
func (k *ServiceKeys) RevokeKey(ctx context.Context, id idworker.ID, e audit.Event) error {
	err := k.DB.write(ctx, func(tx *gorm.DB) error {
		if err := found(tx.Exec("UPDATE service_keys SET revoked_at = "+k.DB.d.now+" WHERE id = ? AND revoked_at IS NULL", int64(id)), errAlready); err != nil {
			return err
		}
		// What the service changes by the key on another node of a cluster rests on this row.
		return k.DB.lockUser(tx, e.Target.ID)
	}, e)
	return failed("revoke service key", err)
}

// byKey are the scopes with which a service ends a login, or opens one.
var byKey = map[audit.Need]servicekey.Scope{audit.NeedsService: servicekey.Revoke, audit.NeedsIssuer: servicekey.Issue}

// authorizeKey is authorize for a service that acts by a key with that scope, for what needs
// the role service and nothing more. The rows of the key and of its account stay as they are found until the
// transaction ends.
func (db *DB) authorizeKey(tx *gorm.DB, by audit.Actor, need audit.Need, scope servicekey.Scope) (permit, error) {
	if scope == "" || by.ID == 0 {
		return permit{}, errUnstated
	}
	row, err := first[keyRow](tx, servicekey.ErrNotFound, "SELECT "+keyColumns+", "+db.d.now+" AS now FROM service_keys k JOIN users u ON u.id = k.user_id "+
		"WHERE k.id = ? AND k.user_id = ?"+db.d.forShare, int64(by.Key), int64(by.ID))
	if err != nil {
		return permit{}, err
	}
	held := row.held(time.Time{})
	if err := held.May(fromMillis(row.Now), scope); err != nil {
		return permit{}, fmt.Errorf("sqlstore: authorize: %w", err)
	}
	return permit{tx, by, need}, db.lockUser(tx, by.ID)
}
