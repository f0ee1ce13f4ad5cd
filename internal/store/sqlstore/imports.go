package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Known returns the users that have one of the names, as username or alias, or of the external
// IDs, in no order and with their aliases. It changes nothing, and an
// import asks about a thousand at a time and would end: it has longer than tau.
func (u *Users) Known(ctx context.Context, names, externalIDs []string) ([]account.User, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*tau)
	defer cancel()
	conn := u.DB.gorm.WithContext(ctx)
	var rows, more, aliased []userRow
	err := conn.Where("username IN ?", names).Find(&rows).Error
	if err == nil && len(externalIDs) > 0 {
		err = conn.Where("external_id IN ?", externalIDs).Find(&more).Error
	}
	if err == nil {
		err = conn.Raw("SELECT u.* FROM user_names n JOIN users u ON u.id = n.user_id WHERE n.name IN ? AND n.kind <> ?", names, kindUsername).Scan(&aliased).Error
	}
	users, seen := make([]account.User, 0, len(rows)), map[int64]bool{}
	for _, row := range slices.Concat(rows, more, aliased) {
		if !seen[row.ID] {
			seen[row.ID] = true
			users = append(users, row.user())
		}
	}
	if err == nil {
		err = withAliases(conn, users)
	}
	return users, failed("look for users", err)
}

// AddAll adds users with events, in one transaction in which by has what need says. It
// returns [account.ErrExists], and has changed nothing, if a name or an external ID is
// taken. An alias is also looked for among the usernames, as claim does.
func (u *Users) AddAll(ctx context.Context, by audit.Actor, need audit.Need, users []account.User, events ...audit.Event) error {
	statement, args := insertUsers(users)
	naming, names := insertNames(users)
	var aliases []string
	for i := range users {
		for _, alias := range users[i].Aliases {
			if alias != users[i].Username { // which nobody else has: it is unique in users
				aliases = append(aliases, alias)
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := u.DB.retryIf(ctx, func(err error) bool { return lost(err) && !errors.Is(err, gorm.ErrDuplicatedKey) }, func() error {
		return u.DB.transaction(u.DB.gorm.WithContext(ctx), func(tx *gorm.DB) error {
			may, err := u.DB.authorize(tx, by, need)
			if err == nil {
				err = tx.Exec(statement, args...).Error
			}
			if err == nil && naming != "" {
				err = tx.Exec(naming, names...).Error
			}
			if err == nil && len(aliases) > 0 {
				var taken []int64
				if err = tx.Raw("SELECT id FROM users WHERE username IN ? LIMIT 1", aliases).Scan(&taken).Error; len(taken) > 0 {
					err = gorm.ErrDuplicatedKey
				}
			}
			if err != nil {
				return err
			}
			return may.record(events...)
		})
	})
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		err = account.ErrExists
	}
	return failed("add users", err)
}

// insertUsers adds all with one statement.
func insertUsers(users []account.User) (statement string, args []any) {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	args = make([]any, 0, 11*len(users))
	for i := range users {
		r := rowOf(&users[i])
		args = append(args, r.ID, r.Username, r.ExternalID, r.PasswordHash, r.PasswordVersion, r.ImportedVersion, r.Role, r.DisabledAt, r.CreatedAt, r.UpdatedAt, r.CountedByID)
	}
	return "INSERT INTO users (id, username, external_id, password_hash, password_version, imported_version, role, disabled_at, created_at, updated_at, counted_by_id) VALUES " +
		strings.Repeat(row+", ", len(users)-1) + row, args
}

// rowOf is a new user's row.
func rowOf(u *account.User) userRow {
	r := userRow{
		ID: int64(u.ID), Username: u.Username, PasswordHash: u.PasswordHash.Reveal(), PasswordVersion: u.PasswordVersion, Role: string(u.Role), CountedByID: u.CountedByID,
		DisabledAt: millisOrNull(u.DisabledAt), CreatedAt: u.CreatedAt.UnixMilli(), UpdatedAt: u.UpdatedAt.UnixMilli(),
	}
	if u.ExternalID != "" {
		r.ExternalID = &u.ExternalID
	}
	if u.ImportedVersion != 0 {
		r.ImportedVersion = &u.ImportedVersion
	}
	return r
}

// Record writes events that report no change of a row, if by has what they need.
func (u *Users) Record(ctx context.Context, events ...audit.Event) error {
	return failed("record", u.DB.write(ctx, func(*gorm.DB) error { return nil }, events...))
}

// A HashFormats counts the formats of the hashes of passwords.
type HashFormats struct{ DB *DB }

// Begin says that users are being imported, so that the formats are counted from now on.
func (f *HashFormats) Begin(ctx context.Context) error {
	known, err := f.Load(ctx)
	if err != nil || len(known) > 0 {
		return err
	}
	if err := f.save(ctx, []account.FormatCount{{}}, -1); err != nil && !errors.Is(err, gorm.ErrDuplicatedKey) {
		return err
	}
	return nil
}

// Load is what was counted last; nothing where no import has begun.
func (f *HashFormats) Load(ctx context.Context) ([]account.FormatCount, error) {
	var counts []account.FormatCount
	err := f.DB.query(ctx, &counts, "SELECT format, imported, users FROM hash_formats ORDER BY format")
	return counts, failed("formats of hashes", err)
}

// Hours is how long ago the formats were counted, by the database's clock.
func (f *HashFormats) Hours(ctx context.Context) (float64, error) {
	var ago float64
	err := f.DB.query(ctx, &ago, "SELECT COALESCE(MIN("+f.DB.d.now+" - counted_at), 0) / 3600000.0 FROM hash_formats")
	return ago, failed("formats of hashes", err)
}

// Count reads the hashes of all users, in the order of their IDs, and keeps how many users have
// which format. imported says that an import has ended: then Count also keeps these numbers as
// those after the last import. It does so without imported, too, if an import may have stopped
// before its end: nothing was counted since it began, or a foreign format has more users than after
// the last import. Our own format is not looked at for this, because it grows by itself. If another
// call has counted meanwhile, its numbers are newer, and stay, unless imported is set.
func (f *HashFormats) Count(ctx context.Context, formatOf func(account.PHC) string, imported bool) ([]account.FormatCount, error) {
	known, err := f.Load(ctx)
	if err != nil {
		return nil, err
	}
	stamp, ended, counted := int64(0), imported, map[string]int64{}
	if err := f.DB.query(ctx, &stamp, formatsStamp); err != nil {
		return nil, fmt.Errorf("sqlstore: formats of hashes: %w", err)
	}
	for row, err := range f.DB.everyUser(ctx, "password_hash", 0) {
		if err != nil {
			return nil, fmt.Errorf("sqlstore: count formats of hashes: %w", err)
		}
		counted[""]++
		if format := formatOf(account.NewPHC(string(row.Text))); format != "" {
			counted[format]++
		}
	}
	before := map[string]int64{}
	for _, c := range known {
		before[c.Format] = c.Imported
		counted[c.Format] += 0
		imported = imported || c.Format == "" && c.Imported == 0
	}
	var counts []account.FormatCount
	for format, n := range counted {
		was, has := before[format]
		if foreign := format != "" && !account.NewPHC(format).Ours(); foreign && (!has && !account.Full(known) || has && n > was) {
			imported = true
		}
		counts = append(counts, account.FormatCount{Format: format, Imported: was, Users: n})
	}
	if imported {
		for i := range counts {
			counts[i].Imported = counts[i].Users
		}
	}
	counts = account.MostCommon(counts)
	if ended {
		stamp = -1
	}
	err = f.save(ctx, counts, stamp)
	if errors.Is(err, errMoved) {
		return f.Load(ctx)
	}
	return counts, err
}

// formatsStamp is when the formats were counted last.
const formatsStamp = "SELECT COALESCE(MAX(counted_at), 0) FROM hash_formats"

// save replaces what is kept, if that is as it was at stamp; -1 is at any time. Otherwise it fails
// with errMoved.
func (f *HashFormats) save(ctx context.Context, counts []account.FormatCount, stamp int64) error {
	moved := false
	err := f.DB.transact(ctx, func(tx *gorm.DB) error {
		var now int64
		if err := tx.Raw(formatsStamp + f.DB.d.forRead).Scan(&now).Error; err != nil {
			return err
		}
		if moved = stamp >= 0 && now != stamp; moved {
			return nil
		}
		if err := tx.Exec("DELETE FROM hash_formats").Error; err != nil {
			return err
		}
		for _, c := range counts {
			if err := tx.Exec("INSERT INTO hash_formats (format, imported, users, counted_at) VALUES (?, ?, ?, "+f.DB.d.now+")",
				c.Format, c.Imported, c.Users).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && moved {
		return errMoved
	}
	return failed("keep formats of hashes", err)
}
