package coordinator

import "testing"

// FuzzConfig: any text is refused or is a configuration that validates.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("listen: 127.0.0.1:1\nlimits: {burst: 5}\nbudget: {record: {epsilon: 3, delta: 1e-6}}\ngrace: 3s\n"))
	f.Add([]byte("metrics: localhost:1\nminimum_parties: 2\nbudget: none\n"))
	f.Add([]byte("&a [*a, 1]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseConfig(text); err == nil && c.Validate() != nil {
			t.Fatal("a configuration is taken that does not validate")
		}
	})
}
