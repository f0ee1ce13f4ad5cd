//go:build unix

package attack

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Where the attacker sits, for whom only nginx vouches.
const attacker = "127.0.0.5"

// claims are the lines by which a client says to be at 6.6.6.6, or hides.
func claims() []string {
	long := strings.TrimSuffix(strings.Repeat("6.6.6.6, ", 700), ", ")
	all := []string{"", "X-Forwarded-For: " + long + "\r\n", "Forwarded: for=" + strings.ReplaceAll(long, ", ", ", for=") + "\r\n"}
	for _, value := range []string{
		"6.6.6.6", "6.6.6.6, 127.0.0.1", "127.0.0.1", "6.6.6.6:80", "[2001:db8::6]:80", "::ffff:6.6.6.6", "6.6.6.6,", ",6.6.6.6", "unknown", "6.6.6.6\t", "\"6.6.6.6\"",
		"for=6.6.6.6", "for=6.6.6.6;by=127.0.0.1", `for="6.6.6.6`, `for="[2001:db8::6]:80"`, `for=6.6.6.6, for="127.0.0.1`, `for=_hidden`, `for=6.6.6.6;x="\`, `"`, `\`, "",
	} {
		for _, name := range []string{"X-Forwarded-For", "x-forwarded-for", "Forwarded", "X_Forwarded_For", "X-Forwarded-for", "X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "X-Cluster-Client-IP"} {
			all = append(all, name+": "+value+"\r\n")
		}
	}
	const both = "X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n"
	return append(all, both, "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\n",
		"Connection: X-Forwarded-For\r\n"+both, "Connection: close, X-Forwarded-For, Forwarded\r\n"+both, "Connection: Forwarded\r\nX-Forwarded-For: 6.6.6.6\r\n",
		"X-Forwarded-For:\r\n 6.6.6.6\r\n", "X-Forwarded-For : 6.6.6.6\r\n", strings.Repeat("X-Forwarded-For: 6.6.6.6\r\n", 90))
}

// TestAClientChoosesNoAddress: what is logged of a refused request is where it came
// from, as nginx saw it: the address that every limit counts. Where nginx appends
// and does not replace, and leaves the other header alone, who writes that one may
// count as nginx itself.
func TestAClientChoosesNoAddress(t *testing.T) { //nolint:tparallel // its parts take turns on one server
	t.Parallel()
	w := newWorld(t, "TRUSTED_PROXIES=127.0.0.1")
	token := w.register("alice")
	from := regexp.MustCompile(`msg=forbidden .*from=(\S+) request_id=(\S+)`)
	try := func(t *testing.T, at, source string, want ...string) {
		t.Helper()
		sent := map[string]string{}
		for i, claim := range claims() {
			id := fmt.Sprintf("claim-%d-%05d", len(t.Name()), i)
			statuses, _ := w.talk(source, at, fmt.Sprintf("GET /v1/admin/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Request-Id: %s\r\n%sConnection: close\r\n\r\n", token, id, claim))
			if len(statuses) == 1 && statuses[0] == 403 {
				sent[id] = claim
			} else if len(statuses) != 1 || statuses[0] != 400 && statuses[0] != 431 {
				t.Errorf("%.80q: got %v", claim, statuses)
			}
		}
		last := fmt.Sprintf("the-last-%d", len(t.Name()))
		w.send("GET", at, "/v1/me", "", "X-Request-Id", last)
		seen := 0
		for _, m := range from.FindAllStringSubmatch(w.logSince(last), -1) {
			if claim, ours := sent[m[2]]; ours {
				seen++
				if !strings.Contains(" "+strings.Join(want, " ")+" ", " "+m[1]+" ") {
					t.Errorf("%.80q: counted at %s, want %v", claim, m[1], want)
				}
			}
		}
		if seen != len(sent) || seen < 200 {
			t.Errorf("%d of %d requests are in the log", seen, len(sent))
		}
	}
	t.Run("direct", func(t *testing.T) { try(t, w.api, attacker, attacker) })
	t.Run("nginx", func(t *testing.T) { try(t, w.front(), attacker, attacker) })
	t.Run("nginx that appends", func(t *testing.T) {
		at := w.front("proxy_set_header X-Forwarded-For $remote_addr;", "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", `proxy_set_header Forwarded "";`, "")
		try(t, at, attacker, attacker, "127.0.0.1")
	})
	t.Run("nginx that appends to Forwarded", func(t *testing.T) {
		at := w.front("proxy_set_header X-Forwarded-For $remote_addr;", "", `proxy_set_header Forwarded "";`, `proxy_set_header Forwarded "$http_forwarded, for=$remote_addr;proto=http";`)
		try(t, at, attacker, attacker, "127.0.0.1")
	})
}

// TestFloodOfLoginsIsHeldBack: a hundred guesses at once, each with another
// address on its lips, are five. The owner of the account logs in meanwhile from
// elsewhere, and on the device that was logged in before from the very same
// address. Who tries many names is held back too.
func TestFloodOfLoginsIsHeldBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "TRUSTED_PROXIES=127.0.0.1", "THROTTLE=on")
	token := w.register("alice")
	at := w.front()
	login := func(source, name, password, lines string) (int, answer) {
		body := object("username", name, "password", password)
		statuses, last := w.talk(source, at, fmt.Sprintf("POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s", len(body), lines, body))
		if len(statuses) != 1 {
			return 0, last
		}
		return statuses[0], last
	}
	counted := func(n int, name func(i int) string) map[int]int {
		var mu sync.Mutex
		got := map[int]int{}
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				status, _ := login(attacker, name(i), "a guess of many, each other", fmt.Sprintf("X-Forwarded-For: 6.6.%d.6\r\nForwarded: for=6.6.6.%d\r\nX-Real-IP: 6.%d.6.6\r\n", i, i, i))
				mu.Lock()
				defer mu.Unlock()
				got[status]++
			})
		}
		all.Wait()
		return got
	}
	names := []string{"alice", "ALICE", "ａｌｉｃｅ"}
	// Of five a minute, one comes back every twelve seconds. Only a machine that
	// stands still takes that long.
	begun := time.Now()
	let := func() int { return 5 + int(time.Since(begun)/(12*time.Second)) }
	got := counted(100, func(i int) string { return names[i%len(names)] })
	if got[401] < 5 || got[401] > let() || got[401]+got[429] != 100 {
		t.Errorf("of a hundred guesses at once: %v, want %d of 401 and the rest of 429", got, let())
	}
	if status, last := login(attacker, "alice", password, ""); status == 429 && last.header.Get("Retry-After") == "" || status != 429 && got[401] >= let() {
		t.Errorf("the right password from there: got %d %v", status, last.header)
	}
	if status, last := login("127.0.0.6", "alice", password, ""); status != 200 {
		t.Errorf("the owner, elsewhere: got %d %s", status, last.body)
	} else {
		token = last.field("token")
	}
	if status, last := login(attacker, "alice", password, "Authorization: Bearer "+token+"\r\n"); status != 200 {
		t.Errorf("the owner's device, behind the same address: got %d %s", status, last.body)
	}
	// Of 120 a minute, two come back every second. A machine that takes as long as
	// it takes for all to come back has shown nothing, and tries again.
	for begun = time.Now(); ; {
		tried := time.Now()
		got = counted(150, func(i int) string { return fmt.Sprintf("name-%d", i) })
		more := int(2 * time.Since(tried).Seconds())
		if got[401]+got[503] > 120+more || got[401]+got[429]+got[503] != 150 {
			t.Errorf("of 150 names from one address: %v, want at most %d that are looked at", got, 120+more)
		}
		if got[429] > 0 {
			break
		}
		if time.Since(begun) > 5*patience {
			t.Fatal("no client that tries many names is held back")
		}
	}
}
