//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// login logs in, and returns the token.
func login(ctx context.Context, base, name string) (string, error) {
	return loginWith(ctx, base, name, password)
}

// loginWith is login with that password.
func loginWith(ctx context.Context, base, name, password string) (string, error) {
	body := fmt.Sprintf(`{"username":%q,"password":%q}`, name, password)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/login", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var opened struct{ Token string }
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	err = json.NewDecoder(resp.Body).Decode(&opened)
	return opened.Token, err
}
