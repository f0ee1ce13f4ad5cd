package breached

import (
	"context"
	"io"
)

// Check and Has are the two halves of a List, over any reader.
func Check(from io.ReaderAt, size int64) error { return (&ordered{from, size}).check() }

func Has(ctx context.Context, from io.ReaderAt, size int64, hash [20]byte) (bool, error) {
	return (&ordered{from, size}).has(ctx, hash)
}
