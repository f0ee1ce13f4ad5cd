package zkworker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flakepass/flakepass/idworker/internal/lend"
)

// ErrDamaged says that the data of a number's node are not what this package
// writes. The number is skipped until a person deletes the node, which is
// safe once its last IDs are in the past.
var ErrDamaged = errors.New("zkworker: node is damaged")

const (
	maxFence = 9999999999999999
	maxNode  = 8 << 10
)

// A node is what is kept of a number, as JSON for people who look:
//
//	{"fence_ms":1763718183123,"token":"JBSWY3…","holder":"host:1","key":"10.0.0.7:8080"}
type node struct {
	Fence  int64  `json:"fence_ms"`      // end of the last range lent, Unix ms
	Token  string `json:"token"`         // of the owner; empty when free
	Holder string `json:"holder"`        // who has or had it, for people
	Key    string `json:"key,omitempty"` // whose reserve the fence is the end of; others wait for that
}

func (n node) encode() ([]byte, error) {
	if n.Fence < 0 || n.Fence > maxFence {
		return nil, fmt.Errorf("fence %d is out of range", n.Fence)
	}
	return json.Marshal(n)
}

// parseNode refuses everything that encode would not have written: a fence that
// is misread could be lower than the one that was lent.
func parseNode(b []byte) (node, error) {
	var n node
	if len(b) > maxNode || json.Unmarshal(b, &n) != nil {
		return node{}, ErrDamaged
	}
	if same, err := n.encode(); err != nil || !bytes.Equal(same, b) {
		return node{}, ErrDamaged
	}
	return n, nil
}

// shown is a holder as it is kept.
func shown(holder string) string {
	return lend.Holder(strings.ToValidUTF8(holder, "?"))
}
