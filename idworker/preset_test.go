package idworker_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func presets() map[string]idworker.Layout {
	return map[string]idworker.Layout{
		"default": idworker.Default(), "twitter": idworker.Twitter(), "leaf": idworker.Leaf(),
		"baidu": idworker.Baidu(), "sonyflake": idworker.Sonyflake(),
	}
}

// TestPresetsTakeApartWhatOthersPublish has the IDs from elsewhere: Baidu's is
// in the documentation of UidGenerator, the post is one that Twitter's own
// documents date to the second, and the others follow from the layout by hand.
func TestPresetsTakeApartWhatOthersPublish(t *testing.T) {
	east := time.FixedZone("UTC+8", 8*60*60)
	post := idworker.Leaf()
	post.DatacenterBits, post.WorkerBits = 5, 5
	for name, test := range map[string]struct {
		layout idworker.Layout
		id     idworker.ID
		want   idworker.Parts
	}{
		"Baidu": {idworker.Baidu(), 3200169789968523265, idworker.Parts{
			Time: time.Date(2019, time.May, 2, 23, 26, 39, 0, east), Worker: 21, Sequence: 1,
		}},
		"a post": {post, 1050118621198921728, idworker.Parts{
			Time: time.Date(2018, time.October, 10, 20, 19, 24, 211e6, time.UTC), Datacenter: 10, Worker: 27,
		}},
		"Leaf": {idworker.Leaf(), 5<<22 | 3<<12 | 7, idworker.Parts{
			Time: time.UnixMilli(1288834974657 + 5), Worker: 3, Sequence: 7,
		}},
		"Twitter": {idworker.Twitter(), 1<<22 | 2<<17 | 3<<12 | 4, idworker.Parts{
			Time: time.UnixMilli(1420041600001), Datacenter: 2, Worker: 3, Sequence: 4,
		}},
		"Default": {idworker.Default(), 1<<22 | (2<<5|3)<<12 | 4, idworker.Parts{
			Time: time.UnixMilli(1420041600001), Worker: 67, Sequence: 4,
		}},
		"Sonyflake": {idworker.Sonyflake(), 100<<24 | 255<<16 | 0xfffe, idworker.Parts{
			Time: time.Date(2025, time.January, 1, 0, 0, 1, 0, time.UTC), Worker: 0xfffe, Sequence: 255,
		}},
	} {
		got := test.layout.Decompose(test.id)
		if !got.Time.Equal(test.want.Time) {
			t.Errorf("%s: %d is of %v, want %v", name, test.id, got.Time, test.want.Time)
		}
		got.Time = test.want.Time
		if got != test.want {
			t.Errorf("%s: %d is %+v, want %+v", name, test.id, got, test.want)
		}
		if back, err := test.layout.Compose(test.want); err != nil || back != test.id {
			t.Errorf("%s: back: %d, %v, want %d", name, back, err, test.id)
		}
	}
}

func TestPresetsAreValidAndEndWhenTheySay(t *testing.T) {
	ends := map[string]string{
		"default": "2084-09", "twitter": "2084-09", "leaf": "2080-07", "baidu": "2024-11", "sonyflake": "2199-03",
	}
	for name, l := range presets() {
		if err := l.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := l.Overflow().Format("2006-01"); got != ends[name] {
			t.Errorf("%s ends in %s, want %s", name, got, ends[name])
		}
	}
}
