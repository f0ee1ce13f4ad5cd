package lend_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/idworker/sqlworker"
	"github.com/flakepass/flakepass/idworker/zkworker"
)

// TestEveryLenderNamesASettingThatIsBelowZero, and does not say that its numbers are in use: who
// reads that waits.
func TestEveryLenderNamesASettingThatIsBelowZero(t *testing.T) {
	minus := -1
	for name, l := range map[string]idworker.Lender{
		"Numbers of fileworker":     &fileworker.Lender{Dir: t.TempDir(), Numbers: minus},
		"Numbers of redisworker":    &redisworker.Lender{Numbers: minus},
		"Numbers of sqlworker":      &sqlworker.Lender{DB: new(sql.DB), Dialect: sqlworker.SQLite, Numbers: minus},
		"Only of sqlworker":         &sqlworker.Lender{DB: new(sql.DB), Dialect: sqlworker.SQLite, Only: &minus},
		"Numbers of zkworker":       &zkworker.Lender{Client: &zkworker.Client{}, Root: "/a", Numbers: minus},
		"Numbers of zkworker.Keyed": &zkworker.Keyed{Client: &zkworker.Client{}, Root: "/a", Key: "b", File: filepath.Join(t.TempDir(), "f"), Numbers: minus},
	} {
		field, _, _ := strings.Cut(name, " ")
		if g, err := l.Acquire(t.Context(), time.Second); err == nil || errors.Is(err, idworker.ErrNoNumber) || !strings.Contains(err.Error(), field+" is -1") {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}
