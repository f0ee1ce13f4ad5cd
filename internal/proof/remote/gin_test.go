package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
)

// The middleware for gin that the page of the package shows.
func Example_gin() {
	alive := flakepass.NewToken(1001)
	guard := &flakepass.Guard{Verifier: flakepass.VerifierFunc(func(_ context.Context, t flakepass.Token) (flakepass.Identity, error) {
		if t.ID() != alive.ID() {
			return flakepass.Identity{}, flakepass.ErrLoggedOut
		}
		return flakepass.Identity{UserID: 7, Username: "alice", Role: "user", SessionID: t.ID()}, nil
	})}

	guarded := func(g *flakepass.Guard) gin.HandlerFunc {
		return func(c *gin.Context) {
			r, ok := g.Admit(c.Writer, c.Request)
			if !ok {
				c.Abort() // answered
				return
			}
			c.Request = r
		}
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/orders", guarded(guard), func(c *gin.Context) {
		who, _ := flakepass.FromContext(c.Request.Context())
		c.String(http.StatusOK, "hello %s", who.Username)
	})
	router.GET("/users", guarded(guard.Only("admin")), func(c *gin.Context) { c.Status(http.StatusNoContent) })

	fmt.Println(send(router, alive).Body)
	fmt.Println(send(router, flakepass.NewToken(1002)).Code)
	// Output:
	// hello alice
	// 401
}

func send(h http.Handler, token flakepass.Token) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/orders", nil)
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
