package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A table is a store of events in memory.
type table struct {
	mu     sync.Mutex
	events []audit.Event
	last   idworker.ID
	fails  error
	hangs  chan struct{} // if set, a write waits for it
}

func (s *table) AppendAll(ctx context.Context, events []audit.Event) error {
	if s.hangs != nil {
		select {
		case <-s.hangs:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails == nil {
		s.events = append(s.events, events...)
	}
	return s.fails
}

func (s *table) rows() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

func (s *table) NextN(_ context.Context, dst []idworker.ID) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range dst {
		s.last++
		dst[i] = s.last
	}
	return len(dst), nil
}

func (s *table) collector() *audit.Collector {
	return &audit.Collector{Store: s, IDs: s, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

func failed(user idworker.ID, address, request string) audit.Incident {
	return audit.Incident{
		Action: audit.LoginFailed, Reason: "credentials_invalid", Target: audit.AboutUser(user, "alice"),
		By: audit.Actor{Via: audit.ViaAPI, Address: address, RequestID: request},
	}
}

// counted is the number in an event.
func counted(t *testing.T, e audit.Event) int64 {
	t.Helper()
	var v struct {
		Count       int64
		First, Last time.Time
	}
	if err := json.Unmarshal(e.New, &v); err != nil {
		t.Fatalf("%s: %v", e.New, err)
	}
	return v.Count
}

// TestFloodIsOneEventAMinute: a thousand refusals of one kind are one row with
// their number and the first request, and another kind is another row.
func TestFloodIsOneEventAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &table{}
		collector := s.collector()
		ctx, stop := context.WithCancel(t.Context())
		go collector.Run(ctx)
		for i := range 1000 {
			collector.Note(failed(7, "192.0.2.1", fmt.Sprint("request ", i)))
		}
		collector.Note(failed(8, "192.0.2.1", "other user"))
		collector.Note(failed(7, "192.0.2.2", "other place"))
		synctest.Wait()
		if n := s.rows(); n != 0 {
			t.Errorf("%d written during the refusals", n)
		}
		time.Sleep(audit.WriteEvery + time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if len(s.events) != 3 {
			t.Fatalf("%d events, want 3: %+v", len(s.events), s.events)
		}
		for _, e := range s.events {
			if n := counted(t, e); e.Target.ID == 7 && e.By.Address == "192.0.2.1" {
				if n != 1000 || e.By.RequestID != "request 0" || e.Reason != "credentials_invalid" {
					t.Errorf("got %d of %+v", n, e)
				}
			} else if n != 1 {
				t.Errorf("got %d of %+v", n, e)
			}
		}
		time.Sleep(10 * audit.WriteEvery) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if len(s.events) != 3 {
			t.Errorf("%d events after minutes in which nothing happened", len(s.events))
		}
		stop()
		synctest.Wait()
	})
}

// TestWhatCannotBeWrittenIsKept: an outage of the database costs no event.
func TestWhatCannotBeWrittenIsKept(t *testing.T) {
	s := &table{fails: errors.New("away")}
	collector := s.collector()
	collector.Note(failed(7, "192.0.2.1", "first"))
	if err := collector.Flush(t.Context()); !errors.Is(err, s.fails) {
		t.Errorf("got %v", err)
	}
	collector.Note(failed(7, "192.0.2.1", "second"))
	s.fails = nil
	collector.Close(t.Context())
	if len(s.events) != 1 || counted(t, s.events[0]) != 2 || s.events[0].By.RequestID != "first" {
		t.Errorf("got %+v", s.events)
	}
}

// TestRefusalWaitsForNoDatabase: while a write hangs, a refusal is noted at once,
// and is written with the next.
func TestRefusalWaitsForNoDatabase(t *testing.T) {
	s := &table{hangs: make(chan struct{})}
	collector := s.collector()
	collector.Note(failed(7, "192.0.2.1", ""))
	done := make(chan error)
	go func() { done <- collector.Flush(context.Background()) }()
	for range 1000 { // would deadlock here
		collector.Note(failed(8, "192.0.2.1", ""))
	}
	close(s.hangs)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	collector.Close(t.Context())
	total := int64(0)
	for _, e := range s.events {
		total += counted(t, e)
	}
	if total != 1001 {
		t.Errorf("%d refusals on record, want 1001", total)
	}
}

// TestPlaceIsWhatIsKept: an address is kept only as far as Place says.
func TestPlaceIsWhatIsKept(t *testing.T) {
	s := &table{}
	collector := s.collector()
	collector.Place = func(a string) string { return a[:4] }
	collector.Note(failed(7, "2001:db8::1", ""))
	collector.Note(failed(7, "2001:db8::2", ""))
	collector.Close(t.Context())
	if len(s.events) != 1 || s.events[0].By.Address != "2001" || counted(t, s.events[0]) != 2 {
		t.Errorf("got %+v", s.events)
	}
}

// BenchmarkNote is what a refusal pays for its event.
func BenchmarkNote(b *testing.B) {
	collector := (&table{}).collector()
	s := failed(7, "192.0.2.1", "request")
	b.ReportAllocs()
	for b.Loop() {
		collector.Note(s)
	}
}

// TestWriteUnderWayAtTheEndIsWaitedFor: a Run that is stopped after Close
// interrupts no write, unless that takes longer than Close waits.
func TestWriteUnderWayAtTheEndIsWaitedFor(t *testing.T) {
	for takes, want := range map[time.Duration]int{time.Second: 1, time.Minute: 0} {
		synctest.Test(t, func(t *testing.T) {
			store := &table{hangs: make(chan struct{})}
			collector := store.collector()
			ctx, stop := context.WithCancel(t.Context())
			go collector.Run(ctx)
			collector.Note(failed(7, "192.0.2.1", "a"))
			time.Sleep(audit.WriteEvery) //nolint:forbidigo // in a bubble
			synctest.Wait()
			time.AfterFunc(takes, func() { close(store.hangs) })
			began := time.Now()
			collector.Close(t.Context())
			stop()
			synctest.Wait()
			if n, took := store.rows(), time.Since(began); n != want || took > 2*time.Second {
				t.Errorf("a write that takes %v: %d events after %v, want %d", takes, n, took, want)
			}
			time.Sleep(takes) //nolint:forbidigo // in a bubble
		})
	}
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
