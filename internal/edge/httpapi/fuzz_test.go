package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// FuzzBody sends bodies to registration and login, with the real rules for
// accounts behind them. No body is a 5xx, each answer is one of the contract,
// and neither an answer nor the log repeats what was sent.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{"username":"alice","password":"violet tram sings at noon"}`,
		`{"username":"ａｌｉｃｅ","password":"violet tram sings at noon"}`,
		`{"username":"alice","password":"short"}`,
		`{"username":"alice","password":"violet tram sings at noon","device":{"class":"phone","name":"Ada’s\u202e phone"}}`,
		`{"username":"alice","password":"violet tram sings at noon","device":{"class":"watch"}}`, `{"device":null}`, `{"device":{"name":7}}`,
		`{"username":"alice","username":"bob","password":"violet tram sings at noon"}`,
		`{"Username":"alice","password":"violet tram sings at noon"}`,
		`{"username":"\ud800","password":"violet tram sings at noon"}`,
		`{"username":null,"password":{}}`,
		`{"username":"a\u0000b","password":"\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000"}`,
		`{"ticket":"x"}`, `{"ticket":"x","end_session":"9"}`, `{"username":"a","password":"b","ticket":"x"}`,
		`{"username":"alice","password":"violet tram sings at noon","code":"123456","end_session":"0","device_credential":"fpd_x"}`,
		`{"username":"violettramsings1","password":"violettramsings"}`, // a part of the name, which an answer repeats
		`{"role":"admin"}`, `[]`, `null`, ``, ` `, `{`, `{}`, `{}{}`, `"x"`, `1e400`,
		"\xff", "\ufeff{}", `{"username":` + strings.Repeat(`[`, 50),
		`{"username":"` + strings.Repeat("a", 70) + `"}`,
		`{"username":"σς.ΣΣ","password":"` + strings.Repeat("\u0301", 30) + `"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var log bytes.Buffer
		users := &accounttest.Users{}
		accounts := &account.Service{Users: users, Hasher: accounttest.NewHasher(t), IDs: &numbers{}, Now: time.Now}
		h := handler(t, &world{}, func(o *httpapi.Options) {
			o.Own.Accounts, o.Own.Newcomers = accounts, accounts
			o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for _, path := range []string{"/v1/register", "/v1/login", "/v1/register"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+path, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.GetBody = nil
			req.Header.Set("Content-Type", "application/json")
			resp, err := apitest.Transport(t, direct{h}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var answer bytes.Buffer
			_, _ = answer.ReadFrom(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode >= 500 {
				t.Errorf("%s answered %d", path, resp.StatusCode)
			}
			if resp.StatusCode >= 400 && len(body) >= 24 && bytes.Contains(answer.Bytes(), body) {
				t.Errorf("%s repeats the body", path)
			}
			for _, secret := range passwordsIn(body) {
				if bytes.Contains(answer.Bytes(), secret) || bytes.Contains(log.Bytes(), secret) {
					t.Errorf("%s repeats the password", path)
				}
			}
		}
	})
}

// passwordsIn is what follows "password":" in a body, up to the next quote, if
// that is long enough not to be in an answer by chance.
func passwordsIn(body []byte) (list [][]byte) {
	for rest := body; ; {
		_, after, found := bytes.Cut(rest, []byte(`"password":"`))
		if !found {
			return list
		}
		secret, _, _ := bytes.Cut(after, []byte(`"`))
		if len(secret) >= 15 {
			list = append(list, secret)
		}
		rest = after
	}
}

// numbers are IDs in order.
type numbers struct{ last idworker.ID }

func (n *numbers) Next(context.Context) (idworker.ID, error) { n.last++; return n.last, nil }

// FuzzForm sends forms, with any query, to introspection and revocation. No form
// is a 5xx, each answer is one of the contract, what is asked about is the one
// value of token, and no answer or log repeats it.
func FuzzForm(f *testing.F) {
	for _, form := range []string{
		"token=" + target, "token=" + target + "&token_type_hint=access_token", "token=" + target + "&token=x", "token", "=", "&&", "token=%",
		"%74oken=" + target, "token=" + strings.ReplaceAll(target, "_", "%5F"), "token=+" + target, "token=" + target + "#", "token=a;b",
		"client_secret=x&token=" + target, "\xff=\xff", "token=%00", "token[]=" + target, "Token=" + target, "token=" + target + "\n", "",
	} {
		f.Add(form, "")
		f.Add(form, form)
	}
	f.Fuzz(func(t *testing.T, form, query string) {
		var log bytes.Buffer
		w := ofService()
		h := handler(t, w, func(o *httpapi.Options) {
			o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for _, path := range []string{"/v1/introspect", "/v1/revoke"} {
			w.asked, w.revoked = nil, nil
			a := post(t, h, path, form, func(r *http.Request) { r.URL.RawQuery = query; r.GetBody = nil })
			if a.status >= 500 {
				t.Errorf("%s answered %d", path, a.status)
			}
			asked := append(w.asked[1:], w.revoked...) // after the caller's own
			values, err := url.ParseQuery(form)
			if len(asked) > 0 && (err != nil || len(values["token"]) != 1 || a.status != 200) {
				t.Errorf("%s asked about %v for %q and answered %d", path, asked, form, a.status)
			}
			for _, secret := range values["token"] {
				if len(secret) >= 24 && (strings.Contains(a.body, secret) || bytes.Contains(log.Bytes(), []byte(secret))) {
					t.Errorf("%s repeats the token", path)
				}
			}
		}
	})
}
