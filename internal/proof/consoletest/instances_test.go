package consoletest

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestConsolesShowEveryInstance: whichever is asked shows all that run. One that
// is killed is shown as not reporting and later forgotten; one that stops is gone
// at once.
func TestConsolesShowEveryInstance(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	one, two := e2e.StartProcess(t, t.TempDir(), d.Vars), e2e.StartProcess(t, t.TempDir(), d.Vars)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	e2e.NewAdmin(t, d, "bob", account.RoleAdmin)
	db := d.SQL(t)
	named := func(p *e2e.Process) string { // as in the table of the console
		name := e2e.HolderOf(p)
		testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Count(t, db, "SELECT COUNT(*) FROM instances WHERE name = ?", name) == 1 }, name+" reports")
		return name
	}
	first, second := named(one), named(two)
	shows := func(b *browser, want ...string) { // reports come every few seconds, and one of a busy machine may be bad
		t.Helper()
		testenv.Eventually(t, e2e.Patience, func() bool {
			b.open("/console/")
			text := b.text()
			return !slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(text, s) })
		}, "the page says: "+strings.Join(want, ", "))
	}

	ada := newBrowser(t, &e2e.Instance{Public: one.Public})
	ada.open("/console/")
	ada.login("ada")
	shows(ada, "2 known, 2 of them healthy.", first, second, "Worker number", "agrees with the database")
	bob := ada.other()
	bob.at = "http://" + two.Public
	bob.open("/console/")
	bob.login("bob")
	shows(bob, "2 known, 2 of them healthy.", first, second)
	for b, self := range map[*browser]string{ada: first, bob: second} {
		if row := evaluate[string](b, `document.querySelector(".fleet tr:has(th .badge) bdi").textContent`); row != self {
			t.Errorf("%s says that it is %s", self, row)
		}
	}
	shows(bob, "tokens accepted")

	two.Signal(t, syscall.SIGKILL)
	<-two.Ended
	e2e.Execute(t, db, "UPDATE instances SET seen_at = seen_at - 40000 WHERE name = ?", second)
	shows(ada, "2 known, 1 of them healthy.", second)
	if text := ada.text(); !regexp.MustCompile(`No report for ((4|5)\d seconds|1 minute)`).MatchString(text) || !strings.Contains(text, first) {
		t.Errorf("of the one that was killed the page says:\n%s", text)
	}
	// An instance that starts forgets those that are gone, and so does each once a minute.
	e2e.Execute(t, db, "UPDATE instances SET seen_at = seen_at - 600000 WHERE name = ?", second)
	three := e2e.StartProcess(t, t.TempDir(), d.Vars)
	third := named(three)
	shows(ada, "2 known, 2 of them healthy.", third)
	if text := ada.text(); strings.Contains(text, second) {
		t.Errorf("the one that is gone is still shown:\n%s", text)
	}
	three.Signal(t, syscall.SIGTERM)
	three.End(t)
	shows(ada, "1 known, 1 of them healthy.")
}
