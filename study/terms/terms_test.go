package terms

import (
	"fmt"
	"testing"

	"caucus/study/kinds"
)

func TestPrint(t *testing.T) {
	for _, k := range kinds.Names() {
		all, err := Of(k)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			fmt.Printf("%-8s %-28s %-20s %-12s %s\n", k, x.Key, x.Type, x.Default, x.Help)
		}
	}
}
