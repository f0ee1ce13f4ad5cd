package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// TestWhatCostsNoHashTakesNoBucket: a password that no account can have is refused
// uncounted, wherever one is shown or chosen, and whatever the name.
func TestWhatCostsNoHashTakesNoBucket(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for call, want := range map[string]string{
		`POST /v1/login {"username":"ada","password":"` + long + `"}`:                                          "401 credentials_invalid",
		`POST /v1/me/reauthenticate {"password":"` + long + `","code":"123456"}`:                               "403 current_password_invalid",
		`PUT /v1/me/password {"current_password":"` + long + `","new_password":"b"}`:                           "403 current_password_invalid",
		`POST /v1/me/second-factor {"current_password":"` + long + `"}`:                                        "403 current_password_invalid",
		`DELETE /v1/me/second-factor {"current_password":"` + long + `","code":"123456"}`:                      "403 current_password_invalid",
		`POST /v1/me/second-factor/recovery-codes {"current_password":"` + long + `","code":"123456"}`:         "403 current_password_invalid",
		`POST /v1/register {"username":"ada","password":"short"}`:                                              "422 validation_failed",
		`POST /v1/register {"username":"no such name!","password":"violet tram sings at noon"}`:                "422 validation_failed",
		`POST /v1/register {"username":"alice","password":"` + long + `"}`:                                     "422 validation_failed",
		`POST /v1/register {"username":"nobody.has.it","password":"violet tram sings at noon, nobody.has.it"}`: "422 validation_failed",
		`POST /v1/register {"username":"alice","password":"violet tram sings at noon"}`:                        "429 rate_limited",
	} {
		w := &world{limit: &ratelimit.LimitedError{Limit: "register"}}
		part := strings.SplitN(call, " ", 3)
		status, body := ask(t, handler(t, w, nil), part[0], part[1], part[2])
		code, name, _ := strings.Cut(want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(body, `"code":"`+name+`"`) || len(w.tries) != 0 {
			t.Errorf("%.60s: got %d %s, want %s; %d attempts counted", call, status, body, want, len(w.tries))
		}
	}
}
