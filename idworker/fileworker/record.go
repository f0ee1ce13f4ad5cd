package fileworker

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
)

// A record is a line of text, for people who look into the directory:
//
//	fence 0001763718183123 5f3a9c01
//
// The number is in Unix milliseconds; the last word is the CRC-32C of what is
// before it.
const (
	recordLen = 32
	sumAt     = 23
	maxFence  = 9999999999999999
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b []byte, fence int64) []byte {
	at := len(b)
	b = fmt.Appendf(b, "fence %016d ", fence)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b[at:], castagnoli))
}

// parseRecord reports false for anything that appendRecord would not have
// written.
func parseRecord(b []byte) (fence int64, ok bool) {
	if len(b) != recordLen {
		return 0, false
	}
	fence, err := strconv.ParseInt(string(b[6:sumAt-1]), 10, 64)
	if err != nil || fence < 0 || !bytes.Equal(b, appendRecord(nil, fence)) {
		return 0, false
	}
	return fence, true
}
