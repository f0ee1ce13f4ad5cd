//go:build unix

package sqlstore_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/migrations"
)

// A trapRow is a row as a newcomer to GORM writes it: with the token in it.
type trapRow struct {
	ID       int64 `gorm:"primaryKey;autoIncrement:false"`
	Username string
	CurToken int64
	Floor    int64
}

func (trapRow) TableName() string { return "trap_rows" }

// A trap is what plain GORM does without an error, or what SQL does. code is how
// it would stand in this package, and must be refused by a rule of its own.
type trap struct {
	name, code string
	// springs shows it, on a table with ada (1, token 100, floor 50) and bob (2,
	// token 200, floor 50).
	springs func(t *testing.T, db *gorm.DB, mysql bool) bool
}

var traps = []trap{
	{"Save brings a login back", `s.DB.gorm.Save(&row)`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		var read trapRow
		must(t, db.First(&read, 1).Error)
		must(t, db.Exec("UPDATE trap_rows SET cur_token = 0, floor = 100 WHERE id = 1").Error) // a logout
		read.Username = "ada.lovelace"
		must(t, db.Save(&read).Error)
		return trapped(t, db, 1).CurToken == 100
	}},
	{"Updates of a struct skips zeros", `s.DB.gorm.Model(&row).Updates(row)`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		must(t, db.Model(&trapRow{ID: 1}).Updates(trapRow{CurToken: 0, Floor: 100}).Error) // a logout
		return trapped(t, db, 1).CurToken == 100
	}},
	{"Where of a struct drops zeros", `s.DB.gorm.Where(&userRow{Username: name}).Take(&row)`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		var anybody trapRow
		must(t, db.Where(&trapRow{Username: ""}).First(&anybody).Error)
		return anybody.ID == 1
	}},
	{"Updates of a map sorts", `s.DB.gorm.Model(&row).Updates(map[string]any{"cur_token": id, "floor": later})`, func(t *testing.T, db *gorm.DB, mysql bool) bool {
		most := "max"
		if mysql {
			most = "GREATEST"
		}
		must(t, db.Model(&trapRow{ID: 1}).Updates(map[string]any{"floor": gorm.Expr(most + "(floor, cur_token)"), "cur_token": 300}).Error)
		// MySQL assigns from left to right: the new token is dead at birth.
		return trapped(t, db, 1).Floor == 300 || !mysql
	}},
	{"a text that is compared with 0", `func (u *Users) By(name any) { u.DB.gorm.Where("username = ?", name) }`, func(t *testing.T, db *gorm.DB, mysql bool) bool {
		var found []trapRow
		must(t, db.Where("username = ?", float64(0)).Find(&found).Error) // JSON's 0
		return len(found) == 2 || !mysql
	}},
	{"First with a text", `s.DB.gorm.First(&row, id)`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		var found []trapRow
		must(t, db.Find(&found, "1 OR 1=1").Error)
		return len(found) == 2
	}},
	{"Order by what is asked for", `func (u *Users) By(order string) { u.DB.gorm.Order(order) }`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		asked := "(CASE WHEN (SELECT cur_token FROM trap_rows WHERE id = 1) = 100 THEN id ELSE -id END) DESC"
		var found []trapRow
		must(t, db.Order(asked).Find(&found).Error)
		return found[0].ID == 2 // the order tells what the token is
	}},
	{"a text in the middle of a statement", `func (u *Users) By(name string) { query := "SELECT id FROM users WHERE username = '" + name + "'"; u.DB.gorm.Raw(query) }`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		name := "x' OR '1' = '1"
		var found []trapRow
		must(t, db.Raw("SELECT * FROM trap_rows WHERE username = '"+name+"'").Scan(&found).Error)
		return len(found) == 2
	}},
	{"Select of what is asked for", `func (u *Users) By(columns string) { u.DB.gorm.Table("users").Select(columns) }`, func(t *testing.T, db *gorm.DB, _ bool) bool {
		var secret int64
		must(t, db.Table("trap_rows").Select("(SELECT cur_token FROM trap_rows WHERE id = 2)").Limit(1).Scan(&secret).Error)
		return secret == 200
	}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func trapped(t *testing.T, db *gorm.DB, id int64) (r trapRow) {
	t.Helper()
	must(t, db.Where("id = ?", id).Take(&r).Error)
	return r
}

// TestTrapsOfGormAreThereAndOutOfReach: each does its damage to plain GORM, so
// that nobody takes the rules for superstition, and code that would step into it
// does not get past the rules, which hold for every file here.
func TestTrapsOfGormAreThereAndOutOfReach(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		must(t, w.Gorm().Exec("CREATE TABLE trap_rows (id BIGINT PRIMARY KEY, username VARCHAR(64), cur_token BIGINT, floor BIGINT)").Error)
		for _, trap := range traps {
			must(t, w.Gorm().Exec("DELETE FROM trap_rows").Error)
			must(t, w.Gorm().Create([]trapRow{{1, "ada", 100, 50}, {2, "bob", 200, 50}}).Error)
			if !trap.springs(t, w.Gorm().Session(&gorm.Session{NewDB: true}), w.Dialect() == migrations.MySQL) {
				t.Errorf("%s: not any more; the rule may be taken out", trap.name)
			}
		}
	})
	for _, trap := range traps {
		code := trap.code
		if !strings.HasPrefix(code, "func ") {
			code = "func (s *Sessions) do(row userRow, id string) { " + code + " }"
		}
		dir := fstest.MapFS{"it.go": {Data: []byte("package sqlstore\n\n" + code + "\n")}}
		if len(roads(t, dir, "it.go", forbiddenRoads)) == 0 && len(stitched(t, dir, "it.go")) == 0 {
			t.Errorf("%s: no rule refuses %s", trap.name, trap.code)
		}
	}
}
