//go:build unix

package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// RedisArgs returns the arguments of a redis-server on port of 127.0.0.1 that
// keeps nothing on disk. No configuration file of the machine has a say.
func RedisArgs(dir string, port int) []string {
	return []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}
}

// RedisReady returns nil if the Redis at addr answers within a second and is
// process pid, not a stranger who took the port first. One that still loads its
// keys is not ready; one that asks for a password is, and is not asked who it is.
func RedisReady(ctx context.Context, addr string, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answer, err := RedisCommand(ctx, addr, "INFO server")
	if err != nil {
		return fmt.Errorf("server: ask redis: %w", err)
	}
	if strings.HasPrefix(answer, "-NOAUTH") || strings.Contains(answer, fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)) {
		return nil
	}
	first, _, _ := strings.Cut(answer, "\r\n")
	return fmt.Errorf("server: redis at %s is not process %d: answer %q", addr, pid, first)
}

// RedisCommand sends one command, words with spaces between them, on a connection
// of its own and returns the answer as it came, an error of Redis included: a line,
// or a line with a length and the text. Of a list it returns the first line only.
func RedisCommand(ctx context.Context, addr, command string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", err
	}
	answer := bufio.NewReader(conn)
	line, err := answer.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "$") {
		return line, err
	}
	length, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || length < 0 || length > 1<<20 {
		return line, err // -1: there is no such key
	}
	text := make([]byte, length+len("\r\n"))
	if _, err := io.ReadFull(answer, text); err != nil {
		return "", err
	}
	return line + string(text), nil
}
