package bench

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"
)

// serveBare is the least that gin can do for a route: one handler, no middleware, no
// look at the request, on the plainest http.Server. It answers every request with the
// status, the headers and the body of the answer in a file, which is one of the
// product's: what is left between the two is what the product does for it.
func serveBare(args []string) error {
	path, file := args[1], args[2]
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Header.Del("Date") // net/http writes it for both
	if answer.StatusCode == http.StatusOK {
		answer.Header.Del("Content-Length") // as well; with a problem it stands among the others
	}
	e := bareEngine()
	e.GET(path, func(c *gin.Context) {
		maps.Copy(c.Writer.Header(), answer.Header)
		c.Status(answer.StatusCode)
		if len(body) > 0 {
			_, _ = c.Writer.Write(body)
		}
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
