package sqlstore_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// under is a stored secret under the key with that ID.
func under(key, rest byte) []byte {
	return append([]byte{1, key, key, key, key}, bytes.Repeat([]byte{rest}, 52)...)
}

func TestSecretsAreReadInPagesAndCountedByKey(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx, s := t.Context(), w.factors()
		w.user(t, "nobody")
		var ids []idworker.ID
		for i, name := range []string{"ada", "bob", "eve"} {
			ids = append(ids, w.user(t, name))
			yes(t, "enrol")(s.Begin(ctx, shell, ids[i], under(byte(0xa0+i/2), byte(i))))
		}
		var got []idworker.ID
		for after := idworker.ID(0); ; {
			page, err := s.Secrets(ctx, after, 2)
			if err != nil || len(page) > 2 {
				t.Fatalf("%d secrets, %v", len(page), err)
			}
			if len(page) == 0 {
				break
			}
			for _, one := range page {
				if i := len(got); !bytes.Equal(one.Text, under(byte(0xa0+i/2), byte(i))) {
					t.Errorf("secret %d is %x", i, one.Text)
				}
				got = append(got, one.User)
			}
			after = got[len(got)-1]
		}
		if len(got) != 3 || got[0] != ids[0] || got[2] != ids[2] {
			t.Errorf("of %v, want %v", got, ids)
		}
		uses, err := s.Uses(ctx)
		if err != nil || len(uses) != 2 || uses[[5]byte(under(0xa0, 0))] != 2 || uses[[5]byte(under(0xa1, 0))] != 1 {
			t.Errorf("Uses = %v, %v", uses, err)
		}
	})
}

// Of many that encrypt a secret anew at the same time one does, what was changed
// meanwhile stays, and the record counts what was done.
func TestOfManyThatResealOneDoes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx, s := t.Context(), w.factors()
		ada, bob := w.user(t, "ada"), w.user(t, "bob")
		yes(t, "enrol")(s.Begin(ctx, shell, ada, under(0xa0, 1)))
		yes(t, "enrol")(s.Begin(ctx, shell, bob, under(0xa0, 2)))
		rows := []secondfactor.Reseal{{User: ada, Had: under(0xa0, 1), Next: under(0xb0, 1)}, {User: bob, Had: under(0xa0, 9), Next: under(0xb0, 2)}}
		var changed atomic.Int64
		atOnce(10, func(int) {
			e := w.aboutFactor(0, audit.SecondFactorsRekeyed)
			n, err := s.Reseal(ctx, rows, func(n int) audit.Event {
				e.New = []byte{'0' + byte(n)}
				return e
			})
			if err != nil {
				t.Error(err)
			}
			changed.Add(int64(n))
		})
		if n := changed.Load(); n != 1 {
			t.Errorf("%d changes", n)
		}
		for id, want := range map[idworker.ID][]byte{ada: under(0xb0, 1), bob: under(0xa0, 2)} {
			if f, err := s.Factor(ctx, id); err != nil || !bytes.Equal(f.Sealed, want) {
				t.Errorf("user %v: %x, %v", id, f.Sealed, err)
			}
		}
		var news []string
		if err := w.Gorm().Raw("SELECT new_value FROM audit_events").Scan(&news).Error; err != nil || len(news) != 1 || news[0] != "1" {
			t.Errorf("on record: %q, %v", news, err)
		}
	})
}
