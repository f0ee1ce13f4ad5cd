package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
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
