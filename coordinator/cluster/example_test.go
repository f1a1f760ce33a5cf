package cluster_test

import (
	"fmt"
	"log/slog"
	"time"

	"caucus/coordinator/cluster"
	"caucus/protocol"
)

// Two replicas find each other. One says that it leads, and the other hears of it.
func Example() {
	authority, err := protocol.NewAuthority(time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	replica := func(name string, join ...string) *cluster.Cluster {
		server, client, err := cluster.TLS(authority, name, time.Now)
		if err != nil {
			panic(err)
		}
		c := cluster.Config{
			Name: name, Places: cluster.Places{Listen: "127.0.0.1:0", Join: join}, Server: server, Client: client,
			Log: slog.New(slog.DiscardHandler),
		}
		r, err := cluster.Open(c, cluster.State{Address: name + ".example.org:7443"})
		if err != nil {
			panic(err)
		}
		return r
	}
	one := replica("one")
	defer one.Close()
	two := replica("two", one.View().Own.At)
	defer two.Close()
	one.Say(func(s *cluster.State) { s.Leads, s.Epoch = true, 1 })
	for {
		changed, v := two.Changed(), two.View()
		if leader, known := v.Leader(); known {
			fmt.Println(leader.Name, "leads; agents may dial", v.Addresses())
			return
		}
		<-changed
	}
	// Output: one leads; agents may dial one.example.org:7443,two.example.org:7443
}
