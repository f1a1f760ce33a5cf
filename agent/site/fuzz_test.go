package site

import "testing"

// FuzzConfig: any text is either refused or a valid configuration.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(goodConfig))
	f.Add([]byte("state: s\ngossip: {listen: \":1\"}\n"))
	f.Add([]byte("&a [*a, 1]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseConfig(text)
		if err != nil {
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("a configuration is taken that does not validate: %v", err)
		}
		_, _ = c.Sources().Find("")
	})
}
