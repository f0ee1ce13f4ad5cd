//go:build unix

package proxies

import (
	"fmt"
	"strings"
	"testing"
)

// TestPathOfTwoReadingsReachesNoService: a proxy chooses the route by one reading of the path, and
// a service may have another. What is guarded for the one must not be open for the other.
func TestPathOfTwoReadingsReachesNoService(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		ask := func(target, more string) int {
			status, _ := w.raw("DELETE " + target + " HTTP/1.1\r\nHost: PROXY\r\n" + more + "Connection: close\r\n\r\n")
			return status
		}
		token := fmt.Sprintf("Authorization: Bearer %s\r\n", w.token)
		for _, target := range []string{
			"/orders/..%2fopen/1", "/orders/%2e%2e/open/1", "/orders/%2E%2E%2Fopen%2F1", "/orders/.%2e/open/1", "/orders/../open/1", "/orders/..%5copen/1", `/orders/..\open/1`,
			"/open/../orders/1", "/open/%2e%2e/orders/1", "/open/..;/orders/1", "/open/..%3b/orders/1", "/open/..;x=1/orders/1", "/open/.;/../orders/1", "/open/./../orders/1", "/open/..",
			"//open/1", "/open//../orders/1", "/open//orders", "///", "/open/%00/../orders/1", "/open/%c0%ae%c0%ae/orders/1", "/open/..%c0%af/orders/1",
			"/open/#/../orders/1", "/open/..#/orders/1", "http://PROXY/orders/..%2fopen/1", "http://PROXY/open/../orders/1",
		} {
			for _, with := range []string{"", token} {
				status := ask(target, with)
				if seen, _ := w.service.arrived(); status != 400 || len(seen) != 0 {
					t.Errorf("%s, with a token %v: got %d, and the service saw %d requests", target, with != "", status, len(seen))
				}
			}
		}
		// Another case is another path; a query may have anything; names may have dots.
		for _, target := range []string{"/OPEN/1", "/Open/1", "/orders?next=/../open/", "/orders/a..b/.c/d.", "/orders/%25%32%66", "/orders/caf%C3%A9", "/orders;v=1"} {
			if status := ask(target, ""); status != 401 {
				t.Errorf("%s without a token: got %d", target, status)
			}
			if status := ask(target, token); status != 200 {
				t.Errorf("%s: got %d", target, status)
			}
		}
		for _, target := range []string{"/open/1", "/open/a?b=//..%2f", "/open/.well-known/x"} {
			if status := ask(target, ""); status != 200 {
				t.Errorf("%s, which is open: got %d", target, status)
			}
		}
		// What flakepass refuses for its size is no reason to try again.
		for _, size := range []int{18_000, 24_000, 30_000, 60_000} {
			big := strings.Repeat("X-Big: "+strings.Repeat("x", 3000)+"\r\n", size/3000)
			if status := ask("/orders", token+big); status >= 500 || status == 401 {
				t.Errorf("%d bytes of headers: got %d", len(big), status)
			}
		}
	})
}
