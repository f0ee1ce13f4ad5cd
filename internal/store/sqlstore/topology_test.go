package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestServersAreKnownByTheirVariables: which servers are refused, what a session sets for
// fresh reads, and whether another server may take over.
func TestServersAreKnownByTheirVariables(t *testing.T) {
	const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"
	vars := func(pairs ...string) map[string]string {
		v := map[string]string{}
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			v[name] = value
		}
		return v
	}
	for name, c := range map[string]struct {
		vars    map[string]string
		unfit   string // part of the reason
		session string // beside the isolation level
		several bool
	}{
		"MySQL":             {vars: vars("version=8.4.3")},
		"MySQL 9":           {vars: vars("version=9.7.4-2")},
		"Aurora":            {vars: vars("version=8.0.39")},
		"MariaDB":           {vars: vars("version=10.11.14-MariaDB-0+deb12u2", "wsrep_on=OFF", "innodb_rollback_on_timeout=OFF")},
		"old MySQL":         {vars: vars("version=5.7.44-log"), unfit: "too old"},
		"old MariaDB":       {vars: vars("version=5.5.5-10.5.28-MariaDB"), unfit: "too old"},
		"MariaDB, undoes":   {vars: vars("version=10.11.14-MariaDB", "innodb_rollback_on_timeout=ON"), unfit: "start it with OFF"},
		"statements":        {vars: vars("version=8.4.3", "log_bin=ON", "binlog_format=STATEMENT"), unfit: "'ROW'"},
		"no log":            {vars: vars("version=10.11.14-MariaDB", "log_bin=OFF", "binlog_format=STATEMENT")},
		"mixed":             {vars: vars("version=10.11.14-MariaDB", "log_bin=ON", "binlog_format=MIXED")},
		"TiDB":              {vars: vars("version=8.0.11-TiDB-v8.5.0"), unfit: "TiDB"},
		"Vitess":            {vars: vars("version=8.0.40-Vitess"), unfit: "Vitess"},
		"Galera":            {vars: vars("version=11.4.2-MariaDB", "wsrep_on=ON"), session: "wsrep_sync_wait = 7", several: true},
		"one primary":       {vars: vars("version=8.4.3", "group_replication_group_name=a", "group_replication_single_primary_mode=ON"), session: "'BEFORE_ON_PRIMARY_FAILOVER'", several: true},
		"several primaries": {vars: vars("version=8.4.3", "group_replication_group_name=a", "group_replication_single_primary_mode=OFF"), unfit: "several primaries", several: true},
		"semi-synchronous":  {vars: vars("version=8.4.3", "rpl_semi_sync_source_enabled=ON"), several: true},
		"and on MariaDB":    {vars: vars("version=10.11.14-MariaDB", "rpl_semi_sync_master_enabled=ON"), several: true},
	} {
		err := sqlstore.Unfit(c.vars)
		if _, unfit := errors.AsType[*sqlstore.UnfitError](err); unfit != (c.unfit != "") || unfit && !strings.Contains(err.Error(), c.unfit) {
			t.Errorf("%s: %v; want a reason with %q", name, err, c.unfit)
		}
		if c.unfit == "" {
			set := strings.Join(sqlstore.SessionOf(c.vars), "; ")
			if !strings.HasPrefix(set, isolation) || !strings.Contains(set, c.session) || c.session == "" && set != isolation {
				t.Errorf("%s: a session sets %q", name, set)
			}
		}
		if sqlstore.SeveralOf(c.vars) != c.several {
			t.Errorf("%s: one of several: %v", name, !c.several)
		}
	}
}
