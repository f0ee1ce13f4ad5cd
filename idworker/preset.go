package idworker

import "time"

// Default is the layout of flakepass: 41 bits of milliseconds since
// 2014-12-31T16:00:00Z (midnight of the new year in UTC+8), 10 bits of worker,
// 12 bits of sequence. It lasts until September 2084.
func Default() Layout {
	return Layout{
		Epoch: time.UnixMilli(1420041600000).UTC(), Unit: time.Millisecond,
		TimeBits: 41, WorkerBits: 10, SequenceBits: 12,
	}
}

// Twitter is [Default] with the worker split as Twitter's Snowflake of 2010 has
// it: 5 bits of datacenter, 5 bits of worker. The IDs of posts on Twitter
// itself count from another epoch, which is [Leaf]'s.
func Twitter() Layout {
	l := Default()
	l.DatacenterBits, l.WorkerBits = 5, 5
	return l
}

// Leaf is the layout of Meituan's Leaf: 41 bits of milliseconds since
// 2010-11-04T01:42:54.657Z, 10 bits of worker, 12 bits of sequence. It lasts
// until July 2080.
func Leaf() Layout {
	l := Default()
	l.Epoch = time.UnixMilli(1288834974657).UTC()
	return l
}

// Baidu is the layout that Baidu's UidGenerator documents: 28 bits of seconds
// since 2016-05-19T16:00:00Z (the 20th in UTC+8), 22 bits of worker, 13 bits of
// sequence. It ended in November 2024: it takes IDs apart, and nothing can be
// minted with it. Set a later Epoch for that.
func Baidu() Layout {
	return Layout{
		Epoch: time.Date(2016, time.May, 19, 16, 0, 0, 0, time.UTC), Unit: time.Second,
		TimeBits: 28, WorkerBits: 22, SequenceBits: 13,
	}
}

// Sonyflake is the layout of sonyflake v2: 39 bits of 10 ms since
// 2025-01-01T00:00:00Z, 8 bits of sequence, and 16 bits of worker in the lowest
// place. It lasts until March 2199, and mints 25,600 IDs a second.
func Sonyflake() Layout {
	return Layout{
		Epoch: time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC), Unit: 10 * time.Millisecond,
		TimeBits: 39, SequenceBits: 8, WorkerBits: 16, WorkerLast: true,
	}
}
