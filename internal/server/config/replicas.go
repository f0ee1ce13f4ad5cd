package config

import (
	"fmt"
	"strings"
)

// parseReplicas takes a list of MySQL URLs apart. In a URL a comma is written
// %2C.
func parseReplicas(dst *[]Secret, v string) error {
	var list []Secret
	if v == "" {
		return nil
	}
	for i, text := range strings.Split(v, ",") {
		var d Database
		if err := parseDatabase(&d, strings.TrimSpace(text)); err != nil {
			return fmt.Errorf("replica %d: %w", i+1, err)
		}
		if d.Kind != MySQL {
			return fmt.Errorf("replica %d: only MySQL has replicas; write mysql://user:password@host:3306/name", i+1)
		}
		list = append(list, d.URL)
	}
	*dst = list
	return nil
}

func showReplicas(list []Secret) string {
	shown := make([]string, len(list))
	for i, u := range list {
		shown[i] = hideURL(u.Reveal())
	}
	return strings.Join(shown, ", ")
}
