package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// Events are the record of what was done, newest first.
type Events interface {
	List(ctx context.Context, f audit.Filter) ([]audit.Event, error)
}

// auditRoutes are the operator's routes to the record.
func (s *server) auditRoutes(g gin.IRouter) {
	g.GET("/audit", s.do(s.auditEvents))
}

// party is who did something, or what it was done to. ID is "" for what has
// none.
type party struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
}

func partyOf(id idworker.ID, name string) party {
	if id == 0 {
		return party{Name: name}
	}
	return party{id.String(), name}
}

type eventBody struct {
	ID     string       `json:"id"`
	At     string       `json:"at"`
	Action audit.Action `json:"action"`
	Actor  party        `json:"actor"`
	Via    string       `json:"via"`
	Target struct {
		Kind string `json:"kind"`
		party
	} `json:"target"`
	Reason    string          `json:"reason"`
	Old       json.RawMessage `json:"old,omitempty"`
	New       json.RawMessage `json:"new,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Address   string          `json:"address,omitempty"`
}

func eventOf(e *audit.Event) eventBody {
	b := eventBody{
		ID: e.ID.String(), At: e.At().String(), Action: e.Action, Actor: partyOf(e.By.ID, e.By.Name), Via: e.By.Via,
		Reason: e.Reason, Old: e.Old, New: e.New, RequestID: e.By.RequestID, Address: e.By.Address,
	}
	b.Target.Kind, b.Target.party = e.Target.Kind, partyOf(e.Target.ID, e.Target.Name)
	return b
}

func (s *server) auditEvents(c *gin.Context) error {
	p, values, err := query(c, "action", "actor", "target", "since", "until")
	if err != nil {
		return err
	}
	f, err := filterOf(values)
	if err != nil {
		return err
	}
	f.Before, f.Limit = p.Cursor, p.Limit+1
	list, err := s.Events.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	answer := struct {
		Events []eventBody `json:"events"`
		Next   string      `json:"next_cursor,omitempty"`
	}{Events: []eventBody{}}
	for i := range list[:min(len(list), p.Limit)] {
		answer.Events = append(answer.Events, eventOf(&list[i]))
	}
	if len(list) > p.Limit {
		answer.Next = list[p.Limit-1].ID.String()
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// actionName is how an action is written.
var actionName = regexp.MustCompile(`^[a-z_]{1,32}\.[a-z_]{1,32}$`)

// filterOf reads which events are wanted, and says everything that is wrong
// with it at once. A number is an ID, anything else a name, a username in any
// spelling.
func filterOf(values url.Values) (f audit.Filter, err error) {
	wrong := &account.InvalidError{}
	each := func(name, rule string, read func(string) bool) {
		if values.Has(name) && !read(values.Get(name)) {
			wrong.Fields = append(wrong.Fields, account.FieldError{Field: name, Code: "malformed", Message: rule})
		}
	}
	who := func(id *idworker.ID, name *string) func(string) bool {
		return func(s string) bool {
			*id, *name = operator.Party(s)
			return s != "" && len(s) <= 1024 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		}
	}
	when := func(to *time.Time) func(string) bool {
		return func(s string) bool {
			t, err := time.Parse(time.RFC3339, s)
			if t.IsZero() { // which would be no bound at all
				t = t.Add(time.Millisecond)
			}
			*to = t
			return err == nil
		}
	}
	each("action", "must be the name of an action, such as policy.changed", func(s string) bool {
		f.Action = audit.Action(s)
		return actionName.MatchString(s)
	})
	each("actor", "must be an ID or a name", who(&f.Actor, &f.ActorName))
	each("target", "must be an ID or a name", who(&f.Target, &f.TargetName))
	each("since", "must be an instant as RFC 3339 has it, such as 2026-11-21T09:00:00Z", when(&f.Since))
	each("until", "must be an instant as RFC 3339 has it, such as 2026-11-21T09:00:00Z", when(&f.Until))
	if len(wrong.Fields) > 0 {
		return f, wrong
	}
	return f, nil
}
