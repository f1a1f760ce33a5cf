package laws

import "testing"

func TestNoiseIsRead(t *testing.T) {
	a := KnownRelease{Mechanism: "k-norm", Parameters: map[string]string{"scale": "7/2",
		"blocks": "2"},
		Values: []int64{4, 1, 0, 9}, Of: []int64{1, 1, 2, 3}}
	n, err := a.Noise()
	if err != nil || len(n.Numbers) != 4 || n.Numbers[0] != 3 || n.Score[1] != 0 ||
		n.Score[2] != -1 || n.RunLength != 2 {
		t.Errorf("read %+v (%v)", n, err)
	}
	a.Parameters["blocks"] = "3"
	if other, err := a.Noise(); err != nil || other.RunLength != 0 || other.Law == n.Law {
		t.Errorf("of runs of two lengths read %+v (%v)", other, err)
	}
}

// TestNoiseRefused: Noise refuses an answer without an exact law, with a missing parameter, or of
// another length than its vector.
func TestNoiseRefused(t *testing.T) {
	for name, change := range map[string]func(*KnownRelease){
		"another length":      func(a *KnownRelease) { a.Of = a.Of[1:] },
		"no law":              func(a *KnownRelease) { a.Mechanism = "unperturbed" },
		"a literal sampler":   func(a *KnownRelease) { a.Mechanism = "laplace-paper" },
		"no scale":            func(a *KnownRelease) { delete(a.Parameters, "scale") },
		"a scale in words":    func(a *KnownRelease) { a.Parameters["scale"] = "one" },
		"a scale below 0":     func(a *KnownRelease) { a.Parameters["scale"] = "-1" },
		"half a pseudo-count": func(a *KnownRelease) { a.Mechanism = "laplace-prior"; a.Parameters["prior"] = "1/2" },
		"no classes":          func(a *KnownRelease) { a.Mechanism = "randomised-response" },
	} {
		a := KnownRelease{Mechanism: "discrete-laplace",
			Parameters: map[string]string{"scale": "1"},
			Values:     []int64{1, 2}, Of: []int64{0, 0}}
		if _, err := a.Noise(); err != nil {
			t.Fatal(err)
		}
		change(&a)
		if _, err := a.Noise(); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
