package main

import (
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	godruoyi "github.com/godruoyi/go-snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
)

// others are what Go programs use, with their defaults where a name says
// nothing else. Worker numbers are 1: yitter's loses a number above 15 beside 12
// bits of sequence.
func others() []generator {
	return []generator{
		openBwmarrin("bwmarrin/snowflake", 10, 12),
		{name: "sonyflake v2, 8 bits per 10 ms", slow: true, open: func() (source, error) { return openSonyflake(sonyflake.Settings{}) }},
		{name: "sonyflake v2, 12 bits per ms", open: func() (source, error) {
			return openSonyflake(sonyflake.Settings{BitsSequence: 12, BitsMachineID: 10, TimeUnit: time.Millisecond})
		}},
		openYitter("yitter/idgenerator-go", 10, 12),
		{name: "godruoyi/go-snowflake", open: openGodruoyi},
		{name: "google/uuid v4", open: func() (source, error) {
			return shared(single(uuid.New, func(u uuid.UUID) id { return wide(u) }), nil), nil
		}},
		{name: "google/uuid v7", open: openUUID7},
		{name: "oklog/ulid v2", open: func() (source, error) {
			return shared(single(ulid.Make, func(u ulid.ULID) id { return wide(u) }),
				func(i id) int64 { return int64(i.high >> 16) }), nil
		}},
		{name: "rs/xid", open: func() (source, error) {
			return shared(single(xid.New, func(x xid.ID) id {
				var b [16]byte
				copy(b[:], x[:])
				return wide(b)
			}), func(i id) int64 { return int64(i.high>>32) * 1000 }), nil
		}},
	}
}

// roomyOthers are those whose layout can have so many bits of sequence that a
// millisecond never fills up: what a call costs while there is room.
func roomyOthers() []generator {
	return []generator{
		openBwmarrin("bwmarrin/snowflake, 21 bits", 1, 21),
		{name: "sonyflake v2, 21 bits per ms", open: func() (source, error) {
			return openSonyflake(sonyflake.Settings{BitsSequence: 21, BitsMachineID: 1, TimeUnit: time.Millisecond})
		}},
		openYitter("yitter/idgenerator-go, 21 bits", 1, 21),
	}
}

func openBwmarrin(name string, node, step uint8) generator {
	return generator{name: name, open: func() (source, error) {
		bwmarrin.NodeBits, bwmarrin.StepBits = node, step
		n, err := bwmarrin.NewNode(1)
		if err != nil {
			return source{}, err
		}
		return shared(single(n.Generate, narrow[bwmarrin.ID]),
			func(i id) int64 { return int64(i.low>>(node+step)) + bwmarrin.Epoch }), nil
	}}
}

func openSonyflake(s sonyflake.Settings) (source, error) {
	s.MachineID = func() (int, error) { return 1, nil }
	g, err := sonyflake.New(s)
	if err != nil {
		return source{}, err
	}
	return shared(func(out []id) error {
		n, err := g.NextID()
		if len(out) > 0 {
			out[0] = narrow(n)
		}
		return err
	}, func(i id) int64 { return g.ToTime(int64(i.low)).UnixMilli() }), nil
}

func openYitter(name string, worker, sequence byte) generator {
	return generator{name: name, open: func() (source, error) {
		o := idgen.NewIdGeneratorOptions(1)
		o.WorkerIdBitLength, o.SeqBitLength = worker, sequence
		g := idgen.NewDefaultIdGenerator(o)
		return shared(single(g.NewLong, narrow[int64]),
			func(i id) int64 { return int64(i.low>>(worker+sequence)) + o.BaseTime }), nil
	}}
}

func openGodruoyi() (source, error) {
	return shared(func(out []id) error {
		n, err := godruoyi.NextID()
		if len(out) > 0 {
			out[0] = narrow(n)
		}
		return err
	}, func(i id) int64 {
		s := godruoyi.ParseID(i.low)
		t := s.GenerateTime()
		return t.UnixMilli()
	}), nil
}

func openUUID7() (source, error) {
	return shared(func(out []id) error {
		u, err := uuid.NewV7()
		if len(out) > 0 {
			out[0] = wide(u)
		}
		return err
	}, func(i id) int64 { return int64(i.high >> 16) }), nil
}
