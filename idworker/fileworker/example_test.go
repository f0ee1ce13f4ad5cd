package fileworker_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "workers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := idworker.Open(ctx, &fileworker.Lender{Dir: dir}, idworker.Options{})
	if err != nil {
		log.Fatal(err)
	}
	first, err := w.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := w.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(first < second, idworker.Default().Decompose(first).Worker)
	// Output: true 0
}
