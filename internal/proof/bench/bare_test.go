package bench

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
)

// An instant and the two structs below it are what GET /v1/me answers with, so
// that both sides spend the same on encoding JSON.
type instant time.Time

func (t instant) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

type mySession struct {
	ID            string  `json:"id"`
	IssuedAt      instant `json:"issued_at"`
	LastSeenAt    instant `json:"last_seen_at"`
	ExpiresAt     instant `json:"expires_at"`
	IdleExpiresAt instant `json:"idle_expires_at"`
}

type me struct {
	Username string    `json:"username"`
	Role     string    `json:"role"`
	Session  mySession `json:"session"`
}

// serveBare is the least that gin can do for GET /v1/me: one route, no
// middleware, no header beside gin's Content-Type, no look at the request, and
// the plainest http.Server. The answer has the product's types and length.
func serveBare(args []string) error {
	e := bareEngine()
	e.GET("/v1/me", func(c *gin.Context) {
		now := time.Now()
		c.JSON(http.StatusOK, me{"person.000000", "user", mySession{
			idworker.ID(1574318000000000000).String(), instant(now), instant(now), instant(now), instant(now),
		}})
	})
	return http.ListenAndServe(args[0], e)
}

// serveRedis is the least that a session in Redis costs: the text behind
// "Bearer " is the key, and one GET says whether it is there. The answer has the
// four headers of GET /v1/verify.
func serveRedis(args []string) error {
	rdb := redis.NewClient(&redis.Options{Addr: args[1]})
	e := bareEngine()
	e.GET("/v1/verify", func(c *gin.Context) {
		text, _ := strings.CutPrefix(c.GetHeader("Authorization"), "Bearer ")
		_, err := rdb.Get(c.Request.Context(), bareKey(text)).Bytes()
		switch {
		case errors.Is(err, redis.Nil):
			c.Status(http.StatusUnauthorized)
			return
		case err != nil:
			c.Status(http.StatusServiceUnavailable)
			return
		}
		c.Header("X-Auth-User-Id", "1574318000000000000")
		c.Header("X-Auth-Username", "person.000000")
		c.Header("X-Auth-Role", "user")
		c.Header("X-Auth-Session-Id", "1574318000000000000")
		c.Status(http.StatusOK)
	})
	return http.ListenAndServe(args[0], e)
}

func bareKey(token string) string { return "bare:" + token }

func bareEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}
