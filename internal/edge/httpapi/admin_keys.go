package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/edge/render"
)

func (s *server) keyRoutes(g gin.IRouter) {
	g.POST("/users/:id/keys", s.do(ofID(s.createKey)))
	g.GET("/users/:id/keys", s.do(ofID(s.listKeys)))
	g.DELETE("/keys/:id", s.do(ofIDAndReason(s.revokeKey)))
}

func (s *server) createKey(c *gin.Context, id idworker.ID) error {
	var in struct {
		Name      text        `json:"name"`
		Scopes    []text      `json:"scopes"`
		ExpiresAt given[text] `json:"expires_at"`
		Reason    text        `json:"reason"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	n := operator.NewKey{Name: string(in.Name), Scopes: stringsOf(in.Scopes), Reason: string(in.Reason)}
	if in.ExpiresAt.value != nil {
		at, err := wire.ParseTime(string(*in.ExpiresAt.value))
		if err != nil {
			return invalid.Of("expires_at", "malformed", "must be a time as RFC 3339 has it, or left out")
		}
		n.ExpiresAt = at
	}
	made, err := s.People.Keys.CreateKey(c.Request.Context(), s.operator(c), id, n)
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusCreated, struct {
		Secret string `json:"key"`
		wire.ServiceKey
	}{made.Secret.Reveal(), render.ServiceKey(&made.Key)})
}

func (s *server) listKeys(c *gin.Context, id idworker.ID) error {
	return listing(c, "keys", func(p page) ([]servicekey.Key, error) {
		keys, err := s.People.Keys.ListKeys(c.Request.Context(), id, p.Cursor, p.Limit)
		return keys, gone(err)
	}, render.ServiceKey, func(k *servicekey.Key) string { return k.ID.String() })
}

// revokeKey answers when the key is revoked. Instances are not told of it: each asks
// the row again within the bound.
func (s *server) revokeKey(c *gin.Context, id idworker.ID, reason string) error {
	_, err := s.People.Keys.RevokeKey(c.Request.Context(), s.operator(c), id, reason)
	switch {
	case errors.Is(err, servicekey.ErrNotFound):
		return errNotFound
	case err != nil:
		return err
	}
	s.pending(c)
	return nil
}
