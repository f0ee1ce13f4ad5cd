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
	write, err := again(args[2])
	if err != nil {
		return err
	}
	e := bareEngine()
	e.GET(args[1], write)
	return http.ListenAndServe(args[0], e)
}

// again writes the answer in a file.
func again(file string) (gin.HandlerFunc, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Header.Del("Date") // net/http writes it for both
	if answer.StatusCode == http.StatusOK {
		answer.Header.Del("Content-Length") // as well; with a problem it stands among the others
	}
	return func(c *gin.Context) {
		maps.Copy(c.Writer.Header(), answer.Header)
		c.Status(answer.StatusCode)
		if len(body) > 0 {
			_, _ = c.Writer.Write(body)
		}
	}, nil
}

// serveRedis is the least that a session in Redis costs: the text behind
// "Bearer " is the key, and one GET, sent together with those of other requests,
// says whether it is there. The answer is that in a file, as of serveBare.
func serveRedis(args []string) error {
	write, err := again(args[2])
	if err != nil {
		return err
	}
	rdb, err := redis.NewClient(&redis.Options{Addr: args[1]}).AutoPipeline()
	if err != nil {
		return err
	}
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
		write(c)
	})
	return http.ListenAndServe(args[0], e)
}

func bareKey(token string) string { return "bare:" + token }

func bareEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}
