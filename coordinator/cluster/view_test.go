package cluster

import (
	"slices"
	"strings"
	"testing"
)

// heard is the first member's view. Members are over database 1/1/c unless they say otherwise.
func heard(newest int64, members ...Member) View {
	for i := range members {
		if members[i].Database == "" {
			members[i].Database = "1/1/c"
		}
	}
	return View{Own: members[0], Members: members, NewestKnownEpoch: newest}
}

func leads(name string, epoch int64) Member {
	return Member{Name: name, Alive: true, State: State{IsLeader: true, Epoch: epoch}}
}

func stands(name string) Member { return Member{Name: name, Alive: true} }

func gone(m Member) Member { m.Alive = false; return m }

func over(database string, m Member) Member { m.Database = database; return m }

// TestLed: a view names a leader only if the leader is alive, over the same database, and has the
// newest epoch. A wrong view would keep a paused leader in its place, or end a living one.
func TestLed(t *testing.T) {
	for name, c := range map[string]struct {
		view   View
		epoch  int64
		led    bool
		leader string
	}{
		"nobody yet":            {heard(0, stands("a"), stands("b")), 0, true, ""},
		"gone before it was":    {heard(0, stands("a"), gone(stands("b"))), 0, false, ""},
		"gone, elsewhere":       {heard(0, stands("a"), over("2/1/c", gone(stands("b")))), 0, true, ""},
		"it leads":              {heard(3, stands("a"), leads("b", 3)), 3, true, "b"},
		"it is gone":            {heard(3, stands("a"), gone(leads("b", 3))), 3, false, ""},
		"it led":                {heard(3, stands("a"), stands("b")), 3, false, ""},
		"one of before awakes":  {heard(4, stands("a"), leads("b", 3), gone(leads("c", 4))), 4, false, "b"},
		"two say so":            {heard(4, stands("a"), leads("b", 3), leads("c", 4)), 4, true, "c"},
		"over another database": {heard(3, stands("a"), over("2/1/c", leads("b", 3))), 3, false, ""},
		"promoted apart":        {heard(3, stands("a"), over("1/2/c", leads("b", 3))), 3, false, ""},
		"itself":                {heard(3, leads("a", 3), stands("b")), 3, true, "a"},
	} {
		epoch, led := c.view.NewestEpoch()
		leader, known := c.view.Leader()
		if epoch != c.epoch || led != c.led || leader.Name != c.leader ||
			known != (c.leader != "") {
			t.Errorf("%s: epoch %d, led %t, leader %q", name, epoch, led, leader.Name)
		}
	}
}

// TestRival: a leader waits while a living leader over another database, or with an epoch that is
// not older, is known.
func TestRival(t *testing.T) {
	for name, c := range map[string]struct {
		view  View
		rival string
	}{
		"alone":              {heard(3, leads("a", 3), stands("b")), ""},
		"of before":          {heard(3, leads("a", 3), leads("b", 2)), ""},
		"newer":              {heard(4, leads("a", 3), leads("b", 4)), "b"},
		"same epoch":         {heard(3, leads("a", 3), leads("b", 3)), "b"},
		"other database":     {heard(3, leads("a", 3), over("2/1/c", leads("b", 1))), "b"},
		"promoted apart":     {heard(3, leads("a", 3), over("1/2/c", leads("b", 1))), "b"},
		"gone":               {heard(3, leads("a", 3), gone(over("2/1/c", leads("b", 1)))), ""},
		"stands by, another": {heard(3, leads("a", 3), over("2/1/c", stands("b"))), ""},
	} {
		if r, found := c.view.RivalLeader(); r.Name != c.rival || found != (c.rival != "") {
			t.Errorf("%s: rival %q", name, r.Name)
		}
	}
}

// TestOlder: a newer program waits while older ones over the same database are alive.
func TestOlder(t *testing.T) {
	knows := func(m Member, schemas ...int) Member { m.Schemas = schemas; return m }
	for name, c := range map[string]struct {
		view  View
		older string
	}{
		"same":          {heard(0, knows(stands("a"), 5, 2), knows(stands("b"), 5, 2)), ""},
		"it is older":   {heard(0, knows(stands("a"), 5, 2), knows(stands("b"), 5, 3)), ""},
		"newer":         {heard(0, knows(stands("a"), 5, 3), knows(stands("b"), 5, 2)), "b"},
		"gone":          {heard(0, knows(stands("a"), 5, 3), gone(knows(stands("b"), 5, 2))), ""},
		"another store": {heard(0, knows(stands("a"), 6, 3), over("2/1/c", knows(stands("b"), 5, 2))), ""},
	} {
		if o, found := c.view.OlderProgram(); o.Name != c.older || found != (c.older != "") {
			t.Errorf("%s: older %q", name, o.Name)
		}
	}
}

// TestAddresses: agents get the addresses of all replicas of this coordinator, each once, and none
// that cannot be dialled. Replicas that hold keys are asked in the order of how much they hold.
func TestAddresses(t *testing.T) {
	at := func(m Member, address string, keys int) Member {
		m.Address, m.Keys = address, keys
		return m
	}
	v := heard(1, at(leads("a", 1), "c.example.org:1", 0),
		at(gone(stands("b")), "b.example.org:1,c.example.org:1", 7),
		at(stands("d"), ":7443", 2), over("2/1/c",
			at(stands("e"), "evil.example.org:1", 9)), over("1/2/c",
			at(stands("f"), "f.example.org:1", 0)),
		at(stands("g"), "g.example.org:1", 3))
	if got, want := v.Addresses(), "b.example.org:1,c.example.org:1,f.example.org:1,g.example.org:1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	unknown := v
	unknown.Own.Database = ""
	if got := unknown.Addresses(); !strings.Contains(got, "evil.example.org:1,f.example.org:1") {
		t.Errorf("while its own system is unknown: %s", got)
	}
	var names []string
	for _, m := range v.KeyHolders() {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"g", "d"}) {
		t.Errorf("holders %q", names)
	}
}
