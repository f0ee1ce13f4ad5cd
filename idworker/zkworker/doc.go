// Package zkworker lends worker numbers from ZooKeeper, in the two ways that are
// published, each made safe.
//
// # A claim that ends with the session
//
// A [Lender] claims a number with an ephemeral node, as Twitter's Snowflake does.
// ZooKeeper deletes the node when the session ends, and the number is free for
// others, the lowest fence first. The claim is politeness. It cannot be more:
// an owner that was paused until its session expired does not know that, and
// goes on. What makes it safe is a persistent node for each number, which holds
// the fence and the owner's token and is changed by comparing its version. A
// process that wakes up finishes its own range; its successor's begins behind
// that. Sequential nodes, from which others take the number itself, count up for
// ever and are not used.
//
// # A number that a key remembers
//
// A [Keyed] keeps the number of a key, such as "ip:port", in a persistent node and
// a local file, as Leaf does, and starts from the file while ZooKeeper is down.
// Leaf's file holds a number and hopes. This one holds a reserve: ID time that
// ZooKeeper has set aside under that number, up to a fence, for the process that knows a
// random token that is only in the file. While ZooKeeper answers, the reserve is
// filled up to Offline beyond the clock. The file lends pieces of it, each
// written down before it is used, and nothing behind it. Two machines with one
// key have two files, so the second gets another number.
//
// # What each survives
//
//   - kill -9, power failure, a pause of any length, a session that expires, a
//     clock that steps: no ID twice.
//   - ZooKeeper down: a Lender's worker mints to the end of its range, a few
//     seconds; a Keyed's to the end of the reserve, also if it is restarted
//     meanwhile. Then comes an error, never a guess.
//   - The file lost or damaged: the number stays unused until its reserve has
//     passed; the key gets another one at once, and keeps that.
//   - An answer lost with the connection: both look what is so and go on.
//   - ZooKeeper empty or from an older backup: see below.
//
// # A ZooKeeper that has lost its data
//
// It refuses those who have seen a later state than its own. A Client that was
// refused for as long as a session lasts begins a new one, with nothing, and
// from then on its process takes no number for Calm; also when a number's fence
// turns out to be lower than a grant, or a reserve another's, which is never so
// otherwise. In that time
// all ranges end that were lent before, if clocks differ by less than Calm but
// for a Window and a Lead. Whatever the clock, no range then begins before what the
// process itself had been lent, and a Worker's IDs go on increasing. A Lender's
// number is lost: its token in a backup proves nothing.
//
// A Keyed goes on lending from its reserve and writes it down again in the first
// seconds of each session, if the number is nobody else's by then. If it is,
// the reserve is given up.
//
// A process that starts then has no memory, and no Calm. It may be lent a range
// of which others still have the end: a Window's, or of a Keyed that did not
// reach ZooKeeper yet all of Offline. The same is so for one that was cut off
// since before the backup, or that is not refused, because others' writes have
// carried ZooKeeper past its state, and whose number another has by then. Leave ZooKeeper stopped for Calm, and start nothing before those
// that run have gone on.
//
// # What is assumed
//
// ZooKeeper keeps what it has acknowledged: forceSync is on, its default, and
// no person deletes nodes of numbers in use. Reads go behind a
// sync, but nothing depends on them: every change compares the version. The file
// of a Keyed is on a local disk and is not copied; a copy used elsewhere is found
// out when it asks ZooKeeper after the original did, and not before. All
// processes of one path have layouts that hold the same numbers.
//
// Clocks decide only which numbers look free, and how far ahead of the clock IDs
// are. A process whose clock is ahead by more than Offline takes numbers from
// keys; those get others after Calm, and no ID comes twice.
package zkworker
