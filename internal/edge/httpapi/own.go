package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// deviceRoutes are what people do with their own logins.
func (s *server) deviceRoutes(mine gin.IRouter) {
	mine.GET("/me/sessions", s.do(s.mySessions))
	mine.DELETE("/me/sessions/:id", s.do(ofID(s.endMySession)))
	mine.POST("/me/sessions/logout-others", s.do(s.logoutOthers))
}

func (s *server) mySessions(c *gin.Context) error {
	me := s.client(c)
	found, err := s.Own.Logins(c.Request.Context(), me)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, list{"sessions", render.All(found, func(l *session.Login) wire.MySession { return render.MySession(l, me.By.Session) }), ""})
}

func (s *server) endMySession(c *gin.Context, id idworker.ID) error {
	return s.ended(c, s.Own.LogoutDevice(c.Request.Context(), s.client(c), id))
}

func (s *server) logoutOthers(c *gin.Context) error {
	n, err := s.Own.LogoutOthers(c.Request.Context(), s.client(c))
	switch {
	case err == nil:
		c.JSON(http.StatusOK, wire.LoggedOutOthers{Ended: &n})
	case errors.Is(err, session.ErrUnpublished):
		c.JSON(http.StatusAccepted, wire.LoggedOutOthers{Ended: &n, Within: wire.Millis(s.Bound)})
	default:
		return err
	}
	return nil
}

// wantsEverywhere reads the body of a logout, which most clients do not send.
func wantsEverywhere(c *gin.Context) (bool, error) {
	if none(c.Request) {
		return false, nil
	}
	var in struct {
		Everywhere given[bool] `json:"everywhere"`
	}
	err := bind(c, &in)
	return in.Everywhere.value != nil && *in.Everywhere.value, err
}

// none reports whether a request has no body. If it does not say how long its body is, as
// with chunks, the first byte is waited for: it may be empty all the same.
func none(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength == 0
	}
	body := bufio.NewReader(r.Body)
	_, err := body.Peek(1)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	return errors.Is(err, io.EOF)
}

// dataRoutes are what people do about what is kept of them.
func (s *server) dataRoutes(mine gin.IRouter) {
	mine.GET("/me/export", s.themselves, s.do(s.exportMe))
	mine.DELETE("/me", s.do(s.deleteMe))
}

func (s *server) deleteMe(c *gin.Context) error {
	due, err := s.Own.AskDeletion(c.Request.Context(), s.client(c))
	switch {
	case err == nil:
		c.JSON(http.StatusOK, wire.DeletionAsked{Due: wire.At(due)})
	case errors.Is(err, session.ErrUnpublished):
		c.JSON(http.StatusAccepted, wire.DeletionAsked{Due: wire.At(due), Within: wire.Millis(s.Bound)})
	default:
		return err
	}
	return nil
}

// exportMe writes the record page by page: it may be long. If it cannot be read to its end,
// the connection is cut, so that nobody takes a part for the whole.
func (s *server) exportMe(c *gin.Context) error {
	me := s.client(c)
	own, err := s.Own.Export(c.Request.Context(), me)
	if err != nil {
		return err
	}
	c.Writer.Header()["Content-Type"] = jsonType
	c.Header("Content-Disposition", `attachment; filename="flakepass-`+own.User.ID.String()+`.json"`)
	if err := s.writeData(c.Writer, me.By.Session, &own); err != nil {
		if ctx := c.Request.Context(); ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "export cut off", "err", err, "request_id", c.Writer.Header().Get(problem.RequestIDHeader))
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// pageTime is how long a page of an export may take to be read, and as long again to reach the client.
const pageTime = 20 * time.Second

// writeData writes a [wire.MyData], member by member. The limit of time for an answer counts anew
// for each page.
func (s *server) writeData(w http.ResponseWriter, current idworker.ID, own *login.Copy) error {
	text, err := json.Marshal(struct {
		ExportedAt wire.Time        `json:"exported_at"`
		Account    wire.User        `json:"account"`
		FactorAt   wire.Time        `json:"second_factor_since,omitzero"`
		Sessions   []wire.MySession `json:"sessions"`
	}{
		wire.At(s.Own.Now()), render.User(&own.User), wire.AtOrNone(own.User.SecondFactorAt, own.User.HasSecondFactor()),
		render.All(own.Logins, func(l *session.Login) wire.MySession { return render.MySession(l, current) }),
	})
	if err != nil {
		return err
	}
	out := func(b []byte) error {
		_, err := w.Write(b)
		return err
	}
	if err := out(append(text[:len(text)-1], `,"events":[`...)); err != nil {
		return err
	}
	between := ""
	limit := http.NewResponseController(w)
	anew := func() { _ = limit.SetWriteDeadline(time.Now().Add(pageTime)) } // what cannot has no limit
	anew()
	more, err := own.Events(func(page []audit.Event) error {
		anew()
		for i := range page {
			line, err := json.Marshal(render.MyEvent(&page[i], own.User.ID, own.User.Username))
			if err != nil {
				return err
			}
			if err := out(append([]byte(between), line...)); err != nil {
				return err
			}
			between = ",\n"
		}
		anew()
		return nil
	})
	if err != nil {
		return err
	}
	end := `],"events_left_out":false}`
	if more {
		end = `],"events_left_out":true}`
	}
	return out([]byte(end + "\n"))
}

func (s *server) deleteUser(c *gin.Context, id idworker.ID) error {
	var in struct {
		Username text `json:"username"`
		Reason   text `json:"reason"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	_, err := s.People.Deletion.Delete(c.Request.Context(), s.operator(c), id, string(in.Username), string(in.Reason))
	return s.ended(c, err)
}
