package console_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// happened is n events, newest first, a second apart.
func happened(n int) (events []audit.Event) {
	begin := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for i := n; i > 0; i-- {
		events = append(events, audit.Event{
			ID: idworker.Default().Smallest(begin.Add(time.Duration(i)*time.Second)) + 1, Action: audit.LoginEnded,
			By:     audit.Actor{ID: 7, Name: "ada", Via: audit.ViaCLI, Address: "192.0.2.9"},
			Target: audit.Target{Kind: "user", ID: idworker.ID(1000 + i), Name: "bob"}, Reason: "lost phone",
		})
	}
	return events
}

func TestRecordIsRead(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = []audit.Event{{
		ID: idworker.Default().Smallest(time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC)), Action: audit.PolicyChanged,
		By: audit.Actor{Name: "root@host", Via: audit.ViaCLI}, Target: audit.Target{Kind: "policy", Name: "global"},
		Old: json.RawMessage(`{"version":1,"idle_timeout_seconds":1209600,"sweep_schedule":"@every 1m"}`),
		New: json.RawMessage(`{"version":2,"idle_timeout_seconds":3600,"sweep_schedule":"@every 1m"}`), Reason: "<b>why</b>",
	}}
	page := w.see(c, "/console/audit")
	wantText(t, page, "Policy changed", "root@host", "command line", "idle timeout: <del>14 days</del> → <ins>1 hour</ins>", `datetime="2026-02-01T09:30:00.000Z"`)
	if body := page.Body.String(); strings.Contains(body, "<b>why") || strings.Contains(body, "sweep schedule") {
		t.Error("a reason breaks out, or what is the same is shown")
	}
}

func TestRecordIsPaged(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = happened(120)
	seen, next := 0, "/console/audit?action=login.ended"
	for pages := 0; next != "" && pages < 5; pages++ {
		page := w.see(c, next)
		wantStatus(t, page, 200)
		seen += strings.Count(page.Body.String(), "<tr>") - 1
		next = ""
		if _, rest, ok := strings.Cut(page.Body.String(), `rel="next"`); ok {
			_ = rest
			before, _, _ := strings.Cut(page.Body.String(), `" rel="next"`)
			next = strings.ReplaceAll(before[strings.LastIndex(before, `"`)+1:], "&amp;", "&")
		}
	}
	if seen != 120 || next != "" {
		t.Errorf("%d events seen, then %q", seen, next)
	}
	for _, f := range w.record.asked {
		if f.Limit > 51 || f.Action != audit.LoginEnded {
			t.Errorf("asked for %+v", f)
		}
	}
}

func TestBadFilterShowsNothing(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = happened(3)
	for _, q := range []string{"since=yesterday", "until=2026-13-01T00:00", "action=nothing", "before=x"} {
		for _, path := range []string{"/console/audit", "/console/audit.csv", "/console/audit.ndjson"} {
			page := w.see(c, path+"?"+q)
			wantStatus(t, page, 422)
			wantNoText(t, page, "lost phone")
		}
	}
	if len(w.record.asked) != 0 {
		t.Error("the record was asked")
	}
	wantStatus(t, w.see(c, "/console/audit?since=2026-02-01T00:00&until=2026-03-01T00:00&actor=7"), 200)
	if f := w.record.asked[0]; f.Actor != 7 || f.Since.Month() != time.February || f.Until.Month() != time.March {
		t.Errorf("asked for %+v", f)
	}
}

// TestFilterShowsWhatWasAskedFor, as the API does: it was cut to the name of somebody else, or
// left out where it could not be read, and the page and the files had the whole record.
func TestFilterShowsWhatWasAskedFor(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	long := strings.Repeat("b", 65)
	wantStatus(t, w.see(c, "/console/audit?actor=a"+long+"&target="+long), 200)
	if f := w.record.asked[0]; f.ActorName != "a"+long || f.TargetName != long {
		t.Errorf("asked for %+v", f)
	}
	w.record.asked = nil
	for _, bad := range []string{"target=%zz", "actor=%ff", "actor=a&actor=b", "target=" + strings.Repeat("b", 1025), "actor=a%00", "since=10000-01-01", "since=x"} {
		for _, path := range []string{"/console/audit?", "/console/audit.csv?", "/console/audit.ndjson?"} {
			wantStatus(t, w.see(c, path+bad), 422)
		}
	}
	wantStatus(t, w.see(c, "/console/users?name=%zz"), 422)
	wantStatus(t, w.see(c, "/console/logins?device_class=%zz"), 422)
	if len(w.record.asked) > 0 {
		t.Errorf("asked for %+v", w.record.asked)
	}
	for _, date := range []string{"0000-01-01", "0001-01-01T00:00", "1999-12-31", "2090-01-01", "9999-12-31"} {
		w.record.asked = nil
		wantStatus(t, w.see(c, "/console/audit?until="+date), 200)
		if f := w.record.asked[0]; f.Until.IsZero() {
			t.Errorf("%s is left out", date)
		}
	}
}

// TestRecordIsSearchedByNameOrID, as people type a name.
func TestRecordIsSearchedByNameOrID(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	wantStatus(t, w.see(c, "/console/audit?actor=Ada&target=9"), 200)
	wantStatus(t, w.see(c, "/console/audit?actor=root%40host&target=-1"), 200)
	for i, want := range []audit.Filter{{ActorName: "ada", Target: 9}, {ActorName: "root@host", TargetName: "-1"}} {
		f := w.record.asked[i]
		if f.Actor != want.Actor || f.ActorName != want.ActorName || f.Target != want.Target || f.TargetName != want.TargetName {
			t.Errorf("asked for %+v, want %+v", f, want)
		}
	}
}

func TestExportHasEverythingOnce(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = happened(1203)
	w.record.events[0].Reason = `=HYPERLINK("http://evil.example")`
	w.record.events[1].Reason = "a \"quote\",\nand a line"
	page := w.see(c, "/console/audit.csv")
	rows, err := csv.NewReader(page.Body).ReadAll()
	if err != nil || len(rows) != 1204 || rows[0][0] != "id" || rows[1][9] != "'"+w.record.events[0].Reason || rows[2][9] != w.record.events[1].Reason {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	page = w.see(c, "/console/audit.ndjson?action=login.ended")
	seen := map[string]bool{}
	for line := range strings.Lines(page.Body.String()) {
		var e struct{ ID, At, Actor, Reason string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.ID == "" || e.At == "" || e.Actor != "ada" {
			t.Fatalf("%q: %v", line, err)
		}
		seen[e.ID] = true
	}
	// The name is that of the console, whatever the address asks for.
	if len(seen) != 1203 || page.Header().Get("Content-Disposition") != `attachment; filename="flakepass-audit.ndjson"` {
		t.Errorf("%d events, %v", len(seen), page.Header())
	}
	for _, f := range w.record.asked {
		if f.Limit > 500 {
			t.Errorf("asked for %d at once", f.Limit)
		}
	}
}

// A spreadsheet that opens the export takes no cell for a formula, whichever
// column an attacker has written to.
func TestExportedCellsAreNoFormulas(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	const formula = " \uff1dHYPERLINK(1)"
	w.record.events = happened(1)
	e := &w.record.events[0]
	e.By = audit.Actor{ID: 1, Name: formula, Via: formula, RequestID: formula, Address: formula}
	e.Action, e.Reason, e.Target = formula, formula, audit.Target{Kind: formula, ID: 2, Name: formula}
	e.Old, e.New = json.RawMessage(formula), json.RawMessage(formula)
	rows, err := csv.NewReader(w.see(c, "/console/audit.csv").Body).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	quoted := 0
	for i, cell := range rows[1] {
		if cell == "'"+formula {
			quoted++
		} else if strings.Contains(cell, "HYPERLINK") {
			t.Errorf("%s is %q", rows[0][i], cell)
		}
	}
	if quoted != 10 {
		t.Errorf("%d cells have a quote, want 10: %q", quoted, rows[1])
	}
}

// Half of an export that looks whole would be taken for the record.
func TestBrokenExportIsNoWholeOne(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = happened(1203)
	w.record.failAfter = 2
	server := httptest.NewServer(w.h)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/console/audit.ndjson", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(c)
	got, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if err := json.NewDecoder(got.Body).Decode(&struct{}{}); err != nil {
		t.Fatalf("the first event: %v", err)
	}
	buffer := make([]byte, 64<<10)
	for err == nil {
		_, err = got.Body.Read(buffer)
	}
	if err.Error() == "EOF" {
		t.Error("the export ended as if it were whole")
	}
	server.Close() // when it returns, no request reads the record any more
	w.record.err = errors.New("disk on fire")
	page := w.see(c, "/console/audit.csv")
	wantStatus(t, page, 503)
	wantNoText(t, page, "disk on fire")
}

// TestRecordNamesEachLoginThatEnded: of several the record has a list.
func TestRecordNamesEachLoginThatEnded(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = happened(2)
	w.record.events[0].Old = json.RawMessage(`[{"session_id":"41","last_seen_at":"2026-02-01T09:30:00.000Z","device_class":"phone","device_name":"red <b>"},
		{"session_id":"42","last_seen_at":"2026-02-01T09:31:00.000Z","device_class":"tablet"}, 7]`)
	w.record.events[0].New = json.RawMessage(`{"ended_device_class":"phone"}`)
	w.record.events[1].Old, w.record.events[1].New = json.RawMessage(`[1]`), json.RawMessage(`"x"`)
	page := w.see(c, "/console/audit")
	wantText(t, page, "login: <del>41</del>", "login: <del>42</del>", "device: <del>Phone</del>", "device: <del>Tablet</del>", "device name: <del>red",
		`datetime="2026-02-01T09:30:00.000Z"`, `datetime="2026-02-01T09:31:00.000Z"`, "ended on all devices of the class: <ins>Phone</ins>")
	body := page.Body.String()
	if strings.Contains(body, "<b>") || strings.Count(body, "ended on all devices") != 1 || strings.Index(body, "Phone</del>") > strings.Index(body, "<del>41") || strings.Index(body, "<del>41") > strings.Index(body, "Tablet</del>") {
		t.Errorf("in another order, or not once:\n%s", body)
	}
}
