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
// A ZooKeeper that has lost its data refuses the sessions of those who have seen a later state than
// its own. If a Client was refused for as long as a session lasts, it begins a new session. From
// then on its process takes no number for Calm. The same follows when the fence of a number is
// lower than the end of a grant or of a reserve, or when the number of a reserve that has not
// passed is another's: neither happens unless data are lost. During Calm all ranges end that were
// lent before, if clocks differ by less than Calm minus a Window and a Lead. No range then begins
// before the end of what the process itself had been lent, whatever its clock says. So the IDs of a
// Worker go on increasing. The number of a Lender is lost: its token in a backup proves nothing.
//
// A Keyed goes on lending from its reserve and writes it down again in the first
// seconds of each session, if the number is nobody else's by then. If it is,
// the reserve is given up.
//
// A process that starts then remembers nothing, and waits for no Calm. It may be lent a range that
// another process still uses: the Window of a Lender, or all of Offline of a Keyed that did not
// reach ZooKeeper yet. The same may happen to a process that was cut off since before the backup.
// It may also happen to one that is not refused, because writes of others have carried ZooKeeper
// past its state, if another process has its number by then. To exclude this, leave ZooKeeper
// stopped for Calm, and start no process before those that run have gone on.
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
