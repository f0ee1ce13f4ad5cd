//go:build unix

package migrations_test

import (
	"strings"
	"testing"
)

// user is a row without a login; a test changes it by one statement.
const user = "INSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (1, 'ann', 'x', 'user', 1, 1)"

// What one database refuses all refuse, so a fault shows on a developer's
// SQLite and not first in production.
func TestConstraints(t *testing.T) {
	const (
		login = "UPDATE users SET token_id = 10, token_hash = x'01', token_seen_at = 1 WHERE id = 1"
		bob   = "INSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (2, 'bob', 'x', 'user', 1, 1)"
		node  = "INSERT INTO worker_nodes (number, owner_token, holder, fence_ms, seen_at) VALUES (0, 'a', 'b', 1, 1)"
		slot  = "INSERT INTO user_slots (id, user_id, slot, token_id, token_hash, token_seen_at) VALUES (5, 1, 1, 10, x'01', 1)"
		key   = "INSERT INTO deployment (id, cache_key, created_at) VALUES (1, x'01', 1)"
	)
	cases := []struct {
		name    string
		before  []string
		last    string
		refused bool
	}{
		{"largest id", nil, "UPDATE users SET id = 9223372036854775807 WHERE id = 1", false},
		{"name twice", nil, strings.Replace(bob, "bob", "ann", 1), true},
		{"name in another case", nil, strings.Replace(bob, "bob", "Ann", 1), false},
		{"name with an accent", nil, strings.Replace(bob, "bob", "ánn", 1), false},
		{"name outside the basic plane", nil, strings.Replace(bob, "bob", "😀", 1), false},
		{"name of 255", nil, strings.Replace(bob, "bob", strings.Repeat("é", 255), 1), false},
		{"name of 256", nil, strings.Replace(bob, "bob", strings.Repeat("é", 256), 1), true},
		{"name NULL", nil, strings.Replace(bob, "'bob'", "NULL", 1), true},
		{"password hash of 256", nil, strings.Replace(bob, "'x'", "'"+strings.Repeat("x", 256)+"'", 1), true},
		{"no password", nil, "INSERT INTO users (id, username, role, created_at, updated_at) VALUES (2, 'bob', 'user', 1, 1)", true},
		{"role service", nil, "UPDATE users SET role = 'service' WHERE id = 1", false},
		{"role admin", nil, "UPDATE users SET role = 'admin' WHERE id = 1", false},
		{"role unknown", nil, "UPDATE users SET role = 'root' WHERE id = 1", true},
		{"role in capitals", nil, "UPDATE users SET role = 'ADMIN' WHERE id = 1", true},
		{"login", nil, login, false},
		{"login without a hash", nil, "UPDATE users SET token_id = 10, token_seen_at = 1 WHERE id = 1", true},
		{"login never seen", nil, "UPDATE users SET token_id = 10, token_hash = x'01' WHERE id = 1", true},
		{"hash without a login", nil, "UPDATE users SET token_hash = x'01' WHERE id = 1", true},
		{"hash of 33", []string{login}, "UPDATE users SET token_hash = x'" + strings.Repeat("ab", 33) + "' WHERE id = 1", false},
		{"hash of 34", []string{login}, "UPDATE users SET token_hash = x'" + strings.Repeat("ab", 34) + "' WHERE id = 1", true},
		{"login below the floor", []string{"UPDATE users SET token_floor = 11 WHERE id = 1"}, login, true},
		{"login at the floor", []string{"UPDATE users SET token_floor = 10 WHERE id = 1"}, login, true},
		{"login just above the floor", []string{"UPDATE users SET token_floor = 9 WHERE id = 1"}, login, false},
		{"floor raised under a login", []string{login}, "UPDATE users SET token_floor = 10 WHERE id = 1", true},
		{"two logins of one id", []string{login, bob}, strings.Replace(login, "WHERE id = 1", "WHERE id = 2", 1), true},
		{
			"logout", []string{login},
			"UPDATE users SET token_floor = 10, token_floor_at = 2, ended_token_id = token_id, ended_token_hash = token_hash, " +
				"ended_reason = 'logged_out', token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE id = 1", false,
		},
		{"end without a reason", nil, "UPDATE users SET ended_token_id = 1, ended_token_hash = x'01' WHERE id = 1", true},
		{"end without a hash", nil, "UPDATE users SET ended_token_id = 1, ended_reason = 'x' WHERE id = 1", true},
		{"reason without an end", nil, "UPDATE users SET ended_reason = 'x' WHERE id = 1", true},
		{
			"reason of 25", nil,
			"UPDATE users SET ended_token_id = 1, ended_token_hash = x'01', ended_reason = '" + strings.Repeat("x", 25) + "' WHERE id = 1", true,
		},
		{"second global scope", nil, "INSERT INTO settings SELECT * FROM settings", true},
		{"touch of nothing", nil, "UPDATE settings SET touch_interval_ms = 0", true},
		{"touch as long as idle", nil, "UPDATE settings SET touch_interval_ms = idle_timeout_ms", false},
		{"touch longer than idle", nil, "UPDATE settings SET touch_interval_ms = idle_timeout_ms + 1", true},
		{"idle as long as absolute", nil, "UPDATE settings SET idle_timeout_ms = absolute_lifetime_ms", false},
		{"idle longer than absolute", nil, "UPDATE settings SET idle_timeout_ms = absolute_lifetime_ms + 1", true},
		{"note of 1001", nil, "UPDATE settings SET note = '" + strings.Repeat("x", 1001) + "'", true},
		{"login in a further slot", nil, slot, false},
		{"slot 31", nil, strings.Replace(slot, "5, 1, 1", "5, 1, 31", 1), false},
		{"slot 0 beside the user", nil, strings.Replace(slot, "5, 1, 1", "5, 1, 0", 1), true},
		{"slot 32", nil, strings.Replace(slot, "5, 1, 1", "5, 1, 32", 1), true},
		{"slot twice", []string{slot}, strings.Replace(strings.Replace(slot, "(5", "(6", 1), "10,", "11,", 1), true},
		{"two slots with logins of one id", []string{slot}, strings.Replace(slot, "5, 1, 1", "6, 1, 2", 1), true},
		{"floor raised under a login in a slot", []string{slot}, "UPDATE user_slots SET token_floor = 10 WHERE id = 5", true},
		{"login in a slot without a hash", []string{slot}, "UPDATE user_slots SET token_hash = NULL WHERE id = 5", true},
		{"end in a slot without a hash", []string{slot}, "UPDATE user_slots SET ended_token_id = 1, ended_reason = 'x' WHERE id = 5", true},
		{"worker number 0", nil, node, false},
		{"worker number twice", []string{node}, node, true},
		{"deployment", nil, key, false},
		{"deployment 2", nil, strings.Replace(key, "(1", "(2", 1), true},
		{"deployment twice", []string{key}, key, true},
		{"key of 33", nil, strings.Replace(key, "x'01'", "x'"+strings.Repeat("ab", 33)+"'", 1), true},
	}
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustUp(t, db, d.dialect)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				for _, statement := range append([]string{user}, c.before...) {
					if _, err := tx.ExecContext(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				if _, err := tx.ExecContext(t.Context(), c.last); (err != nil) != c.refused {
					t.Errorf("got %v, want refused: %v", err, c.refused)
				}
			})
		}
	})
}

func TestSeedIsThePolicyOfANewDeployment(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustUp(t, db, d.dialect)
		rows := texts(t, db, "SELECT scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, "+
			"idle_base, absolute_base, global_floor, global_floor_at, updated_at, updated_by, note FROM settings")
		const want = "global|1|1209600000|2592000000|60000|@every 1m|0|0|0|0|0|flakepass|"
		if len(rows) != 1 || strings.Join(rows[0], "|") != want {
			t.Errorf("got %q, want %q", rows, want)
		}
	})
}
