package deploytest

import (
	"os"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestReplacedFileDecidesNothing: a server that goes on with a file which has another one in its
// place, or none, hears of nothing that others commit: an end that was acknowledged to them had no effect.
func TestReplacedFileDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"replaced", "removed"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			d := e2e.OnSQLite(t)
			i := d.StartLoud(t)
			c, password := e2e.NewClient(t, i.Public), e2e.NewPassword()
			c.Want(c.Register("lena", password), 201, "")
			token := c.Login("lena", password)
			c.Alive(token)
			if way == "replaced" {
				e2e.Execute(t, d.SQL(t), "VACUUM INTO ?", d.File+".copy")
				if err := os.Rename(d.File+".copy", d.File); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Remove(d.File); err != nil {
				t.Fatal(err)
			}
			refusedFor(t, i.Ops, "replaced or removed")
			testenv.Eventually(t, e2e.Patience, func() bool {
				status := c.Me(token).Status
				if status != 200 && status != 503 {
					t.Fatalf("a token is %d, want 503 at last, and 200 till then", status)
				}
				return status == 503
			}, "a token is decided no more")
			c.Want(c.TryLogin("lena", password), 503, "unavailable")
			c.Want(c.TryLogin("lena", password+"x"), 503, "unavailable")
			c.Want(c.TryLogin("nobody", password), 503, "unavailable")
			c.Want(c.Register("mia", password), 503, "unavailable")
			if n := strings.Count(i.Log.String(), "the database decides nothing any more"); n != 1 {
				t.Errorf("%d lines say so, want 1 in the first minute", n)
			}
		})
	}
}
