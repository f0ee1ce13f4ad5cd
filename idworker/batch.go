package idworker

import "context"

// NextN fills dst with IDs as [Worker.Next] mints them, in increasing order and
// greater than every ID that this Worker minted before the call, at a fraction
// of the cost: as many as half a unit's sequence are reserved at once. It allocates
// nothing unless it has to wait.
//
// It returns how many it filled in, which is fewer than len(dst) only with an
// error; dst[:n] are good IDs even then. It fails as Next does.
func (w *Worker) NextN(ctx context.Context, dst []ID) (int, error) {
	n := 0
	for n < len(dst) {
		if w.policy.strict() {
			if _, err := w.read(ctx); err != nil {
				return n, err
			}
		}
		// So many fit into any range, however short.
		few := min(uint64(len(dst)-n), w.seqMask>>1+1)
		g, v, err := w.reserve(ctx, w.word.Load()+1, 0, few)
		if err != nil {
			return n, err
		}
		// The last is due last.
		if err := w.wait(ctx, w.tickOf(v+few-1)); err != nil {
			w.counts.skipped.Add(few)
			return n, err
		}
		w.fill(dst[n:n+int(few)], g, v)
		n += int(few)
	}
	return n, nil
}

// fill is id for the values from v on. It keeps in registers what a loop around
// id would read again each time.
func (w *Worker) fill(dst []ID, g *grant, v uint64) {
	bits, shift, at, mask, node := w.seqBits&63, w.shift&63, w.seqShift&63, w.seqMask, g.node
	for i := range dst {
		dst[i] = ID(v>>bits<<shift | node | v&mask<<at)
		v++
	}
}
