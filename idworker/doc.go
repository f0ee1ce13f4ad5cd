// Package idworker mints 63-bit IDs that are ordered by time and never repeat:
// not over restarts, steps of the clock in either direction, kill -9, a paused
// process, or two processes that were given one worker number by mistake.
//
// # How
//
// An ID is an instant, a worker number and a sequence (see [Layout]). Other
// generators lend a process a number for a while, and must then hope that
// everybody's clock and patience agree on when the while is over. Here the unit
// that is lent is a range of ID time under a number: a [Lender] keeps, for
// each number, one durable fence, the end of the last range it has lent, and
// lends only what lies beyond it. The fence is on the disk before the answer is
// given. A [Worker] mints only inside its range, so ranges that never overlap
// are all it takes, and no clock, timeout or lease plays a part in the
// argument. A process that was paused for an hour wakes up and finishes its own
// range; no other process ever had it.
//
// # Use
//
//	w, err := idworker.Open(ctx, lender, idworker.Options{})
//	...
//	go w.Run(ctx) // keeps the range extended; optional for a short-lived program
//	id, err := w.Next(ctx)
//	...
//	err = w.Close(ctx) // hands back what was not minted
//
// [Worker.NextN] mints many at once, and a [Ring] in advance. [Options] choose
// the layout and, for those who come from another generator, its ways with the
// clock and the sequence. [Worker.Stats], [Worker.Healthy] and a [Recorder] say
// how it is doing.
//
// Lenders are in the packages below this one; [Lender] says what another one
// has to promise, and idworkertest checks it.
//
// # What is promised
//
//   - No ID is minted twice by any processes that share a Lender's store.
//   - The IDs of one Worker strictly increase, also over a change of its
//     number. [Worker.NextAfter] carries that over several workers.
//   - The time in an ID is at least the clock's when the call began and at most
//     [Lead] ahead of it when the call returns; [Options] have other policies.
//   - Nothing waits longer than [MaxWait] for the clock, and nothing waits
//     holding a lock.
//   - At low rates the sequence keeps turning, so IDs spread evenly over the
//     residues of a power of two that does not exceed half the sequence. (Under
//     a layout with WorkerLast the low bits are the worker's and do not turn.)
//
// # What cannot be promised
//
// A machine image that is resumed twice (a clone of a running virtual machine)
// holds one range twice. Nothing inside the process can notice. A unique index
// over the IDs catches it; ask for another ID then.
//
// A store may forget an acknowledged write: a disk that was restored from a backup, or a directory
// that was deleted while in use. Such a store forgets the fence, and a new range then begins at
// the clock. That is safe unless the clock is behind what was lent before: a living owner has
// ranges up to [Options.Window] ahead of the clock. Wait for that time before others use such a
// store. Redis may forget at any time. Its lender notices that and waits by itself. The lender on
// ZooKeeper does the same in a process that was running before and still runs, and in no other.
package idworker
