// Package redisworker lends worker numbers from Redis 7: one server, a Sentinel
// group or a Cluster. Redis may forget what it has acknowledged, and still no
// range overlaps one that was lent before.
//
// # The record
//
// All of a namespace is one hash, so it is there as a whole or not at all, and
// each verb is one script. The hash says which server wrote it: run_id,
// master_replid and, in a Cluster, cluster_my_epoch, which the script reads on
// the server that executes it. A restart, a promotion, and a slot that comes in
// change that. If the hash is absent, or another server's, or has lost a field,
// a new record begins, born at that moment by the server's TIME. Nothing of the
// old one is used. The same happens if a grant shows that the record is older
// than the grant.
//
// # The calm
//
// No range ends later than TIME + Reach. A new record is followed by a calm,
// until born + Reach + 2 Skew, before which no number is lent to a new owner,
// and no range of a new owner begins before its end. So the first start on an
// empty Redis waits 7 s by default ([Lender.Waiting] is called); it might be
// a Redis that has forgotten. A smaller Reach and Skew make that shorter.
//
// An owner goes on during the calm, without an interruption, if its number is
// no Only and its range had not ended when the record was born. Who comes later,
// or with an Only, gets [idworker.ErrLost] and a new number after the calm.
//
// # Why no range overlaps another
//
// Assumed is that (1) one server's one life in one role has one identity, and
// while it has that, only the scripts change the hash, or it vanishes; (2) what
// other servers have lent when a record is born, or go on lending although its
// server has replaced them, they lend at a TIME of at most born + Skew; (3) all
// Lenders of a namespace have the same Reach and Skew, which the record checks,
// and Stale is at least Reach + Skew, which the Lender checks.
//
// New owners: by (2), what other records have lent ends by born + Skew + Reach,
// which is before the calm is over. Within a record, fences only rise, but by
// their owner's Release.
//
// Owners who go on: let T hold a grant until u > born, and let H be another
// owner of its number, whom the record has forgotten. If H took the number in
// the record that lent u to T, T had been silent for Stale: that was at or after
// u - Reach + Stale, so at or after u + Skew, so by (2) u <= born. If H got it
// from a record born after u was lent, at c, then u <= c + Skew + Reach, and H
// got it after a calm, at or after u + Skew: u <= born again. Both contradict
// u > born. If H had it before T, T's range begins behind all of H's. What T is
// lent by this record, H cannot be: the token distinguishes them.
//
// # What is not covered
//
//   - A master that was replaced and goes on lending for longer than Skew, cut
//     off together with a client. Set Replicas to the number of replicas that a
//     master has, or min-replicas-to-write and a Skew of min-replicas-max-lag;
//     in a Cluster add cluster-node-timeout to Skew.
//   - Servers whose clocks differ, or are set back, by more than Skew.
//   - An old copy of the key put into a server that goes on running, until a
//     grant shows it; a resumed memory image of a server; a proxy in front of
//     Redis that makes up INFO.
//   - Two clients that use one token, and an Extend after Release.
package redisworker
