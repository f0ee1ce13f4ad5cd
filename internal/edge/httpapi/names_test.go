package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// A namesWorld changes the names of everybody, and finds everybody.
type namesWorld struct {
	err   error
	by    audit.Actor
	asked []string
}

func (w *namesWorld) ChangeNames(_ context.Context, by audit.Actor, id idworker.ID, c operator.NameChange) (account.User, error) {
	w.by = by
	u := account.User{ID: id, Username: "alice", Role: account.RoleUser, CreatedAt: at, UpdatedAt: at}
	if c.Username != nil {
		u.Username = *c.Username
	}
	if c.Aliases != nil {
		u.Aliases = *c.Aliases
	}
	w.asked = append(w.asked, fmt.Sprint(id, " ", u.Username, u.Aliases, c.AddAliases, c.RemoveAliases, c.Reason))
	return u, w.err
}

func (w *namesWorld) Find(_ context.Context, q operator.NameQuery) (account.User, error) {
	w.asked = append(w.asked, fmt.Sprintf("%+v", q))
	return account.User{ID: 41, Username: "alice", Aliases: []string{"alice@example.org"}, Role: account.RoleUser, CreatedAt: at, UpdatedAt: at}, w.err
}

// namesBy sends a request with a key of that scope.
func namesBy(t *testing.T, w *namesWorld, scope servicekey.Scope, method, target, body string) (int, string) {
	t.Helper()
	key, row := mintKey(scope)
	h := handler(t, &world{}, func(o *httpapi.Options) { o.Keys, o.People.Names = keysOver(row), w })
	return ask(t, authorized{h, "Bearer " + key.Reveal()}, method, target, body)
}

// An authorized handler gets each request with that credential.
type authorized struct {
	http.Handler
	credential string
}

func (a authorized) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Set("Authorization", a.credential)
	a.Handler.ServeHTTP(w, r)
}

func TestUserIsFoundByExactlyOneName(t *testing.T) {
	for query, want := range map[string]string{
		"?username=alice":            "{ID:0 Username:alice Alias: ExternalID:}",
		"?alias=alice%40example.org": "{ID:0 Username: Alias:alice@example.org ExternalID:}",
		"?alias=%2B4915112345678":    "{ID:0 Username: Alias:+4915112345678 ExternalID:}",
		"?external_id=7":             "{ID:0 Username: Alias: ExternalID:7}",
		"/41":                        "{ID:41 Username: Alias: ExternalID:}",
		"":                           "", "?": "", "?username=": "", "?username=a&username=b": "", "?username=alice&alias=x": "", "?name=alice": "", "?id=41": "", "?username=%zz": "", "?alias=alice+tag%40example.org": "", "?username=alice+tag": "", "?alias=alice%2540example.org": "", "?username=%25zz": "",
		"?alias=+4915112345678": "", "?alias=%204915112345678": "", "?username=+alice": "", "?username=alice%20": "", "?alias=alice%20": "",
	} {
		w := &namesWorld{}
		status, body := namesBy(t, w, servicekey.ReadUsers, "GET", "/v1/users"+query, "")
		if want == "" {
			if status != 422 || len(w.asked) != 0 {
				t.Errorf("%q: %d %s", query, status, body)
			}
			continue
		}
		if status != 200 || len(w.asked) != 1 || w.asked[0] != want || !strings.Contains(body, `"aliases":["alice@example.org"]`) || strings.Contains(body, "hash") {
			t.Errorf("%q: %d %s, asked %v", query, status, body, w.asked)
		}
	}
	if status, _ := namesBy(t, &namesWorld{err: account.ErrNotFound}, servicekey.ReadUsers, "GET", "/v1/users?username=eve", ""); status != 404 {
		t.Errorf("nobody: %d", status)
	}
}

func TestNamesAreChangedByKey(t *testing.T) {
	w := &namesWorld{}
	status, body := namesBy(t, w, servicekey.WriteUsers, "PATCH", "/v1/users/41", `{"username":"ada","aliases":[],"add_aliases":["a@b.org"],"remove_aliases":["c@d.org"],"reason":"asked"}`)
	if status != 200 || !slices.Equal(w.asked, []string{"41 ada[] [a@b.org] [c@d.org]asked"}) || w.by.Key == 0 || w.by.Session != 0 {
		t.Errorf("%d %s, asked %v by %+v", status, body, w.asked, w.by)
	}
	for err, want := range map[error]string{
		account.ErrExists: "409 username_taken", account.ErrAliasTaken: "409 alias_taken", account.ErrNotFound: "404 not_found", operator.ErrProtected: "403 account_protected",
		servicekey.ErrNotFound: "503 unavailable",
	} {
		status, body := namesBy(t, &namesWorld{err: err}, servicekey.WriteUsers, "PATCH", "/v1/users/41", `{"aliases":["a@b.org"]}`)
		code, name, _ := strings.Cut(want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(body, `"code":"`+name+`"`) {
			t.Errorf("%v: %d %s, want %s", err, status, body, want)
		}
	}
}

// TestNamesAndRoleAreChangedApart: one of the two could be done, and the other refused.
func TestNamesAndRoleAreChangedApart(t *testing.T) {
	w := &namesWorld{}
	h := handler(t, &world{}, func(o *httpapi.Options) { o.Sessions, o.People.Names = holder{role: "admin"}, w })
	for _, body := range []string{`{"username":"ada","role":"admin"}`, `{"aliases":[],"disabled":true}`, `{"add_aliases":["a@b.org"],"disabled":true}`} {
		if status, answer := ask(t, h, "PATCH", "/v1/admin/users/41", body); status != 422 || !strings.Contains(answer, `"apart"`) || len(w.asked) != 0 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

// TestUnescapedPlusOfAnExternalIDIsSaid: issuers.md has phone numbers in E.164 as external IDs. With a plus sign that was
// not escaped the ID begins with a space, which no external ID does: that is 422, as of an alias, and not "there is no such user".
func TestUnescapedPlusOfAnExternalIDIsSaid(t *testing.T) {
	for _, query := range []string{"?external_id=+8613800138000", "?external_id=%208613800138000", "?external_id=a%00b"} {
		w := &namesWorld{err: account.ErrNotFound}
		if status, body := namesBy(t, w, servicekey.ReadUsers, "GET", "/v1/users"+query, ""); status != 422 {
			t.Errorf("%s: %d %s, asked %q", query, status, body, w.asked)
		}
	}
}

// TestTokenWhereOnlyAKeyIsTakenIsToldSo: no token of any role may look a user up at /v1/users, that of an admin
// neither, so the answer names no role. It is that of POST /v1/issue.
func TestTokenWhereOnlyAKeyIsTakenIsToldSo(t *testing.T) {
	for _, role := range []string{"admin", "service"} {
		h := handler(t, &world{role: role}, func(o *httpapi.Options) { o.People.Names = &namesWorld{} })
		status, body := send(t, h, "GET", "/v1/users?username=alice", "")
		if status != 403 || !strings.Contains(body, `"code":"service_key_required"`) {
			t.Errorf("%s: %d %s", role, status, body)
		}
	}
}
