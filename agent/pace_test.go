package agent

import (
	"container/heap"
	"testing"
	"time"

	"caucus/agent/site"
)

// calls holds the times of agents' calls, soonest first.
type calls []call

type call struct {
	at   time.Duration
	pace *pace
}

func (c calls) Len() int           { return len(c) }
func (c calls) Less(i, j int) bool { return c[i].at < c[j].at }
func (c calls) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *calls) Push(x any)        { *c = append(*c, x.(call)) }
func (c *calls) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// arrivals simulates n agents that start at once, at time 0, and call a coordinator that is down
// for a while. It returns the number of calls in each second.
func arrivals(n int, config site.Config, down, up, end time.Duration) []int {
	var all calls
	for range n {
		p := &pace{poll: config.Poll, most: config.MaxBackoff, jitter: jitter}
		heap.Push(&all, call{p.first(), p})
	}
	seconds := make([]int, int(end/time.Second))
	for all[0].at < end {
		c := all[0]
		reached := c.at < down || c.at >= up
		if reached {
			seconds[int(c.at/time.Second)]++
		}
		all[0].at += c.pace.next(reached)
		heap.Fix(&all, 0)
	}
	return seconds
}

func most(seconds []int) (n int) {
	for _, s := range seconds {
		n = max(n, s)
	}
	return n
}

// TestArrivals: agents that start at once, or whose coordinator was down for a while, do not come
// in step: no second has more than twice the average number of calls. go test ./agent -run
// TestArrivals -v shows the numbers.
//
// A starting agent draws from half an interval, 7.5 s, so 10,000 agents make 1333 calls a second at
// first, 1.5 times the later average of 889; twice that average lies thirteen standard deviations
// of a binomial count above it, so the test fails wrongly less than once in 1e30 runs.
func TestArrivals(t *testing.T) {
	config := site.DefaultConfig()
	for _, n := range []int{60, 1000, 10_000} {
		for _, outage := range []time.Duration{3 * time.Second, 30 * time.Second, 10 * time.Minute,
			2 * time.Hour} {
			down := 2 * time.Minute
			up := down + outage
			seconds := arrivals(n, config, down, up, up+6*time.Minute)
			start, after := most(seconds[:20]), most(seconds[int(up/time.Second):])
			average := float64(n) / (.75 * config.Poll.Seconds())
			t.Logf("%6d agents, %6.1f calls a second on average: at most %5d in a second after all were started at once, %5d after the coordinator was down for %v", n, average, start, after, outage)
			if n == 10_000 && float64(max(start, after)) > 2*average {
				t.Errorf("down for %v: %d calls in one second, %.1f is the average", outage, max(start, after), average)
			}
		}
	}
}

// TestPace: waits follow the config, whatever the earlier waits.
func TestPace(t *testing.T) {
	for what, c := range map[string]struct {
		poll, most time.Duration
		failures   int
		want       time.Duration
	}{
		"reached":                        {15 * time.Second, 5 * time.Minute, 0, 15 * time.Second},
		"missed once":                    {15 * time.Second, 5 * time.Minute, 1, 15 * time.Second},
		"missed twice":                   {15 * time.Second, 5 * time.Minute, 2, 30 * time.Second},
		"missed for long":                {15 * time.Second, 5 * time.Minute, 1000, 5 * time.Minute},
		"polls less often than it waits": {time.Hour, 5 * time.Minute, 3, time.Hour},
	} {
		for range 100 {
			p := pace{poll: c.poll, most: c.most, jitter: jitter}
			if first := p.first(); first < 0 || first > c.poll/2 {
				t.Fatalf("%s: the first wait is %v", what, first)
			}
			got := time.Duration(0)
			for range c.failures {
				got = p.next(false)
			}
			if c.failures == 0 {
				got = p.next(true)
			}
			if got > c.want || got < c.want/2 {
				t.Fatalf("%s: wait %v, want %v to %v", what, got, c.want/2, c.want)
			}
		}
	}
}
