package sqlstore

import (
	"context"
	"fmt"
)

// TakesWrites reports whether the server that answers takes writes from ordinary users.
// A replica does not, nor should a primary that was replaced.
func (db *DB) TakesWrites(ctx context.Context) (bool, error) {
	var readOnly bool
	if err := db.sql.QueryRowContext(ctx, "SELECT "+db.d.readOnly).Scan(&readOnly); err != nil {
		return false, fmt.Errorf("sqlstore: ask whether the server takes writes: %w", err)
	}
	return !readOnly, nil
}
